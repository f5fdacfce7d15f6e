//! A trial of an answer that goes on: what it begins with comes, and the end does not.

use std::time::Duration;

use super::environment::Environment;
use super::environment_error::EnvironmentError;
use super::verify;
use crate::catalog::Profile;
use crate::check::{Answer, Mismatch, shown_body};
use crate::request::Request;
use crate::target::TargetError;

/// Wait for the beginning.
const BEGINNING: Duration = Duration::from_secs(10);
/// How long a body that must go on is watched after its beginning.
const STAYING: Duration = Duration::from_millis(100);

/// Reads the beginning of an answer, and compares it.
pub(super) async fn begins(
    environment: &Environment<'_>,
    profile: Profile,
    wanted: &str,
    request: &Request,
) -> Result<(Vec<Mismatch>, Answer), EnvironmentError> {
    let wanted = environment.bindings().fill(wanted)?;
    let reading = async {
        let mut stream = environment.target().open(request).await?;
        let answer = stream.beginning(wanted.len()).await?;
        Ok((answer, stream))
    };
    let read = match tokio::time::timeout(BEGINNING, reading).await {
        Ok(Err(error)) if TargetError::is_of_answer(&error) => Err(error.to_string()),
        Ok(read) => Ok(read?),
        Err(_) => Err(format!("it has not come after {} s", BEGINNING.as_secs())),
    };
    let (answer, mut stream) = match read {
        Ok(read) => read,
        Err(nothing) => {
            let mismatch = Mismatch::new("beginning of the body", wanted, nothing);
            return Ok((vec![mismatch], Answer::default()));
        }
    };
    let mut found = verify::answer(environment, profile, request, &answer)?;
    if found.is_empty() && answer.text() != wanted {
        found.push(Mismatch::new("beginning of the body", wanted, shown_body(&answer)));
    } else if found.is_empty() {
        // The end of an answer that is whole comes with it, or as late as the target is with everything.
        let watched = STAYING.max(environment.reprieve().await);
        if tokio::time::timeout(watched, stream.end()).await.is_ok() {
            found.push(Mismatch::new("body", "to go on", "it ended"));
        }
    }
    Ok((found, answer))
}

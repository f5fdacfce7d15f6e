//! A trial of a response that does not end: checks its beginning, and that it continues.

use std::time::Duration;

use super::environment::Environment;
use super::environment_error::EnvironmentError;
use super::verify;
use crate::catalog::Profile;
use crate::check::{Answer, Mismatch, shown_body};
use crate::request::Request;
use crate::target::TargetError;

/// Time limit for the beginning.
const BEGINNING_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a body must stay open after its beginning.
const OPEN_DURATION: Duration = Duration::from_millis(100);

/// Reads the beginning of a response, and compares it.
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
    let read = match tokio::time::timeout(BEGINNING_TIMEOUT, reading).await {
        Ok(Err(error)) if TargetError::is_of_answer(&error) => Err(error.to_string()),
        Ok(read) => Ok(read?),
        Err(_) => Err(format!("not received after {} s", BEGINNING_TIMEOUT.as_secs())),
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
        // The end of a complete response arrives with it, or as late as the other responses of a slow target.
        let watched = OPEN_DURATION.max(environment.extra_wait().await);
        if tokio::time::timeout(watched, stream.end()).await.is_ok() {
            found.push(Mismatch::new("body", "to stay open", "closed by the server"));
        }
    }
    Ok((found, answer))
}

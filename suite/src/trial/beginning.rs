//! A trial of an answer that goes on: what it begins with comes before it ends.

use std::time::Duration;

use super::environment::Environment;
use super::environment_error::EnvironmentError;
use super::verify;
use crate::catalog::Profile;
use crate::check::{Answer, Mismatch, shown_body};
use crate::request::Request;

/// Wait for the beginning.
const BEGINNING: Duration = Duration::from_secs(10);

/// Reads the beginning of an answer, and compares it.
pub(super) async fn begins(
    environment: &Environment<'_>,
    profile: Profile,
    wanted: &str,
    request: &Request,
) -> Result<(Vec<Mismatch>, Answer), EnvironmentError> {
    let wanted = environment.bindings().fill(wanted)?;
    let reading = async {
        let stream = environment.target().open(request).await?;
        stream.beginning(wanted.len()).await
    };
    let read = match tokio::time::timeout(BEGINNING, reading).await {
        Ok(Err(error)) if error.is_of_answer() => Err(error.to_string()),
        Ok(read) => Ok(read?),
        Err(_) => Err(format!("it has not come after {} s", BEGINNING.as_secs())),
    };
    let (answer, goes_on) = match read {
        Ok(read) => read,
        Err(nothing) => {
            let mismatch = Mismatch::new("beginning of the body", wanted, nothing);
            return Ok((vec![mismatch], Answer::default()));
        }
    };
    let mut found = verify::answer(environment, profile, request, &answer)?;
    if found.is_empty() && answer.text() != wanted {
        found.push(Mismatch::new("beginning of the body", wanted, shown_body(&answer)));
    } else if found.is_empty() && !goes_on {
        found.push(Mismatch::new("body", "to go on", "it ended"));
    }
    Ok((found, answer))
}

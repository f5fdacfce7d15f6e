//! A trial of an answer that goes on: what it begins with comes before it ends.

use std::time::Duration;

use super::environment::{Environment, EnvironmentError};
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
    let stream = environment.target().open(request).await?;
    let reading = stream.beginning(wanted.len());
    let Ok(read) = tokio::time::timeout(BEGINNING, reading).await else {
        let nothing = format!("it has not come after {} s", BEGINNING.as_secs());
        return Ok((
            vec![Mismatch::new("beginning of the body", wanted, nothing)],
            Answer::default(),
        ));
    };
    let (answer, goes_on) = read?;
    let mut found = verify::answer(environment, profile, request, &answer)?;
    if found.is_empty() && answer.text() != wanted {
        found.push(Mismatch::new("beginning of the body", wanted, shown_body(&answer)));
    } else if found.is_empty() && !goes_on {
        found.push(Mismatch::new("body", "to go on", "it ended"));
    }
    Ok((found, answer))
}

//! Plays the requests of a cassette against a server, and judges each answer.
//!
//! Promises: the three verdicts are those of the reference's own scoring, interaction by interaction: *answer* (status,
//! media type and the headers that an answer hangs on), *shape* (answer, and the body is equal but for messages),
//! *exact* (shape, and the messages are equal too); what is checked beyond (other headers, timing) is reported and
//! changes no verdict. Requests go out in the recorded order and with the recorded concurrency, with volatile values
//! bound; every wait has a bound.
//! Limits: an upgraded connection that is no WebSocket is judged by its handshake.
//! Source: DESIGN.md, decision 9 and "Two profiles".

mod documented;
mod judge;
mod player;
mod report;
mod session;
mod watch;

pub use report::{Report, Tally, Verdict};

use crate::interaction::Cassette;
use crate::transport::{Client, Credentials, TransportError};
use std::time::Duration;

/// The profile that judges by the documents where they differ from the recorded server.
pub const DOCUMENTED: &str = "documented";

/// The profile of the recorded server.
pub const RECORDED: &str = "kubernetes-1.2";

/// How to verify.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server's URL.
    pub against: String,
    /// What to show it, where a request had a credential that was redacted, or the server wants one.
    pub credentials: Credentials,
    /// The profile to judge by; that of the cassette where none is given.
    pub profile: Option<String>,
    /// How long the server may be silent within an answer.
    pub patience: Duration,
}

impl Options {
    /// Verifies against the server at this URL, by the cassette's own profile.
    pub fn new(against: impl Into<String>) -> Self {
        Self {
            against: against.into(),
            credentials: Credentials::default(),
            profile: None,
            patience: Duration::from_secs(30),
        }
    }
}

/// Plays a cassette against a server and judges its answers. A server that does not answer gets bad verdicts; it is no
/// error.
///
/// # Errors
/// If the URL is none of a server, or the credentials cannot be used.
pub async fn verify(cassette: &Cassette, options: &Options) -> Result<Report, TransportError> {
    let client = Client::new(&options.against, &options.credentials, false)?;
    let recorded = cassette.header.profile.as_deref().unwrap_or(RECORDED);
    let profile = options.profile.as_deref().unwrap_or(recorded);
    let judge = judge::Judge::new(profile, recorded);
    let player = player::Player::new(client, options.patience);
    Ok(Report {
        against: options.against.clone(),
        verdicts: session::play(cassette, judge, player).await,
    })
}

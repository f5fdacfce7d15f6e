//! Sends the requests of a cassette to a server and judges the responses.
//!
//! Guarantees:
//! - There are three verdicts per interaction, the same as in the reference's scoring. *Answer*: status, media type and
//!   judged headers are equal. *Shape*: answer, and the body is equal apart from messages. *Exact*: shape, and the
//!   messages are equal.
//! - Other differences (other headers, timing) are reported and do not change a verdict.
//! - Requests are sent in the recorded order and with the recorded concurrency, with volatile values bound. Every wait
//!   has a timeout.
//!
//! Limit: an upgraded connection other than a WebSocket is judged by its handshake.
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

/// The profile in which the documents take precedence over the recorded server.
pub const DOCUMENTED: &str = "documented";

/// The profile of the recorded server.
pub const RECORDED: &str = "kubernetes-1.2";

/// Checks a server against a cassette: sends the recorded requests and compares the responses.
///
/// ```
/// use stuntdouble_cassettes::{Cassette, Verifier};
/// # use stuntdouble_cassettes::{Replayer, ReplayerOptions};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/kubernetes-1.2/namespaces.yaml").as_ref();
/// let cassette = Cassette::open(path)?;
/// # let server = Replayer::start(cassette.clone(), ReplayerOptions::default()).await?;
/// let report = Verifier::new(server.url()).verify(&cassette).await?;
/// assert!(report.is_exact(), "{}", report.to_text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verifier {
    /// URL of the server.
    pub against: String,
    /// Credentials for requests without an `Authorization` or with a redacted one. Default: none.
    pub credentials: Credentials,
    /// Profile to judge by. Default: the profile of the cassette.
    pub profile: Option<String>,
    /// Time for which the server may be silent within a response. Default: 30 s.
    pub timeout: Duration,
}

impl Verifier {
    /// A verifier for the server at a URL, with the profile of the cassette.
    pub fn new(against: impl Into<String>) -> Self {
        Self {
            against: against.into(),
            credentials: Credentials::default(),
            profile: None,
            timeout: Duration::from_secs(30),
        }
    }

    /// Sends the requests of a cassette and judges the responses. A server that does not respond is not an error, but
    /// gets failed verdicts.
    ///
    /// # Errors
    /// If the URL is not one of a server, or the credentials cannot be used.
    pub async fn verify(&self, cassette: &Cassette) -> Result<Report, TransportError> {
        let client = Client::new(&self.against, &self.credentials, false)?;
        let recorded = cassette.header.profile.as_deref().unwrap_or(RECORDED);
        let profile = self.profile.as_deref().unwrap_or(recorded);
        let judge = judge::Judge::new(profile, recorded);
        let player = player::Player::new(client, self.timeout);
        Ok(Report {
            against: self.against.clone(),
            verdicts: session::play(cassette, judge, player).await,
        })
    }
}

//! Plays the requests of a cassette against a server, and judges each response.
//!
//! Promises: the three verdicts are those of the reference's own scoring, interaction by interaction: *answer* (status,
//! media type and the headers that a response hangs on), *shape* (answer, and the body is equal but for messages),
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

/// Judges a server by a cassette: sends the recorded requests and compares the responses.
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
    /// Credentials for requests whose own were redacted, and for a server that requires some. Default: none.
    pub credentials: Credentials,
    /// Profile to judge by. Default: the profile of the cassette.
    pub profile: Option<String>,
    /// Time for which the server may be silent within a response. Default: 30 s.
    pub timeout: Duration,
}

impl Verifier {
    /// A verifier of the server at a URL, by the cassette's own profile.
    pub fn new(against: impl Into<String>) -> Self {
        Self {
            against: against.into(),
            credentials: Credentials::default(),
            profile: None,
            timeout: Duration::from_secs(30),
        }
    }

    /// Sends the requests of a cassette and judges the responses. A server that does not respond gets bad verdicts and
    /// is not an error.
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

//! The contents of a cassette in memory: a header and the interactions of one session.
//!
//! Guarantees:
//! - A body is kept as one sequence of bytes without content coding, however the file writes it.
//! - Times have a resolution of one microsecond, in memory and in both file formats.
//!
//! Limits:
//! - A header value that is not UTF-8 is read as Latin-1.
//! - Trailers of requests are not kept.
//!
//! Source: RFC 9110 (messages), RFC 6455 (WebSocket messages).

mod clock;
mod digest;
mod placeholder;
mod request;
mod response;
pub mod terminal;

pub use clock::Clock;
pub(crate) use clock::{millis, to_millis};
pub(crate) use digest::{Digest, before_digest, ends_with_digest};
pub use request::{Headers, Request};
pub use response::{Data, Failure, FailureKind, Frame, Message, Outcome, Payload, Response, Sender};

pub(crate) use placeholder::{is_of_length, is_placeholder, number, placeholder, placeholders};

use bytes::Bytes;
use jiff::Timestamp;
use std::time::Duration;

/// Recorded as the reason when the client closes the connection before the response ends.
pub(crate) const CLIENT_CLOSED: &str = "the client went away";

/// A recorded session: requests and their responses.
///
/// ```
/// use stuntdouble_cassettes::Cassette;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/kubernetes-1.2/namespaces.yaml");
/// let cassette = Cassette::open(path.as_ref())?;
/// for interaction in &cassette.interactions {
///     println!("{} {}", interaction.request.method, interaction.request.url);
/// }
/// assert!(cassette.diff(&cassette).is_same());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cassette {
    /// Where, when and how it was recorded.
    pub header: Header,
    /// The interactions, in the order of their requests.
    pub interactions: Vec<Interaction>,
}

/// Where, when and how a session was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Start of the recording.
    pub recorded: Timestamp,
    /// The program that recorded it, with its version.
    pub recorder: Program,
    /// Scheme and authority of the server, such as `http://cluster.test`.
    pub upstream: Option<String>,
    /// Version of the server (`gitVersion` of `/version`).
    pub upstream_version: Option<String>,
    /// Behaviour profile of the server.
    pub profile: Option<String>,
    /// Description of the session.
    pub comment: Option<String>,
    /// Names of the redaction rules that were applied.
    pub redactions: Vec<String>,
}

/// A program and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name of the program.
    pub name: String,
    /// Version of the program. Empty if unknown.
    pub version: String,
}

impl Program {
    /// This crate, as the program that records.
    pub fn this() -> Self {
        Self {
            name: "stuntdouble".into(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

impl Header {
    /// Header of a recording by this program that starts at this time, without optional fields.
    pub fn new(recorded: Timestamp) -> Self {
        Self {
            recorded,
            recorder: Program::this(),
            upstream: None,
            upstream_version: None,
            profile: None,
            comment: None,
            redactions: Vec::new(),
        }
    }
}

/// A request and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    /// Number in the session, from 1, in the order of the requests.
    pub id: u64,
    /// Description of the interaction.
    pub note: Option<String>,
    /// Time of the request.
    pub started: Timestamp,
    /// Time from the request to the head of the response.
    pub wait: Duration,
    /// Time from the request to the end of the response. None if the recording stopped before the end.
    pub took: Option<Duration>,
    /// The request.
    pub request: Request,
    /// The response or the failure.
    pub outcome: Outcome,
    /// Marks for the verifier.
    pub marks: Marks,
}

impl Interaction {
    /// The response, if there is one.
    pub fn response(&self) -> Option<&Response> {
        match &self.outcome {
            Outcome::Response(response) => Some(response),
            Outcome::Failure(_) => None,
        }
    }

    /// The body of the response, if it was recorded as a whole.
    pub(crate) fn body(&self) -> Option<&Bytes> {
        match &self.response()?.payload {
            Payload::Body(body) => Some(body),
            Payload::Stream(_) | Payload::Messages(_) => None,
        }
    }

    /// The frames of the response, if it is a stream.
    pub fn frames(&self) -> Option<&[Frame]> {
        match &self.response()?.payload {
            Payload::Stream(frames) => Some(frames),
            Payload::Body(_) | Payload::Messages(_) => None,
        }
    }

    /// The messages, if the connection was upgraded.
    pub fn messages(&self) -> Option<&[Message]> {
        match &self.response()?.payload {
            Payload::Messages(messages) => Some(messages),
            Payload::Body(_) | Payload::Stream(_) => None,
        }
    }

    /// Whether the connection was upgraded to a WebSocket.
    pub fn is_websocket(&self) -> bool {
        self.messages().is_some()
            && self
                .request
                .headers
                .get("upgrade")
                .is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
    }
}

/// Marks that change how the verifier judges an interaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Reason not to judge the interaction, if any.
    pub unjudged: Option<String>,
    /// The only profile that the interaction applies to, if any.
    pub only: Option<String>,
    /// Whether the text of the response differs from run to run.
    pub text_varies: bool,
}

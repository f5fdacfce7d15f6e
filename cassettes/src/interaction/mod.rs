//! What a cassette holds: a header and the interactions of one session, in memory.
//!
//! Promises: every body is kept as the bytes that the client or the server meant (content codings undone), in one
//! place, however the file spells it; times have a resolution of one microsecond, which both file formats keep.
//! Limits: a header value that is no UTF-8 is read as Latin-1; trailers of requests are not kept.
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

use jiff::Timestamp;
use std::time::Duration;

/// What is said to have cut a response short that its client no longer waited for.
pub(crate) const LEFT: &str = "the client went away";

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
    /// The interactions in the order in which they began.
    pub interactions: Vec<Interaction>,
}

/// Where, when and how a session was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// When the recording began.
    pub recorded: Timestamp,
    /// The program that recorded it, with its version.
    pub recorder: Program,
    /// Scheme and authority of the server, such as `http://cluster.test`.
    pub upstream: Option<String>,
    /// What the server calls its version (`gitVersion` of `/version`).
    pub upstream_version: Option<String>,
    /// The profile that the server follows.
    pub profile: Option<String>,
    /// What the session is about.
    pub comment: Option<String>,
    /// The rules by which secrets were taken out.
    pub redactions: Vec<String>,
}

/// A program and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its version; empty if it says none.
    pub version: String,
}

impl Program {
    /// This crate.
    pub fn this() -> Self {
        Self {
            name: "stuntdouble".into(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

impl Header {
    /// The header of a recording that begins now, by this program, of which nothing more is known.
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

/// One request and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    /// Its number in the session, from 1 on, in the order in which the requests came.
    pub id: u64,
    /// What it shows.
    pub note: Option<String>,
    /// When the request came.
    pub started: Timestamp,
    /// From the request to the head of the response.
    pub wait: Duration,
    /// From the request to the end of the response; none where the recording stopped before it.
    pub took: Option<Duration>,
    /// The request.
    pub request: Request,
    /// The response, or the failure.
    pub outcome: Outcome,
    /// How it is to be judged.
    pub marks: Marks,
}

impl Interaction {
    /// The response, where there was one.
    pub fn response(&self) -> Option<&Response> {
        match &self.outcome {
            Outcome::Response(response) => Some(response),
            Outcome::Failure(_) => None,
        }
    }

    /// The frames of a streamed response.
    pub fn frames(&self) -> Option<&[Frame]> {
        match &self.response()?.payload {
            Payload::Stream(frames) => Some(frames),
            Payload::Body(_) | Payload::Messages(_) => None,
        }
    }

    /// The messages of an upgraded connection.
    pub fn messages(&self) -> Option<&[Message]> {
        match &self.response()?.payload {
            Payload::Messages(messages) => Some(messages),
            Payload::Body(_) | Payload::Stream(_) => None,
        }
    }

    /// Whether the connection became one of WebSocket messages.
    pub fn is_websocket(&self) -> bool {
        self.messages().is_some()
            && self
                .request
                .headers
                .get("upgrade")
                .is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
    }
}

/// How an interaction is to be judged, beyond what it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// It counts for nothing, for this reason.
    pub unjudged: Option<String>,
    /// It concerns this profile only.
    pub only: Option<String>,
    /// The server words it differently from run to run.
    pub text_varies: bool,
}

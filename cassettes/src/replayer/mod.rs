//! Server that replays the responses of a cassette.
//!
//! Guarantees:
//! - Equal requests get their recorded responses in the recorded order, whatever other clients request in between. A
//!   response that a later change has made stale is skipped.
//! - A stream is sent at the recorded speed, a multiple of it, or at once. No frame is sent before the change that
//!   wait_for_causes it, while clients make changes.
//! - Values that a client generates anew are replaced in its responses.
//! - The response to a request that was not recorded lists the nearest recorded ones with differences, or is that of
//!   another server.
//! - The time to answer a recorded request does not depend on the length of the session.
//!
//! Limits: request bodies of up to [`MAX_BODY_BYTES`]; a compressed stream is sent uncompressed.
//! Source: DESIGN.md, decisions 8 and 9.

mod aliases;
mod changes;
mod index;
mod pace;
mod playback;
mod response;
mod socket;
mod state;

pub use state::{Object, State};

use crate::interaction::{Cassette, Interaction, Outcome, Payload, Request as RecordedRequest};
use crate::transport::{
    self, Body, Client, ConnectionClosed, Credentials, Handler, Origins, Server, Tasks, TransportError,
};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use pace::Pace;
use playback::{Playback, SelectedInteraction};
use serde_json::json;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

/// Maximum length of a request body.
pub(crate) const MAX_BODY_BYTES: usize = 64 << 20;

/// Speed at which streams are replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Speed {
    /// A multiple of the recorded speed.
    Factor(f64),
    /// Without delays.
    Instant,
}

/// Action on a request that was not recorded.
#[derive(Clone)]
#[non_exhaustive]
pub enum OnMiss {
    /// Responds with 501 and the nearest recorded requests.
    Fail,
    /// Forwards the request to this server.
    Forward(String, Credentials),
    /// Starts a server with the state that the cassette implies, and forwards this and all later requests to it.
    Thaw(Arc<dyn Thaw>),
}

/// The URL of a thawed server, or the error.
pub type Thawed = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// Starts a server with a given state.
pub trait Thaw: Send + Sync {
    /// Starts a server with this state. Called once per session, at the first request that was not recorded.
    fn thaw(&self, state: State) -> Thawed;
}

/// Options of a [`Replayer`].
///
/// ```
/// use stuntdouble_cassettes::{ReplayerOptions, Speed};
///
/// let mut options = ReplayerOptions::default();
/// options.speed = Speed::Instant;
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ReplayerOptions {
    /// Address of the listener. Port 0 is replaced by a free one. Default: 127.0.0.1:0.
    pub listen: SocketAddr,
    /// Hosts and origins whose requests are accepted. Default: those of the listener only.
    pub origins: Origins,
    /// Speed of streams.
    pub speed: Speed,
    /// Action on a request that was not recorded.
    pub on_miss: OnMiss,
    /// A frame is delayed until the change that wait_for_causes it, unless no client has sent a request for this long.
    pub hold: Duration,
}

impl Default for ReplayerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            origins: Origins::default(),
            speed: Speed::Factor(1.0),
            on_miss: OnMiss::Fail,
            hold: Duration::from_secs(1),
        }
    }
}

/// A server that replays a cassette. Dropping it stops it.
///
/// ```
/// use stuntdouble_cassettes::{Cassette, Replayer, ReplayerOptions};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cassette = Cassette::parse(concat!(
///     "cassette: 1\nrecorded: 2026-11-21T11:45:16Z\n---\nid: 1\nstarted: 2026-11-21T11:45:16Z\n",
///     "request: {method: GET, url: /version}\n",
///     "response: {status: 200, json: {gitVersion: v1.2.0}}\n...\n",
/// ))?;
/// let replayer = Replayer::start(cassette, ReplayerOptions::default()).await?;
/// // The client sends its requests to replayer.url().
/// assert_eq!(replayer.unplayed(), [1]);
/// # use stuntdouble_cassettes::transport::{Client, Credentials, full};
/// # let client = Client::new(&replayer.url(), &Credentials::default(), true)?;
/// # client.send(http::Request::get("/version").body(full(""))?).await.map_err(|failure| failure.text)?;
/// replayer.assert_all_played();
/// # Ok(())
/// # }
/// ```
pub struct Replayer {
    server: Server,
    player: Arc<Player>,
}

impl Replayer {
    /// Starts to replay a cassette.
    ///
    /// # Errors
    /// If the address cannot be bound, or the URL of the server to forward to is invalid.
    pub async fn start(cassette: Cassette, options: ReplayerOptions) -> Result<Self, TransportError> {
        let elsewhere = OnceCell::new();
        if let OnMiss::Forward(upstream, credentials) = &options.on_miss {
            // Never fails: the cell is new and empty.
            let _ = elsewhere.set(Client::new(upstream, credentials, true)?);
        }
        let (listen, origins) = (options.listen, options.origins.clone());
        let playback = Arc::new(Playback::new(cassette.interactions));
        let player = Arc::new(Player {
            playback,
            options,
            elsewhere,
        });
        Ok(Self {
            server: Server::start_with(listen, origins, player.clone()).await?,
            player,
        })
    }

    /// Address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// URL of the listener.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Explanations of requests that were not recorded: the first thousand.
    pub fn misses(&self) -> Vec<String> {
        self.player.playback.misses()
    }

    /// Numbers of the interactions that were not replayed.
    pub fn unplayed(&self) -> Vec<u64> {
        self.player.playback.unplayed()
    }

    /// Asserts that every interaction was replayed and every request was recorded.
    ///
    /// # Panics
    /// If the assertion fails, with the requests that were not recorded and the numbers of the interactions that were
    /// not replayed.
    pub fn assert_all_played(&self) {
        let (misses, unplayed) = (self.misses(), self.unplayed());
        assert!(
            misses.is_empty() && unplayed.is_empty(),
            "requests that were not recorded: {}\ninteractions that were not replayed: {unplayed:?}",
            if misses.is_empty() {
                "none".to_owned()
            } else {
                misses.join("\n")
            }
        );
    }

    /// Stops the server and waits until every connection is closed.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

struct Player {
    playback: Arc<Playback>,
    options: ReplayerOptions,
    /// The server that requests are forwarded to if they were not recorded.
    elsewhere: OnceCell<Client>,
}

impl Handler for Player {
    async fn handle(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        tasks: Tasks,
    ) -> Result<Response<Body>, ConnectionClosed> {
        let near = transport::upgrade(request.headers())
            .is_some()
            .then(|| hyper::upgrade::on(&mut request));
        let (parts, body) = request.into_parts();
        let bytes = match Limited::new(body, MAX_BODY_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                return Ok(error_response(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "the request's body is too long",
                ));
            }
            Err(error) => {
                let why = format!("the request's body cannot be read: {error}");
                return Ok(error_response(StatusCode::BAD_REQUEST, &why));
            }
        };
        let mut asked = RecordedRequest {
            method: parts.method.as_str().to_owned(),
            url: parts
                .uri
                .path_and_query()
                .map_or("/", |target| target.as_str())
                .to_owned(),
            headers: (&parts.headers).into(),
            body: (!bytes.is_empty()).then(|| bytes.clone()),
            omitted: 0,
        };
        transport::decode_request(&mut asked, true);
        let thawed = matches!(self.options.on_miss, OnMiss::Thaw(_)) && self.elsewhere.initialized();
        if !thawed {
            match self.playback.select(&asked) {
                Ok(selected) => return self.recorded(&asked, selected, near, &tasks),
                Err(why) if matches!(self.options.on_miss, OnMiss::Fail) => {
                    return Ok(error_response(StatusCode::NOT_IMPLEMENTED, &why));
                }
                Err(_) => {}
            }
        }
        let client = match self.elsewhere().await {
            Ok(client) => client,
            Err(why) => return Ok(error_response(StatusCode::BAD_GATEWAY, &why)),
        };
        let request = Request::from_parts(parts, bytes);
        match transport::forward(client, request, near, &tasks).await {
            Ok(response) => Ok(response),
            Err(failure) => Ok(error_response(StatusCode::BAD_GATEWAY, &failure.text)),
        }
    }
}

impl Player {
    fn recorded(
        &self,
        asked: &RecordedRequest,
        selected: SelectedInteraction,
        near: Option<hyper::upgrade::OnUpgrade>,
        tasks: &Tasks,
    ) -> Result<Response<Body>, ConnectionClosed> {
        let interaction: &Interaction = &selected.interaction;
        let Outcome::Response(recorded) = &interaction.outcome else {
            return Err(ConnectionClosed);
        };
        match (&recorded.payload, near) {
            (Payload::Messages(_), Some(near)) => {
                let response = response::switching(recorded, asked, &self.playback);
                tasks.spawn(socket::run(near, selected, self.playback.clone(), self.pace()));
                Ok(response)
            }
            (Payload::Messages(_), None) => Ok(error_response(
                StatusCode::UPGRADE_REQUIRED,
                "the recorded connection was upgraded, and this one is not",
            )),
            (Payload::Stream(_), _) => Ok(response::stream(selected, self.playback.clone(), self.pace())),
            (Payload::Body(bytes), _) => Ok(response::plain(recorded, bytes, &asked.method, &self.playback)),
        }
    }

    fn pace(&self) -> Pace {
        Pace::new(self.options.speed, self.options.hold)
    }

    async fn elsewhere(&self) -> Result<&Client, String> {
        let start = async || match &self.options.on_miss {
            OnMiss::Thaw(thaw) => {
                let url = thaw.thaw(self.playback.state()).await?;
                Client::new(&url, &Credentials::default(), true).map_err(|error| error.to_string())
            }
            OnMiss::Fail | OnMiss::Forward(..) => Err("there is no other server".to_owned()),
        };
        self.elsewhere.get_or_try_init(start).await
    }
}

/// An error response of the replayer, as a `Status` of the API.
fn error_response(status: StatusCode, message: &str) -> Response<Body> {
    let body = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "NotRecorded",
        "code": status.as_u16(),
    });
    let mut response = Response::new(transport::full(Bytes::from(format!("{body:#}\n"))));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

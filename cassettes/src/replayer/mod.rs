//! Serves the recorded responses of a cassette.
//!
//! Promises: the same requests get the same responses, each request its recorded sequence, whatever other clients ask in
//! between; a response that a later change has made stale is passed over; a stream comes at the recorded speed, any
//! factor of it or at once, but no frame before the change that caused it was made, as long as clients are making
//! changes at all; what a client made up anew is put into its responses; the response to a request that was not recorded says which
//! were nearest and in what it differs, or is answered by another server; the work for a request that was recorded does
//! not grow with the length of the session.
//! Limits: bodies of requests up to [`LONGEST_BODY`]; a stream that was compressed is served uncompressed.
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

/// A request's body may be this long.
pub(crate) const LONGEST_BODY: usize = 64 << 20;

/// Speed at which streams are replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Speed {
    /// This many times as fast as they were recorded.
    Factor(f64),
    /// At once.
    Instant,
}

/// Action on a request that was not recorded.
#[derive(Clone)]
#[non_exhaustive]
pub enum OnMiss {
    /// Answers 501 and says which recorded requests were nearest.
    Fail,
    /// Passes it on to this server.
    Forward(String, Credentials),
    /// Has a server brought to the state that the cassette implies, which answers from then on.
    Thaw(Arc<dyn Thaw>),
}

/// The URL of a thawed server, or why there is none.
pub type Thawed = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// Brings a server to a state.
pub trait Thaw: Send + Sync {
    /// Starts a server in this state. Called once in a session, at the first request that was not recorded.
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
    /// Where to listen; a port of 0 is chosen by the system.
    pub listen: SocketAddr,
    /// Hosts and origins whose requests are accepted. Default: its own only.
    pub origins: Origins,
    /// How fast streams come.
    pub speed: Speed,
    /// What happens to a request that was not recorded.
    pub on_miss: OnMiss,
    /// A frame waits for the change that caused it until no client has sent a request for this long.
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

/// A server that answers from a cassette. Dropping it stops it.
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
    /// Serves a cassette.
    ///
    /// # Errors
    /// If the address cannot be listened on, or the server to forward to is none.
    pub async fn start(cassette: Cassette, options: ReplayerOptions) -> Result<Self, TransportError> {
        let elsewhere = OnceCell::new();
        if let OnMiss::Forward(upstream, credentials) = &options.on_miss {
            // The cell was made here and is empty.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The explanations of the requests that were not recorded, so far; the first thousand.
    pub fn misses(&self) -> Vec<String> {
        self.player.playback.misses()
    }

    /// The numbers of the interactions that have not been replayed.
    pub fn unplayed(&self) -> Vec<u64> {
        self.player.playback.unplayed()
    }

    /// Panics unless every recorded interaction was replayed and every request was recorded.
    ///
    /// # Panics
    /// With the requests that were not recorded, and the numbers of the interactions that were not replayed.
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

    /// Stops, and waits until every connection has been closed.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

struct Player {
    playback: Arc<Playback>,
    options: ReplayerOptions,
    /// The server that answers what was not recorded.
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
        let bytes = match Limited::new(body, LONGEST_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                return Ok(refusal(StatusCode::PAYLOAD_TOO_LARGE, "the request's body is too long"));
            }
            Err(error) => {
                let why = format!("the request's body cannot be read: {error}");
                return Ok(refusal(StatusCode::BAD_REQUEST, &why));
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
                    return Ok(refusal(StatusCode::NOT_IMPLEMENTED, &why));
                }
                Err(_) => {}
            }
        }
        let client = match self.elsewhere().await {
            Ok(client) => client,
            Err(why) => return Ok(refusal(StatusCode::BAD_GATEWAY, &why)),
        };
        let request = Request::from_parts(parts, bytes);
        match transport::forward(client, request, near, &tasks).await {
            Ok(response) => Ok(response),
            Err(failure) => Ok(refusal(StatusCode::BAD_GATEWAY, &failure.text)),
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
            (Payload::Messages(_), None) => Ok(refusal(
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

/// A response of the replayer's own, in the form that clients of the API know.
fn refusal(status: StatusCode, message: &str) -> Response<Body> {
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

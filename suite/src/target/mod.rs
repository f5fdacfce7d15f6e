//! What is judged: a server at an address, or the simulator started for the purpose.
//!
//! Promises: every wait ends (connecting, answering and reading are bounded in time and in size); redirects are not
//! followed and proxies of the environment not used, so that an answer is the target's own.
//!
//! Limits: HTTP/1.1; one server, not several in turn.
//!
//! Source of its semantics: the authentication section of the first text for the credentials.

mod backend;
mod credentials;
mod kubeconfig;
mod living;
mod credential_clients;
mod simulator;
mod socket;
mod session;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue};
use serde_json::Value;

pub use backend::{Backend, BackendAddress};
pub use credentials::{Credentials, CredentialsError};
use living::Logs;
use credential_clients::CredentialClients;
use simulator::Embedded;
pub use socket::{Received, Socket};
pub use session::Session;
use session::{Recorded, Recording};

use crate::catalog::{Credential, Need, Profile};
use crate::check::Answer;
use crate::request::Request;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an answer may take to come whole.
const ANSWER: Duration = Duration::from_secs(15);
/// How large a body may be, in bytes.
const BODY: usize = 64 << 20;

/// Why a target could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The address is none.
    #[error("{0:?} is no address of a server: {1}")]
    Address(String, String),
    /// The client could not be set up.
    #[error("the client could not be set up: {0}")]
    Client(String),
    /// Nothing answered.
    #[error("{request}: {reason}")]
    Unreachable {
        /// Method and path.
        request: String,
        /// What went wrong.
        reason: String,
    },
    /// The answer did not come whole in time.
    #[error("{0}: no whole answer within {limit} s", limit = ANSWER.as_secs())]
    TooLate(String),
    /// The answer is larger than anybody should read.
    #[error("{0}: the answer is larger than {BODY} bytes")]
    TooLarge(String),
    /// The stream is not one of JSON values.
    #[error("{request}: the stream is no sequence of JSON values: {reason}")]
    Stream {
        /// Method and path.
        request: String,
        /// What went wrong.
        reason: String,
    },
    /// A cassette cannot be played.
    #[error("{path}: {reason}", path = path.display())]
    Cassette {
        /// It, or the folder of it.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The simulator did not start.
    #[error("the simulator did not start: {0}")]
    Simulator(String),
}

/// A server to be judged.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its address.
    base: String,
    /// Where it is asked, if that is not its address: a proxy that stands before it.
    way: Option<String>,
    /// What it says of itself.
    agent: Option<String>,
    client: reqwest::Client,
    authorization: Option<HeaderValue>,
    credential_clients: Option<CredentialClients>,
    place: Option<BackendAddress>,
    _backend: Option<Arc<Backend>>,
    embedded: Option<Arc<Embedded>>,
    recording: Option<Arc<Recording>>,
    recorded: Option<Arc<Recorded>>,
    logs: Logs,
}

impl Target {
    /// The server at an address, such as `http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// If the address is none, or the credentials cannot be used.
    pub fn at(url: &str, credentials: &Credentials) -> Result<Self, TargetError> {
        let parsed = url::Url::parse(url).map_err(|e| TargetError::Address(url.to_owned(), e.to_string()))?;
        if !["http", "https"].contains(&parsed.scheme()) || parsed.host_str().is_none() {
            return Err(TargetError::Address(
                url.to_owned(),
                "it is to begin with http:// or https://".to_owned(),
            ));
        }
        let base = url.trim_end_matches('/').to_owned();
        let asks = parsed.scheme() == "https" && credentials.say_who();
        let credential_clients = asks.then(|| CredentialClients::at(&base, credentials)).transpose()?;
        Ok(Self {
            base,
            way: None,
            agent: None,
            client: client(credentials)?,
            authorization: authorization(credentials)?,
            credential_clients,
            place: None,
            _backend: None,
            embedded: None,
            recording: None,
            recorded: None,
            logs: Logs::default(),
        })
    }

    /// The same, whose proxy finds a backend of the suite at a place.
    pub fn with_backend(mut self, place: BackendAddress) -> Self {
        self.place = Some(place);
        self
    }

    /// The same, asked by way of a proxy that stands before it.
    pub fn via(mut self, url: &str) -> Self {
        self.way = Some(url.trim_end_matches('/').to_owned());
        self
    }

    /// The same, with a backend that listens as long as it is there.
    pub fn owning_backend(mut self, backend: Backend) -> Self {
        self._backend = Some(Arc::new(backend));
        self
    }

    /// A recorded run: a cassette, or a folder of them. Nothing is asked but what is on it.
    ///
    /// # Errors
    /// If it cannot be read, or there is no trial on it.
    pub fn cassette(from: &Path) -> Result<Self, TargetError> {
        let recorded = Recorded::read(from)?;
        // Every trial has a replayer of its own, at an address of its own.
        let mut target = Self::at("http://127.0.0.1", &Credentials::default())?;
        target.recorded = Some(Arc::new(recorded));
        Ok(target)
    }

    /// The same, with what is said in each trial recorded on a cassette of its own in a folder. `credentials` are those
    /// that it was made with.
    pub fn recorded_in(mut self, folder: &Path, profile: Profile, credentials: Credentials) -> Self {
        self.recording = Some(Arc::new(Recording {
            folder: folder.to_owned(),
            profile,
            credentials,
        }));
        self
    }

    /// Whether it is a recorded run.
    pub fn is_recorded(&self) -> bool {
        self.recorded.is_some()
    }

    /// The profile that a recorded run was judged by, where its cassette says it.
    pub fn profile(&self) -> Option<Profile> {
        self.recorded.as_ref()?.profile()
    }

    /// Where the target's proxy finds the suite's backend, if it does.
    pub fn place(&self) -> Option<&BackendAddress> {
        self.place.as_ref()
    }

    /// Why a trial of a case that needs something cannot be played, if it cannot.
    pub fn pointer_presence(&self, trial: &str, needs: &[Need], credential: Option<Credential>) -> Option<String> {
        if let Some(recorded) = &self.recorded {
            return (!recorded.has(trial)).then(|| "it is not on the cassette".to_owned());
        }
        let reason = |need: &Need| match need {
            Need::Backend if self.place.is_none() => {
                Some("it takes a backend that the target's proxy reaches; --backend says where one is")
            }
            Need::Container if self.embedded.is_none() => {
                Some("it takes a pod whose container runs, which only the simulator is known to have")
            }
            Need::LogLines if self.embedded.is_none() && !self.logs.may_be_loaded => {
                Some("it loads log lines; --seed-logs lets it, and removes them after")
            }
            Need::Clock if self.embedded.is_none() => Some("it is about a time that only the simulator's clock shows"),
            Need::Backend | Need::Container | Need::LogSearch | Need::LogLines | Need::Clock => None,
        };
        let lacking = needs.iter().find_map(reason).map(str::to_owned);
        let unknown = credential.filter(|credential| {
            self.credential_clients
                .as_ref()
                .and_then(|credential_clients| credential_clients.client_for(*credential))
                .is_none()
        });
        lacking.or_else(|| {
            unknown.map(|_| "it takes a server that asks for credentials, and those credentials".to_owned())
        })
    }

    /// Its address.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// What it is, for people.
    pub fn description(&self) -> String {
        match (&self.embedded, &self.recorded) {
            (_, Some(recorded)) => format!("the cassette {}", recorded.from().display()),
            (Some(_), None) => format!("the simulator at {}", self.base),
            (None, None) => self.base.clone(),
        }
    }

    /// Another target of the same make with nothing in it, if the suite starts its targets itself.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn another(&self) -> Result<Option<Self>, TargetError> {
        match (&self.embedded, &self.recorded) {
            (_, Some(_)) => Ok(Some(self.clone())),
            (Some(embedded), None) => {
                let other = Self::simulator(embedded.profile).await?;
                Ok(Some(Self {
                    recording: self.recording.clone(),
                    ..other
                }))
            }
            (None, None) => Ok(None),
        }
    }

    /// Asks for anything, to see whether somebody answers.
    ///
    /// # Errors
    /// If nobody does.
    pub async fn reach(&self) -> Result<(), TargetError> {
        if self.recorded.is_some() {
            return Ok(());
        }
        self.send(&Request::get("/api")).await.map(drop)
    }

    /// Asks, and reads the whole answer.
    ///
    /// # Errors
    /// If no whole answer came in time and within bounds.
    pub async fn send(&self, request: &Request) -> Result<Answer, TargetError> {
        let whole = async { self.open(request).await?.whole().await };
        let late = || TargetError::TooLate(format!("{} {}", request.method, request.target()));
        tokio::time::timeout(ANSWER, whole)
            .await
            .unwrap_or_else(|_| Err(late()))
    }

    /// Asks, and reads the head of the answer only.
    ///
    /// # Errors
    /// If no head came in time.
    pub async fn open(&self, request: &Request) -> Result<Stream, TargetError> {
        let named = format!("{} {}", request.method, request.target());
        Self::head(self.asked(request), &named)
            .await
            .map(|response| Stream::of(response, named))
    }

    /// The request as the client sends it.
    fn asked(&self, request: &Request) -> reqwest::RequestBuilder {
        let door = request.credential.and_then(|credential| {
            self.credential_clients
                .as_ref()
                .and_then(|credential_clients| Some((credential_clients, credential_clients.client_for(credential)?)))
        });
        let (base, client, authorization) = match door {
            Some((credential_clients, client_for)) => (&credential_clients.base, &client_for.client, &client_for.authorization),
            None => (
                self.way.as_ref().unwrap_or(&self.base),
                &self.client,
                &self.authorization,
            ),
        };
        let mut asked = client.request(request.method.clone(), format!("{base}{}", request.target()));
        if let Some(agent) = &self.agent {
            asked = asked.header(USER_AGENT, agent);
        }
        if let Some(authorization) = authorization {
            asked = asked.header(AUTHORIZATION, authorization);
        }
        if let Some(accept) = &request.accept {
            asked = asked.header(ACCEPT, accept);
        }
        if let Some(content_type) = &request.content_type {
            asked = asked.header(CONTENT_TYPE, content_type);
        }
        for (name, value) in &request.headers {
            asked = asked.header(name, value);
        }
        match &request.body {
            Some(body) => asked.body(body.clone()),
            None => asked,
        }
    }

    async fn head(asked: reqwest::RequestBuilder, named: &str) -> Result<reqwest::Response, TargetError> {
        match tokio::time::timeout(ANSWER, asked.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(TargetError::Unreachable {
                request: named.to_owned(),
                reason: reason(&error),
            }),
            Err(_) => Err(TargetError::TooLate(named.to_owned())),
        }
    }
}

/// An answer of which the head has been read.
#[derive(Debug)]
pub struct Stream {
    /// The status code.
    pub status: u16,
    /// The Content-Type header.
    pub content_type: Option<String>,
    /// All headers.
    pub headers: HeaderMap,
    response: reqwest::Response,
    request: String,
    unread: BytesMut,
}

impl Stream {
    fn of(response: reqwest::Response, request: String) -> Self {
        let content_type = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|v| v.to_str().ok())
            .map(str::to_owned);
        let headers = response.headers().clone();
        Self {
            status: response.status().as_u16(),
            content_type,
            headers,
            response,
            request,
            unread: BytesMut::new(),
        }
    }

    /// The answer with its whole body.
    async fn whole(mut self) -> Result<Answer, TargetError> {
        let mut body = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            if body.len() + chunk.len() > BODY {
                return Err(TargetError::TooLarge(self.request));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer {
            status: self.status,
            content_type: self.content_type,
            headers: self.headers,
            body: body.freeze(),
        })
    }

    /// The next piece of the body; none at its end.
    async fn chunk(&mut self) -> Result<Option<Bytes>, TargetError> {
        let unreachable = |error: reqwest::Error| TargetError::Unreachable {
            request: self.request.clone(),
            reason: reason(&error),
        };
        self.response.chunk().await.map_err(unreachable)
    }

    /// The next JSON value of the body; none at its end. Waits as long as it takes.
    ///
    /// # Errors
    /// If the body breaks off, is no sequence of JSON values, or a value is larger than anybody should read.
    pub async fn next(&mut self) -> Result<Option<Value>, TargetError> {
        loop {
            if let Some(value) = self.buffered()? {
                return Ok(Some(value));
            }
            match self.chunk().await? {
                Some(chunk) if self.unread.len() + chunk.len() > BODY => {
                    return Err(TargetError::TooLarge(self.request.clone()));
                }
                Some(chunk) => self.unread.extend_from_slice(&chunk),
                None if self.unread.iter().all(u8::is_ascii_whitespace) => return Ok(None),
                None => {
                    let reason = "it breaks off in the middle of one".to_owned();
                    return Err(TargetError::Stream {
                        request: self.request.clone(),
                        reason,
                    });
                }
            }
        }
    }

    /// The next whole value among the bytes that were read.
    fn buffered(&mut self) -> Result<Option<Value>, TargetError> {
        let mut values = serde_json::Deserializer::from_slice(&self.unread).into_iter::<Value>();
        match values.next() {
            None => Ok(None),
            Some(Ok(value)) => {
                let read = values.byte_offset();
                drop(self.unread.split_to(read));
                Ok(Some(value))
            }
            Some(Err(error)) if error.is_eof() => Ok(None),
            Some(Err(error)) => Err(TargetError::Stream {
                request: self.request.clone(),
                reason: error.to_string(),
            }),
        }
    }
}

/// The innermost cause, which is what a person can act on.
fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// A client that shows these credentials.
pub(crate) fn client(credentials: &Credentials) -> Result<reqwest::Client, TargetError> {
    let failed = |error: reqwest::Error| TargetError::Client(reason(&error));
    // The first to install a provider wins; it is the same one for everybody.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .user_agent(concat!("stuntdouble/", env!("CARGO_PKG_VERSION")));
    if let Some(authorities) = &credentials.authorities {
        builder = builder.tls_certs_only(reqwest::Certificate::from_pem_bundle(authorities).map_err(failed)?);
    }
    if let Some(identity) = &credentials.identity {
        builder = builder.identity(reqwest::Identity::from_pem(identity).map_err(failed)?);
    }
    if credentials.insecure {
        builder = builder.tls_danger_accept_invalid_certs(true);
    }
    builder.build().map_err(failed)
}

fn authorization(credentials: &Credentials) -> Result<Option<HeaderValue>, TargetError> {
    let value = match (&credentials.token, &credentials.basic) {
        (Some(token), _) => format!("Bearer {token}"),
        (None, Some(basic)) => format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(basic)),
        (None, None) => return Ok(None),
    };
    let mut value = HeaderValue::from_str(&value)
        .map_err(|_| TargetError::Client("the credentials hold what a header cannot".to_owned()))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

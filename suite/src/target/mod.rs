//! The server under test: at an address, or a simulator that the suite starts.
//!
//! Guarantees: connecting, answering and reading are bounded in time and size; redirects are not followed and proxies
//! of the environment are not used.
//!
//! Limits: HTTP/1.1.
//!
//! Source of semantics: the authentication section of the first text.

mod audit;
mod backend;
mod client;
mod credential_clients;
mod credentials;
mod curl;
mod kubeconfig;
mod living;
mod needs;
mod session;
mod simulator;
mod socket;
mod spdy;
mod stream;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, TRANSFER_ENCODING, USER_AGENT};

use audit::Audit;
pub(crate) use backend::all_values;
pub use backend::{Backend, BackendAddress};
pub(crate) use client::client;
use client::{authorization, reason};
use credential_clients::CredentialClients;
pub use credentials::{Credentials, CredentialsError};
use living::Logs;
use needs::Offers;
pub use session::Session;
use session::{Recorded, Recording};
use simulator::Embedded;
pub(crate) use socket::protocol_header;
pub use socket::{Received, Socket};
pub use stream::Stream;

use crate::catalog::Profile;
use crate::check::{Answer, Mismatch};
use crate::request::Request;

/// Default time limit of an answer.
const ANSWER: Duration = Duration::from_secs(15);
/// Size limit of a body, in bytes.
const BODY: usize = 64 << 20;
/// Longest version that is shown, in characters.
const VERSION: usize = 64;
/// Size of the pieces of a chunked body, in bytes.
const PIECE: usize = 1000;
/// How often a request that gets 429 is sent again, and the longest wait that a server can ask for.
const TOO_MANY: (usize, Duration) = (5, Duration::from_secs(10));

/// Why a target did not answer.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The address is no URL of a server.
    #[error("{0:?} is not the address of a server: {1}")]
    Address(String, String),
    /// The client could not be set up.
    #[error("the client could not be set up: {0}")]
    Client(String),
    /// No answer came.
    #[error("{request}: {reason}")]
    Unreachable {
        /// Method and path.
        request: String,
        /// Cause.
        reason: String,
    },
    /// The connection ended before the answer did.
    #[error("{request}: the connection ended before the answer did: {reason}")]
    BrokenOff {
        /// Method and path.
        request: String,
        /// Cause.
        reason: String,
    },
    /// No whole answer came in time.
    #[error("{0}: no whole answer in time")]
    TooLate(String),
    /// The answer is too large.
    #[error("{0}: the answer is larger than {BODY} bytes")]
    TooLarge(String),
    /// The stream is no sequence of JSON values.
    #[error("{request}: the stream is no sequence of JSON values: {reason}")]
    Stream {
        /// Method and path.
        request: String,
        /// Cause.
        reason: String,
    },
    /// A cassette cannot be played.
    #[error("{path}: {reason}", path = path.display())]
    Cassette {
        /// Cassette or folder.
        path: PathBuf,
        /// Cause.
        reason: String,
    },
    /// The simulator did not start.
    #[error("the simulator did not start: {0}")]
    Simulator(String),
}

impl TargetError {
    /// Whether the server was reached, so that the fault is in what it answered.
    pub fn is_of_answer(&self) -> bool {
        matches!(
            self,
            Self::BrokenOff { .. } | Self::TooLate(_) | Self::TooLarge(_) | Self::Stream { .. }
        )
    }
}

/// A server under test.
#[derive(Debug, Clone)]
pub struct Target {
    /// Address.
    base: String,
    /// Address of a proxy before it.
    via: Option<String>,
    /// User-Agent header.
    agent: Option<String>,
    client: reqwest::Client,
    authorization: Option<HeaderValue>,
    credential_clients: Option<CredentialClients>,
    backend_address: Option<BackendAddress>,
    _backend: Option<Arc<Backend>>,
    embedded: Option<Arc<Embedded>>,
    recording: Option<Arc<Recording>>,
    recorded: Option<Arc<Recorded>>,
    logs: Logs,
    offers: Offers,
    /// Time limit of an answer.
    timeout: Duration,
    /// Texts that no report may show.
    secrets: Arc<Vec<String>>,
    /// The rules that every answer of a trial is held to.
    audit: Option<Arc<Mutex<Audit>>>,
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
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(TargetError::Address(
                format!("{}://…@{}", parsed.scheme(), parsed.host_str().unwrap_or_default()),
                "credentials are options of their own".to_owned(),
            ));
        }
        let base = url.trim_end_matches('/').to_owned();
        let asks = parsed.scheme() == "https" && credentials.say_who();
        let credential_clients = asks.then(|| CredentialClients::at(&base, credentials)).transpose()?;
        Ok(Self {
            base,
            via: None,
            agent: None,
            client: client(credentials)?,
            authorization: authorization(credentials)?,
            credential_clients,
            backend_address: None,
            _backend: None,
            embedded: None,
            recording: None,
            recorded: None,
            logs: Logs::default(),
            offers: Offers::default(),
            timeout: ANSWER,
            secrets: Arc::new(credentials.secrets()),
            audit: None,
        })
    }

    /// The same target, whose proxy reaches a backend of the suite at an address.
    pub fn with_backend(mut self, address: BackendAddress) -> Self {
        self.backend_address = Some(address);
        self
    }

    /// The same target, behind a proxy.
    pub fn via(mut self, url: &str) -> Self {
        self.via = Some(url.trim_end_matches('/').to_owned());
        self
    }

    /// The same target, which keeps a backend running.
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

    /// The same target, whose answers are checked against each other; objects are compared whose names begin with the
    /// stem.
    pub fn audited(mut self, stem: &str) -> Self {
        self.audit = Some(Arc::new(Mutex::new(Audit::new(stem))));
        self
    }

    /// What is wrong with the answers so far, if they are checked.
    pub fn violations(&self) -> Vec<Mismatch> {
        let audit = self.audit.as_ref();
        audit.map_or_else(Vec::new, |audit| {
            audit.lock().unwrap_or_else(PoisonError::into_inner).mismatches()
        })
    }

    /// The same target, with another time limit for an answer.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// A text in which the credentials are replaced by a placeholder.
    pub fn without_secrets(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| text.replace(secret.as_str(), "(redacted)");
        self.secrets.iter().fold(text.to_owned(), hide)
    }

    /// Whether it is a recorded run.
    pub fn is_recorded(&self) -> bool {
        self.recorded.is_some()
    }

    /// The profile that a recorded run was judged by, where its cassette says it.
    pub fn profile(&self) -> Option<Profile> {
        self.recorded.as_ref()?.profile()
    }

    /// Address at which the target's proxy reaches the suite's backend.
    pub fn backend_address(&self) -> Option<&BackendAddress> {
        self.backend_address.as_ref()
    }

    /// Address.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether the suite started it.
    pub fn is_own(&self) -> bool {
        self.embedded.is_some() || self.recorded.is_some()
    }

    /// Description for people.
    pub fn description(&self) -> String {
        match (&self.embedded, &self.recorded) {
            (_, Some(recorded)) => format!("the cassette {}", recorded.from().display()),
            (Some(_), None) => format!("the simulator at {}", self.base),
            (None, None) => self.base.clone(),
        }
    }

    /// A new, empty target of the same kind, if the suite started this one.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn fresh(&self) -> Result<Option<Self>, TargetError> {
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

    /// Version that the target reports, if it does.
    pub async fn version(&self) -> Option<String> {
        if self.recorded.is_some() {
            return None;
        }
        let answer = self.send(&Request::get("/version")).await.ok()?;
        let version: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
        let version = version.get("gitVersion")?.as_str()?;
        Some(version.chars().take(VERSION).collect())
    }

    /// Checks that the target answers.
    ///
    /// # Errors
    /// If it does not.
    pub async fn check_reachable(&self) -> Result<(), TargetError> {
        if self.recorded.is_some() {
            return Ok(());
        }
        self.send(&Request::get("/api")).await.map(drop)
    }

    /// Sends a request and reads the whole answer. A request that gets 429 is sent again.
    ///
    /// # Errors
    /// If no whole answer came in time and within bounds.
    pub async fn send(&self, request: &Request) -> Result<Answer, TargetError> {
        let (retries, longest) = TOO_MANY;
        for _ in 0..retries {
            let answer = self.send_once(request).await?;
            if answer.status != 429 {
                return Ok(answer);
            }
            let seconds = answer.header(RETRY_AFTER.as_str()).and_then(|text| text.parse().ok());
            tokio::time::sleep(
                seconds
                    .map_or(Duration::from_millis(200), Duration::from_secs)
                    .min(longest),
            )
            .await;
        }
        self.send_once(request).await
    }

    async fn send_once(&self, request: &Request) -> Result<Answer, TargetError> {
        let audit = || {
            let audit = self.audit.as_ref()?;
            Some(audit.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let sent = audit().map(|mut audit| audit.sent(request));
        let whole = async { self.open(request).await?.whole().await };
        let late = || TargetError::TooLate(format!("{} {}", request.method, request.target()));
        let answer = tokio::time::timeout(self.timeout, whole)
            .await
            .unwrap_or_else(|_| Err(late()))?;
        if let (Some(mut audit), Some(sent)) = (audit(), sent) {
            audit.answered(request, &answer, sent);
        }
        Ok(answer)
    }

    /// Sends a request and reads the head of the answer.
    ///
    /// # Errors
    /// If no head came in time.
    pub async fn open(&self, request: &Request) -> Result<Stream, TargetError> {
        let named = format!("{} {}", request.method, request.target());
        Self::head(self.asked(request), &named, self.timeout)
            .await
            .map(|response| Stream::of(response, named))
    }

    /// The request as the client sends it, with credentials.
    fn asked(&self, request: &Request) -> reqwest::RequestBuilder {
        let door = request.credential.and_then(|credential| {
            self.credential_clients
                .as_ref()
                .and_then(|credential_clients| Some((credential_clients, credential_clients.client_for(credential)?)))
        });
        let (base, client, authorization) = match door {
            Some((credential_clients, client_for)) => {
                (&credential_clients.base, &client_for.client, &client_for.authorization)
            }
            None => (
                self.via.as_ref().unwrap_or(&self.base),
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
        let chunked = |(name, _): &&(String, String)| name.eq_ignore_ascii_case(TRANSFER_ENCODING.as_str());
        for (name, value) in request.headers.iter().filter(|header| !chunked(header)) {
            asked = asked.header(name, value);
        }
        match &request.body {
            Some(body) if request.headers.iter().any(|header| chunked(&header)) => asked.body(in_pieces(body)),
            Some(body) => asked.body(body.clone()),
            None => asked,
        }
    }

    async fn head(
        asked: reqwest::RequestBuilder,
        named: &str,
        timeout: Duration,
    ) -> Result<reqwest::Response, TargetError> {
        match tokio::time::timeout(timeout, asked.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() || error.is_builder() => Err(TargetError::Unreachable {
                request: named.to_owned(),
                reason: reason(&error),
            }),
            Ok(Err(error)) => Err(TargetError::BrokenOff {
                request: named.to_owned(),
                reason: reason(&error),
            }),
            Err(_) => Err(TargetError::TooLate(named.to_owned())),
        }
    }
}

/// A body that is sent in pieces, without a length.
fn in_pieces(body: &bytes::Bytes) -> reqwest::Body {
    let pieces: Vec<_> = body
        .chunks(PIECE)
        .map(|piece| Ok::<_, std::convert::Infallible>(body.slice_ref(piece)))
        .collect();
    reqwest::Body::wrap_stream(futures::stream::iter(pieces))
}

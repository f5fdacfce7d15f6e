//! The server under test: at a URL, or a simulator that the suite starts.
//!
//! Guarantees:
//! - Connecting, responses and bodies are limited in time and size.
//! - Redirects are not followed, and proxies of the environment are not used.
//!
//! Limits:
//! - HTTP/1.1.
//!
//! Source: the documentation of authentication.

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
use needs::Features;
pub use session::Session;
use session::{Recorded, Recording};
use simulator::Embedded;
pub(crate) use socket::protocol_header;
pub use socket::{Received, Socket};
pub use stream::Stream;

use crate::catalog::Profile;
use crate::check::{Answer, Mismatch};
use crate::request::Request;

/// Default time limit of a response.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum size of a body, in bytes.
const MAX_BODY_BYTES: usize = 64 << 20;
/// Maximum length of the version in reports, in characters.
const MAX_VERSION: usize = 64;
/// Chunk size of a chunked request body, in bytes.
const CHUNK_BYTES: usize = 1000;
/// Number of retries after a 429, and maximum delay that the server can request.
const RETRIES: (usize, Duration) = (5, Duration::from_secs(10));

/// The error of a request to a target.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The address is not the URL of a server.
    #[error("{0:?} is not the URL of a server: {1}")]
    Address(String, String),
    /// The client cannot be created.
    #[error("cannot create the client: {0}")]
    Client(String),
    /// The server cannot be reached.
    #[error("{request}: {reason}")]
    Unreachable {
        /// Method and path.
        request: String,
        /// Cause.
        reason: String,
    },
    /// The connection closed before the end of the response.
    #[error("{request}: the connection closed before the end of the response: {reason}")]
    BrokenOff {
        /// Method and path.
        request: String,
        /// Cause.
        reason: String,
    },
    /// The response was not complete in time.
    #[error("{0}: no complete response in time")]
    TooLate(String),
    /// The response is too large.
    #[error("{0}: the response is larger than {MAX_BODY_BYTES} bytes")]
    TooLarge(String),
    /// The stream is not a sequence of JSON values.
    #[error("{request}: the stream is not a sequence of JSON values: {reason}")]
    Stream {
        /// Method and path.
        request: String,
        /// Cause.
        reason: String,
    },
    /// A cassette cannot be replayed.
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
    /// Whether the server was reached, so that the error is in its response.
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
    /// URL.
    base: String,
    /// URL of a proxy in front of it.
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
    features: Features,
    /// Time limit of a response.
    timeout: Duration,
    /// Texts that no report may show.
    secrets: Arc<Vec<String>>,
    /// Checks of all responses of a trial.
    audit: Option<Arc<Mutex<Audit>>>,
}

impl Target {
    /// Returns the server at a URL, such as `http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// If the URL or the credentials are invalid.
    pub fn at(url: &str, credentials: &Credentials) -> Result<Self, TargetError> {
        let parsed = url::Url::parse(url).map_err(|e| TargetError::Address(url.to_owned(), e.to_string()))?;
        if !["http", "https"].contains(&parsed.scheme()) || parsed.host_str().is_none() {
            return Err(TargetError::Address(
                url.to_owned(),
                "it must start with http:// or https://".to_owned(),
            ));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(TargetError::Address(
                format!("{}://…@{}", parsed.scheme(), parsed.host_str().unwrap_or_default()),
                "use the options for credentials".to_owned(),
            ));
        }
        let base = url.trim_end_matches('/').to_owned();
        let asks = parsed.scheme() == "https" && credentials.are_present();
        let credential_clients = asks.then(|| CredentialClients::at(&base, credentials)).transpose()?;
        Ok(Self {
            base,
            via: None,
            agent: None,
            client: client(url, credentials)?,
            authorization: authorization(credentials)?,
            credential_clients,
            backend_address: None,
            _backend: None,
            embedded: None,
            recording: None,
            recorded: None,
            logs: Logs::default(),
            features: Features::default(),
            timeout: DEFAULT_TIMEOUT,
            secrets: Arc::new(credentials.secrets()),
            audit: None,
        })
    }

    /// Sets the address at which the target's proxy reaches the suite's backend.
    pub fn with_backend(mut self, address: BackendAddress) -> Self {
        self.backend_address = Some(address);
        self
    }

    /// Sends requests through a proxy.
    pub fn via(mut self, url: &str) -> Self {
        self.via = Some(url.trim_end_matches('/').to_owned());
        self
    }

    /// Keeps a backend running as long as the target.
    pub fn owning_backend(mut self, backend: Backend) -> Self {
        self._backend = Some(Arc::new(backend));
        self
    }

    /// Returns a recorded run: a cassette, or a folder of them. Only recorded trials can be run.
    ///
    /// # Errors
    /// If it cannot be read, or has no trial.
    pub fn cassette(from: &Path) -> Result<Self, TargetError> {
        let recorded = Recorded::read(from)?;
        // Placeholder: every trial has a separate replayer.
        let mut target = Self::at("http://127.0.0.1", &Credentials::default())?;
        target.recorded = Some(Arc::new(recorded));
        Ok(target)
    }

    /// Records each trial as a cassette in a folder. `credentials` are those of the target.
    pub fn recorded_in(mut self, folder: &Path, profile: Profile, credentials: Credentials) -> Self {
        self.recording = Some(Arc::new(Recording {
            folder: folder.to_owned(),
            profile,
            credentials,
        }));
        self
    }

    /// Checks the responses of a trial against each other. Only objects whose names have the prefix `stem` are
    /// compared.
    pub fn audited(mut self, stem: &str) -> Self {
        self.audit = Some(Arc::new(Mutex::new(Audit::new(stem))));
        self
    }

    /// Returns the mismatches of the responses so far.
    pub fn violations(&self) -> Vec<Mismatch> {
        let audit = self.audit.as_ref();
        audit.map_or_else(Vec::new, |audit| {
            audit.lock().unwrap_or_else(PoisonError::into_inner).mismatches()
        })
    }

    /// Sets the time limit of a response.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Replaces credentials in a text by a placeholder.
    pub fn without_secrets(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| text.replace(secret.as_str(), "(redacted)");
        self.secrets.iter().fold(text.to_owned(), hide)
    }

    /// Whether it is a recorded run.
    pub fn is_recorded(&self) -> bool {
        self.recorded.is_some()
    }

    /// Returns the profile of a recorded run, if its cassette has one.
    pub fn profile(&self) -> Option<Profile> {
        self.recorded.as_ref()?.profile()
    }

    /// Returns the address at which the target's proxy reaches the suite's backend.
    pub fn backend_address(&self) -> Option<&BackendAddress> {
        self.backend_address.as_ref()
    }

    /// Returns the URL.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether the suite started it, or it is a recorded run.
    pub fn is_own(&self) -> bool {
        self.embedded.is_some() || self.recorded.is_some()
    }

    /// Returns a description for reports.
    pub fn description(&self) -> String {
        match (&self.embedded, &self.recorded) {
            (_, Some(recorded)) => format!("the cassette {}", recorded.from().display()),
            (Some(_), None) => format!("the simulator at {}", self.base),
            (None, None) => self.base.clone(),
        }
    }

    /// Starts a new, empty target of the same kind, if the suite started this one.
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

    /// Returns the version of the target, if it has one.
    pub async fn version(&self) -> Option<String> {
        if self.recorded.is_some() {
            return None;
        }
        let answer = self.send(&Request::get("/version")).await.ok()?;
        let version: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
        let version = version.get("gitVersion")?.as_str()?;
        Some(version.chars().take(MAX_VERSION).collect())
    }

    /// Checks that the target responds.
    ///
    /// # Errors
    /// If it does not respond.
    pub async fn check_reachable(&self) -> Result<(), TargetError> {
        if self.recorded.is_some() {
            return Ok(());
        }
        self.send(&Request::get("/api")).await.map(drop)
    }

    /// Sends a request and reads the complete response. A request that gets 429 is sent again.
    ///
    /// # Errors
    /// If no complete response of acceptable size came in time.
    pub async fn send(&self, request: &Request) -> Result<Answer, TargetError> {
        let (retries, longest) = RETRIES;
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

    /// Sends a request and reads the head of the response.
    ///
    /// # Errors
    /// If no head came in time.
    pub async fn open(&self, request: &Request) -> Result<Stream, TargetError> {
        let named = format!("{} {}", request.method, request.target());
        Self::head(self.prepare(request), &named, self.timeout)
            .await
            .map(|response| Stream::of(response, named))
    }

    /// Builds the HTTP request, with credentials.
    fn prepare(&self, request: &Request) -> reqwest::RequestBuilder {
        let listener = request.credential.and_then(|credential| {
            self.credential_clients
                .as_ref()
                .and_then(|credential_clients| Some((credential_clients, credential_clients.client_for(credential)?)))
        });
        let (base, client, authorization) = match listener {
            Some((credential_clients, client_for)) => {
                (&credential_clients.base, &client_for.client, &client_for.authorization)
            }
            None => (
                self.via.as_ref().unwrap_or(&self.base),
                &self.client,
                &self.authorization,
            ),
        };
        let mut builder = client.request(request.method.clone(), format!("{base}{}", request.target()));
        if let Some(agent) = &self.agent {
            builder = builder.header(USER_AGENT, agent);
        }
        if let Some(authorization) = authorization {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        if let Some(accept) = &request.accept {
            builder = builder.header(ACCEPT, accept);
        }
        if let Some(content_type) = &request.content_type {
            builder = builder.header(CONTENT_TYPE, content_type);
        }
        let chunked = |(name, _): &&(String, String)| name.eq_ignore_ascii_case(TRANSFER_ENCODING.as_str());
        for (name, value) in request.headers.iter().filter(|header| !chunked(header)) {
            builder = builder.header(name, value);
        }
        match &request.body {
            Some(body) if request.headers.iter().any(|header| chunked(&header)) => builder.body(chunked_body(body)),
            Some(body) => builder.body(body.clone()),
            None => builder,
        }
    }

    async fn head(
        builder: reqwest::RequestBuilder,
        named: &str,
        timeout: Duration,
    ) -> Result<reqwest::Response, TargetError> {
        match tokio::time::timeout(timeout, builder.send()).await {
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

/// Returns a body that is sent in chunks, without a length.
fn chunked_body(body: &bytes::Bytes) -> reqwest::Body {
    let chunks: Vec<_> = body
        .chunks(CHUNK_BYTES)
        .map(|piece| Ok::<_, std::convert::Infallible>(body.slice_ref(piece)))
        .collect();
    reqwest::Body::wrap_stream(futures::stream::iter(chunks))
}

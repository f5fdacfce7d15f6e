//! Calls to the members of an etcd cluster.
//!
//! - A call goes to one member. The next call goes to the next one if a member does not answer.
//! - A call has a time limit. It fails either with what etcd refused, or without an answer: then it may have been carried out.

use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::uri::PathAndQuery;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};
use tonic::{
    Code, Request, Status, Streaming,
    client::Grpc,
    metadata::{Ascii, MetadataValue},
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

use super::{
    message::{
        AuthenticateRequest, AuthenticateResponse, LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest,
        LeaseKeepAliveResponse, LeaseRevokeRequest, LeaseRevokeResponse, RangeRequest, RangeResponse, TxnRequest,
        TxnResponse, WatchCreateRequest, WatchRequest, WatchResponse,
    },
    settings::{Etcd, EtcdError},
};

/// Longest wait for one member.
const ATTEMPT: Duration = Duration::from_secs(2);
/// Longest wait for any member.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);
/// Pause before another member is tried.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(1);
/// Time between two pings. etcd closes connections with more than one in five seconds.
const PING: Duration = Duration::from_secs(6);
/// Most bytes of a message from etcd.
const LARGEST: usize = 1 << 30;

/// Why a call failed.
#[derive(Clone, Debug)]
pub(super) enum CallError {
    /// The call did not reach a member: it was not carried out.
    NotSent(String),
    /// There was no answer: it may have been carried out.
    NoAnswer(String),
    /// etcd refused it.
    Refused(String),
    /// The revision is no longer in etcd's history.
    Compacted,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(why) | Self::NoAnswer(why) | Self::Refused(why) => f.write_str(why),
            Self::Compacted => f.write_str("the revision has been compacted"),
        }
    }
}

impl CallError {
    /// Whether another member may answer.
    pub(super) fn is_temporary(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::NoAnswer(_))
    }

    fn of(member: &str, status: &Status) -> Self {
        let text = format!("{member}: {}", described(status));
        match status.code() {
            Code::OutOfRange => Self::Compacted,
            Code::Unavailable if is_connect_error(status) => Self::NotSent(text),
            Code::Unavailable | Code::Unknown | Code::Cancelled | Code::DeadlineExceeded | Code::Internal => {
                Self::NoAnswer(text)
            }
            _ => Self::Refused(text),
        }
    }
}

/// The message of a status and of what caused it.
fn described(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// Whether a connection could not be made.
fn is_connect_error(status: &Status) -> bool {
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        if error.to_string().contains("tcp connect error") {
            return true;
        }
        source = error.source();
    }
    false
}

/// A member.
struct Member {
    url: String,
    channel: Channel,
}

/// The members of a cluster.
pub(super) struct Client {
    members: Vec<Member>,
    /// The member that is called.
    current: AtomicUsize,
    user: Option<(String, String)>,
    token: Mutex<Option<MetadataValue<Ascii>>>,
}

impl Client {
    /// A client that connects when it is first used. Needs a running tokio runtime.
    pub(super) fn new(settings: &Etcd) -> Result<Self, EtcdError> {
        let mut members = Vec::new();
        for url in &settings.endpoints {
            let wrong = |why: &dyn fmt::Display| EtcdError::Settings(format!("{url:?} is no URL of a member: {why}"));
            let is_secure = url.starts_with("https://");
            if !is_secure && !url.starts_with("http://") {
                return Err(wrong(&"it begins with neither http:// nor https://"));
            }
            let mut endpoint = Endpoint::from_shared(url.clone())
                .map_err(|error| wrong(&error))?
                .connect_timeout(CONNECT)
                .tcp_nodelay(true)
                .http2_keep_alive_interval(PING)
                .keep_alive_timeout(ATTEMPT)
                .keep_alive_while_idle(true);
            if is_secure {
                let tls = settings.tls()?;
                endpoint = endpoint.tls_config(tls).map_err(|error| wrong(&error))?;
            }
            members.push(Member {
                url: url.clone(),
                channel: endpoint.connect_lazy(),
            });
        }
        if members.is_empty() {
            return Err(EtcdError::Settings("there is no URL of a member".to_owned()));
        }
        Ok(Self {
            members,
            current: AtomicUsize::new(0),
            user: settings.user.clone(),
            token: Mutex::default(),
        })
    }

    /// The number of the member that is called.
    pub(super) fn member(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// Calls the next member from now on, unless that was done since `member` was called.
    pub(super) fn leave(&self, member: usize) {
        let next = (member + 1) % self.members.len();
        // Whoever was first has done it.
        let _ = self
            .current
            .compare_exchange(member, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn service(&self) -> (&str, Grpc<Channel>) {
        let member = &self.members[self.member() % self.members.len()];
        let service = Grpc::new(member.channel.clone()).max_decoding_message_size(LARGEST);
        (&member.url, service)
    }

    /// Calls the current member once.
    async fn once<A, B>(&self, path: &'static str, message: A) -> Result<B, CallError>
    where
        A: prost::Message + 'static,
        B: prost::Message + Default + 'static,
    {
        let (member, mut service) = self.service();
        let mut request = Request::new(message);
        if let Some(token) = self.token.lock().clone() {
            request.metadata_mut().insert("authorization", token);
        }
        let call = async {
            service
                .ready()
                .await
                .map_err(|error| Status::from_error(Box::new(error)))?;
            let codec = ProstCodec::<A, B>::default();
            service.unary(request, PathAndQuery::from_static(path), codec).await
        };
        match timeout(ATTEMPT, call).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) if status.code() == Code::Unauthenticated => {
                *self.token.lock() = None;
                Err(CallError::NotSent(format!("{member}: {}", described(&status))))
            }
            Ok(Err(status)) => Err(CallError::of(member, &status)),
            Err(_) => Err(CallError::NoAnswer(format!("{member}: no answer within {ATTEMPT:?}"))),
        }
    }

    /// The same with the token of the user.
    async fn authenticated<A, B>(&self, path: &'static str, message: A) -> Result<B, CallError>
    where
        A: prost::Message + 'static,
        B: prost::Message + Default + 'static,
    {
        if let Some((name, password)) = &self.user
            && self.token.lock().is_none()
        {
            let request = AuthenticateRequest {
                name: name.clone(),
                password: password.clone(),
            };
            let answer = self.once("/etcdserverpb.Auth/Authenticate", request).await;
            let answer: AuthenticateResponse = answer.map_err(|error| match error {
                CallError::NoAnswer(why) => CallError::NotSent(why),
                other => other,
            })?;
            *self.token.lock() = answer.token.parse().ok();
        }
        self.once(path, message).await
    }

    /// Calls members until one answers, for what may be carried out twice.
    async fn repeated<A, B>(&self, path: &'static str, message: A) -> Result<B, CallError>
    where
        A: prost::Message + Clone + 'static,
        B: prost::Message + Default + 'static,
    {
        let end = Instant::now() + DEADLINE;
        loop {
            let member = self.member();
            match self.authenticated(path, message.clone()).await {
                Err(error) if error.is_temporary() && Instant::now() < end => {
                    self.leave(member);
                    sleep(PAUSE).await;
                }
                other => return other,
            }
        }
    }

    /// Reads keys. A read of the latest revision has every write that was acknowledged before it.
    pub(super) async fn range(&self, request: RangeRequest) -> Result<RangeResponse, CallError> {
        self.repeated("/etcdserverpb.KV/Range", request).await
    }

    /// Carries out a transaction, which may be carried out twice.
    pub(super) async fn repeated_transaction(&self, request: TxnRequest) -> Result<TxnResponse, CallError> {
        self.repeated("/etcdserverpb.KV/Txn", request).await
    }

    /// Asks the current member to carry out a transaction.
    pub(super) async fn transaction(&self, request: TxnRequest) -> Result<TxnResponse, CallError> {
        self.authenticated("/etcdserverpb.KV/Txn", request).await
    }

    /// Makes a lease of this many seconds.
    pub(super) async fn grant(&self, seconds: i64) -> Result<LeaseGrantResponse, CallError> {
        let request = LeaseGrantRequest { ttl: seconds };
        self.repeated("/etcdserverpb.Lease/LeaseGrant", request).await
    }

    /// Ends a lease, and with it the keys that have it.
    pub(super) async fn revoke(&self, id: i64) -> Result<(), CallError> {
        let request = LeaseRevokeRequest { id };
        let done: Result<LeaseRevokeResponse, _> = self.authenticated("/etcdserverpb.Lease/LeaseRevoke", request).await;
        done.map(drop)
    }

    /// Renews a lease; returns the seconds that it has left.
    pub(super) async fn keep_alive(&self, id: i64) -> Result<i64, CallError> {
        let path = "/etcdserverpb.Lease/LeaseKeepAlive";
        let call = async {
            let mut answers = self.stream(path, LeaseKeepAliveRequest { id }).await?;
            Ok::<_, CallError>(answers.message().await)
        };
        let answer: Option<LeaseKeepAliveResponse> = match timeout(ATTEMPT, call).await {
            Ok(answered) => answered?.map_err(|status| CallError::NoAnswer(described(&status)))?,
            Err(_) => return Err(CallError::NoAnswer(format!("no answer within {ATTEMPT:?}"))),
        };
        Ok(answer.map_or(0, |answer| answer.ttl))
    }

    /// Watches the keys from `key` to `range_end`, from a revision on.
    pub(super) async fn watch(
        &self,
        key: Bytes,
        range_end: Bytes,
        start_revision: i64,
    ) -> Result<Streaming<WatchResponse>, CallError> {
        let create = WatchCreateRequest {
            key,
            range_end,
            start_revision,
        };
        let request = WatchRequest { create: Some(create) };
        let call = self.stream("/etcdserverpb.Watch/Watch", request);
        match timeout(ATTEMPT, call).await {
            Ok(stream) => stream,
            Err(_) => Err(CallError::NoAnswer(format!("no answer within {ATTEMPT:?}"))),
        }
    }

    /// Sends one message, and leaves the stream of requests open.
    async fn stream<A, B>(&self, path: &'static str, message: A) -> Result<Streaming<B>, CallError>
    where
        A: prost::Message + 'static,
        B: prost::Message + Default + 'static,
    {
        let (member, mut service) = self.service();
        let mut request = Request::new(stream::iter([message]).chain(stream::pending()));
        // A member without a leader ends the stream.
        request
            .metadata_mut()
            .insert("hasleader", MetadataValue::from_static("true"));
        if let Some(token) = self.token.lock().clone() {
            request.metadata_mut().insert("authorization", token);
        }
        let failed = |status: Status| {
            if status.code() == Code::Unauthenticated {
                *self.token.lock() = None;
            }
            CallError::of(member, &status)
        };
        let ready = service.ready().await;
        ready.map_err(|error| failed(Status::from_error(Box::new(error))))?;
        let codec = ProstCodec::<A, B>::default();
        let response = service
            .streaming(request, PathAndQuery::from_static(path), codec)
            .await
            .map_err(failed)?;
        Ok(response.into_inner())
    }
}

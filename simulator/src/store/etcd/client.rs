//! Client of an etcd cluster.
//!
//! - A call goes to one member. If that member does not answer, the next call goes to the next member.
//! - A call has a timeout. It fails either with etcd's error, or without an answer: then etcd may have executed it.

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

/// Timeout of a call to one member.
const MEMBER_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of a call over all attempts.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before the next attempt.
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// Timeout of connecting to a member.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Time between two keep-alive pings. etcd closes a connection with more than one ping in five seconds.
const PING_INTERVAL: Duration = Duration::from_secs(6);
/// Maximum size of a message from etcd, in bytes.
const MAX_MESSAGE_BYTES: usize = 1 << 30;

/// Error of a call.
#[derive(Clone, Debug)]
pub(super) enum CallError {
    /// The call did not reach a member: it was not executed.
    NotSent(String),
    /// There was no answer: the call may have been executed.
    NoAnswer(String),
    /// etcd returned an error.
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
    /// Whether another attempt may succeed.
    pub(super) fn is_temporary(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::NoAnswer(_))
    }

    fn of(member: &str, status: &Status) -> Self {
        let text = format!("{member}: {}", describe(status));
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

/// Message of a status and of its causes.
fn describe(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// Whether the error is that of a connection attempt.
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

/// Member of a cluster.
struct Member {
    url: String,
    channel: Channel,
}

/// Client of the members of a cluster.
pub(super) struct Client {
    members: Vec<Member>,
    /// Index of the current member.
    current: AtomicUsize,
    user: Option<(String, String)>,
    token: Mutex<Option<MetadataValue<Ascii>>>,
}

impl Client {
    /// Creates a client that connects on first use. Needs a running tokio runtime.
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
                .connect_timeout(CONNECT_TIMEOUT)
                .tcp_nodelay(true)
                .http2_keep_alive_interval(PING_INTERVAL)
                .keep_alive_timeout(MEMBER_TIMEOUT)
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

    /// Index of the current member.
    pub(super) fn member(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// Switches to the next member, unless another call has done so since `member` was current.
    pub(super) fn switch_member(&self, member: usize) {
        let next = (member + 1) % self.members.len();
        // Another call may have switched first.
        let _ = self
            .current
            .compare_exchange(member, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn service(&self) -> (&str, Grpc<Channel>) {
        let member = &self.members[self.member() % self.members.len()];
        let service = Grpc::new(member.channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
        (&member.url, service)
    }

    /// Calls the current member once.
    async fn call_once<A, B>(&self, path: &'static str, message: A) -> Result<B, CallError>
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
        match timeout(MEMBER_TIMEOUT, call).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) if status.code() == Code::Unauthenticated => {
                *self.token.lock() = None;
                Err(CallError::NotSent(format!("{member}: {}", describe(&status))))
            }
            Ok(Err(status)) => Err(CallError::of(member, &status)),
            Err(_) => Err(CallError::NoAnswer(format!(
                "{member}: no answer within {MEMBER_TIMEOUT:?}"
            ))),
        }
    }

    /// Calls the current member with a token, after authenticating if necessary.
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
            let answer = self.call_once("/etcdserverpb.Auth/Authenticate", request).await;
            let answer: AuthenticateResponse = answer.map_err(|error| match error {
                CallError::NoAnswer(why) => CallError::NotSent(why),
                other => other,
            })?;
            *self.token.lock() = answer.token.parse().ok();
        }
        self.call_once(path, message).await
    }

    /// Calls members until one answers. Only for idempotent calls.
    async fn call_with_retries<A, B>(&self, path: &'static str, message: A) -> Result<B, CallError>
    where
        A: prost::Message + Clone + 'static,
        B: prost::Message + Default + 'static,
    {
        let end = Instant::now() + CALL_TIMEOUT;
        loop {
            let member = self.member();
            match self.authenticated(path, message.clone()).await {
                Err(error) if error.is_temporary() && Instant::now() < end => {
                    self.switch_member(member);
                    sleep(RETRY_PAUSE).await;
                }
                other => return other,
            }
        }
    }

    /// Reads keys. A read of the latest revision is linearizable.
    pub(super) async fn range(&self, request: RangeRequest) -> Result<RangeResponse, CallError> {
        self.call_with_retries("/etcdserverpb.KV/Range", request).await
    }

    /// Executes an idempotent transaction, with retries.
    pub(super) async fn idempotent_transaction(&self, request: TxnRequest) -> Result<TxnResponse, CallError> {
        self.call_with_retries("/etcdserverpb.KV/Txn", request).await
    }

    /// Executes a transaction on the current member, without retries.
    pub(super) async fn transaction(&self, request: TxnRequest) -> Result<TxnResponse, CallError> {
        self.authenticated("/etcdserverpb.KV/Txn", request).await
    }

    /// Grants a lease with this time to live, in seconds.
    pub(super) async fn grant(&self, seconds: i64) -> Result<LeaseGrantResponse, CallError> {
        let request = LeaseGrantRequest { ttl: seconds };
        self.call_with_retries("/etcdserverpb.Lease/LeaseGrant", request).await
    }

    /// Revokes a lease, which deletes its keys.
    pub(super) async fn revoke(&self, id: i64) -> Result<(), CallError> {
        let request = LeaseRevokeRequest { id };
        let done: Result<LeaseRevokeResponse, _> = self.authenticated("/etcdserverpb.Lease/LeaseRevoke", request).await;
        done.map(drop)
    }

    /// Renews a lease. Returns its time to live in seconds.
    pub(super) async fn keep_alive(&self, id: i64) -> Result<i64, CallError> {
        let path = "/etcdserverpb.Lease/LeaseKeepAlive";
        let call = async {
            let mut answers = self.stream(path, LeaseKeepAliveRequest { id }).await?;
            Ok::<_, CallError>(answers.message().await)
        };
        let answer: Option<LeaseKeepAliveResponse> = match timeout(MEMBER_TIMEOUT, call).await {
            Ok(answered) => answered?.map_err(|status| CallError::NoAnswer(describe(&status)))?,
            Err(_) => return Err(CallError::NoAnswer(format!("no answer within {MEMBER_TIMEOUT:?}"))),
        };
        Ok(answer.map_or(0, |answer| answer.ttl))
    }

    /// Watches the keys from `key` to `range_end`, starting at a revision.
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
        match timeout(MEMBER_TIMEOUT, call).await {
            Ok(stream) => stream,
            Err(_) => Err(CallError::NoAnswer(format!("no answer within {MEMBER_TIMEOUT:?}"))),
        }
    }

    /// Sends one message and keeps the request stream open.
    async fn stream<A, B>(&self, path: &'static str, message: A) -> Result<Streaming<B>, CallError>
    where
        A: prost::Message + 'static,
        B: prost::Message + Default + 'static,
    {
        let (member, mut service) = self.service();
        let mut request = Request::new(stream::iter([message]).chain(stream::pending()));
        // With this header, a member that has lost its leader ends the stream.
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

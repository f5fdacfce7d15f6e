//! A proxy that alters some of the traffic.

use std::{
    collections::{BTreeSet, HashMap},
    net::SocketAddr,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode,
    header::{CONNECTION, Entry, SEC_WEBSOCKET_PROTOCOL, UPGRADE},
};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};

use crate::{
    alter::alter,
    answer::{altered_body, keep, replaced},
    memory::Memory,
    mutant::{Answer, Ask, Mutant},
    request::{ForwardedRequest, altered, one_of_each},
    socket, spdy,
    stream::{live, stream},
    when::When,
};

pub(crate) type Body = BoxBody<Bytes, ProxyError>;
/// Hop-by-hop headers, which are not forwarded.
const HOP_BY_HOP: [&str; 3] = ["transfer-encoding", "content-length", "connection"];

pub(crate) type ProxyError = Box<dyn std::error::Error + Send + Sync>;

/// One client for all proxies, for plain HTTP only.
pub(crate) static CLIENT: LazyLock<reqwest::Result<reqwest::Client>> = LazyLock::new(|| {
    // Even a client for plain HTTP needs a TLS provider. Fails if the same one is already installed.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]);
    client.redirect(reqwest::redirect::Policy::none()).build()
});

/// A proxy in front of a server. Dropping it stops it.
pub(crate) struct Proxy {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub(crate) struct Mutator {
    pub(crate) upstream: String,
    mutant: Option<Mutant>,
    pub(crate) client: reqwest::Client,
    /// The last response body of each request.
    earlier: Mutex<HashMap<String, Bytes>>,
    pub(crate) memory: Memory,
    /// Number of requests that matched.
    matched: AtomicUsize,
    /// Number of requests in progress by method and path.
    open: Mutex<HashMap<String, usize>>,
}

impl Proxy {
    /// Starts a proxy that alters traffic as the mutant says; without a mutant it alters nothing.
    pub(crate) async fn before(upstream: &str, mutant: Option<Mutant>) -> Result<Self, ProxyError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let mutator = Arc::new(Mutator {
            upstream: upstream.to_owned(),
            mutant,
            client: CLIENT.as_ref().map_err(|error| error.to_string())?.clone(),
            earlier: Mutex::default(),
            memory: Memory::default(),
            matched: AtomicUsize::new(0),
            open: Mutex::default(),
        });
        let serving = tokio::spawn(async move {
            // Connections are closed with the proxy: clients keep idle ones open.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                let mutator = Arc::clone(&mutator);
                let service = service_fn(move |request| {
                    let mutator = Arc::clone(&mutator);
                    async move { mutator.pass(request).await }
                });
                let connection =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                connections.spawn(connection.with_upgrades());
            }
        });
        Ok(Self { address, serving })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// A response with its whole body.
struct BufferedResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Mutator {
    async fn pass(&self, request: Request<Incoming>) -> Result<Response<Body>, ProxyError> {
        let key = format!("{} {}", request.method(), request.uri().path());
        let concurrent = {
            let mut open = self.open.lock().unwrap();
            let count = open.entry(key.clone()).or_default();
            *count += 1;
            *count > 1
        };
        let response = self.pass_one(request, concurrent).await;
        if let Some(count) = self.open.lock().unwrap().get_mut(&key) {
            *count -= 1;
        }
        response
    }

    async fn pass_one(&self, mut request: Request<Incoming>, concurrent: bool) -> Result<Response<Body>, ProxyError> {
        let upgrading = request
            .headers()
            .contains_key(UPGRADE)
            .then(|| hyper::upgrade::on(&mut request));
        let (parts, body) = request.into_parts();
        let sent = parts.uri.query().map(str::to_owned);
        let text = sent.as_deref().unwrap_or_default().as_bytes();
        let query: Vec<(String, String)> = url::form_urlencoded::parse(text).into_owned().collect();
        let mut forwarded = ForwardedRequest {
            method: parts.method,
            path: parts.uri.path().to_owned(),
            query: query.clone(),
            sent: (sent, query),
            headers: parts.headers,
            body: body.collect().await?.to_bytes(),
        };
        let names: BTreeSet<String> = forwarded.query.iter().map(|(name, _)| name.clone()).collect();
        let watch = names.contains("watch") || forwarded.path.contains("/watch/");
        let key = format!("{} {} {:?}", forwarded.method, forwarded.path, forwarded.query);
        let matches = |mutant: &Mutant| mutant.when.matches(forwarded.method.as_str(), &forwarded.path, &names);
        let stars = self.mutant.as_ref().and_then(matches);
        let mutant = self.mutant.as_ref().filter(|mutant| {
            stars.is_some()
                && (concurrent || !mutant.when.concurrent)
                && mutant.when.matches_query(&forwarded.query)
                && mutant.when.matches_content(&forwarded.headers, &forwarded.body)
                && self.is_next(&mutant.when)
        });
        forwarded.headers.remove("host");
        forwarded.headers.remove("content-length");
        if forwarded.headers.contains_key("origin") {
            forwarded.headers.insert("origin", self.upstream.parse()?);
        }
        if let Some(client) = upgrading {
            return self
                .upgraded(forwarded, client, mutant, stars.unwrap_or_default())
                .await;
        }
        let Some(mutant) = mutant else {
            let answer = self.request(&forwarded)?.send().await?;
            return self.answered(&forwarded, answer, None, watch, key).await;
        };
        let before = match mutant.ask.undo {
            true => Some(self.current(&forwarded).await?),
            false => None,
        };
        if mutant.ask.elsewhere
            && let Some(path) = self.memory.elsewhere(&forwarded.path)
        {
            forwarded.path = path;
        }
        if mutant.ask.deletes_one {
            self.first_of(&mut forwarded).await?;
        }
        altered(&mut forwarded, &mutant.ask, stars.unwrap_or_default())?;
        let answer = self.send_altered(&forwarded, &mutant.ask).await?;
        for beside in mutant
            .ask
            .besides
            .iter()
            .filter(|_| mutant.when.answers(answer.status()))
        {
            self.send_extra(&forwarded, beside).await?;
        }
        if let Some(before) = before.filter(|_| answer.status().is_success() && mutant.when.answers(answer.status())) {
            let (status, headers) = (answer.status(), answer.headers().clone());
            let body = answer.bytes().await?;
            self.undo(&forwarded, &before, &body).await?;
            return Ok(head(status, &headers, None).body(whole(body))?);
        }
        let mutant = Some(mutant).filter(|mutant| mutant.when.answers(answer.status()));
        self.answered(&forwarded, answer, mutant, watch, key).await
    }

    /// Forwards a request that upgrades the connection to WebSocket or SPDY.
    async fn upgraded(
        &self,
        mut forwarded: ForwardedRequest,
        client: hyper::upgrade::OnUpgrade,
        mutant: Option<&Mutant>,
        stars: Vec<String>,
    ) -> Result<Response<Body>, ProxyError> {
        if let Some(mutant) = mutant {
            altered(&mut forwarded, &mutant.ask, stars)?;
        }
        let answer = self.request(&forwarded)?.send().await?;
        let mutant = mutant.filter(|mutant| mutant.when.answers(answer.status()));
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return self.answered(&forwarded, answer, mutant, false, String::new()).await;
        }
        let (status, headers) = (answer.status(), answer.headers().clone());
        let response = head(status, &headers, mutant).header(CONNECTION, "Upgrade");
        let protocol = headers
            .get(SEC_WEBSOCKET_PROTOCOL)
            .and_then(|value| value.to_str().ok());
        let base64 = protocol.is_some_and(|protocol| protocol.ends_with("base64.channel.k8s.io"));
        let is_spdy = headers.get(UPGRADE).is_some_and(|protocol| protocol == "SPDY/3.1");
        let server = answer.upgrade().await?;
        let mutant = mutant.cloned().unwrap_or_default();
        tokio::spawn(async move {
            if is_spdy {
                spdy::pass(TokioIo::new(client.await?), server, &mutant.messages).await
            } else {
                socket::pass(client, server, mutant, base64).await
            }
        });
        Ok(response.body(whole(Bytes::new()))?)
    }

    pub(crate) fn request(&self, forwarded: &ForwardedRequest) -> Result<reqwest::RequestBuilder, ProxyError> {
        let request = self
            .client
            .request(forwarded.method.clone(), forwarded.url(&self.upstream)?);
        Ok(request.headers(forwarded.headers.clone()).body(forwarded.body.clone()))
    }

    /// Sends a request and the additional requests of the mutant.
    async fn send_altered(&self, forwarded: &ForwardedRequest, ask: &Ask) -> Result<reqwest::Response, ProxyError> {
        let (request, url) = (self.request(forwarded)?, forwarded.url(&self.upstream)?);
        if let Some(late) = ask.late.map(Duration::from_millis) {
            tokio::spawn(async move {
                tokio::time::sleep(late).await;
                request.send().await
            });
            return Ok(self.client.get(url).send().await?);
        }
        let answer = request.send().await?;
        if ask.twice && answer.status().is_success() {
            let again = self.request(forwarded)?.send().await?;
            return Ok(if again.status().is_success() { again } else { answer });
        }
        if let Some(subresource) = &ask.also {
            let mut of_subresource = url.clone();
            of_subresource.set_path(&format!("{}/{subresource}", url.path()));
            // The first write has changed the resource version.
            let mut object: Value = serde_json::from_slice(&forwarded.body).unwrap_or_default();
            alter(
                &mut object,
                &Default::default(),
                &["/metadata/resourceVersion".to_owned()],
            );
            let request = self.client.put(of_subresource).headers(forwarded.headers.clone());
            request.body(object.to_string()).send().await?;
            return Ok(self.client.get(url).send().await?);
        }
        if answer.status().is_success() {
            self.spread(forwarded, ask).await?;
        }
        Ok(answer)
    }

    /// Changes a request for a collection to one for its first object.
    async fn first_of(&self, forwarded: &mut ForwardedRequest) -> Result<(), ProxyError> {
        let list = self
            .client
            .get(forwarded.url(&self.upstream)?)
            .send()
            .await?
            .bytes()
            .await?;
        let list: Value = serde_json::from_slice(&list).unwrap_or_default();
        if let Some(name) = list.pointer("/items/0/metadata/name").and_then(Value::as_str) {
            forwarded.path = format!("{}/{name}", forwarded.path);
            forwarded.query.clear();
        }
        Ok(())
    }

    /// Turns a refusal into a success with the object that was sent or, for a patch, the current object.
    async fn accepted(&self, forwarded: &ForwardedRequest, answered: &mut BufferedResponse) -> Result<(), ProxyError> {
        answered.status = StatusCode::OK;
        answered.headers.insert("content-type", "application/json".parse()?);
        answered.body = match forwarded.method {
            Method::PATCH => {
                let url = format!("{}{}", self.upstream, forwarded.path);
                self.client.get(url).send().await?.bytes().await?
            }
            _ => forwarded.body.clone(),
        };
        Ok(())
    }

    /// Whether this matching request is altered, by its number.
    fn is_next(&self, when: &When) -> bool {
        if when.every.is_none() && when.nth.is_none() && when.after.is_none() {
            return true;
        }
        let number = self.matched.fetch_add(1, Ordering::Relaxed) + 1;
        when.every.is_none_or(|every| number.is_multiple_of(every))
            && when.nth.is_none_or(|nth| number == nth)
            && when.after.is_none_or(|after| number > after)
    }

    async fn answered(
        &self,
        forwarded: &ForwardedRequest,
        answer: reqwest::Response,
        mutant: Option<&Mutant>,
        watch: bool,
        key: String,
    ) -> Result<Response<Body>, ProxyError> {
        if watch && answer.status().is_success() {
            let response = head(answer.status(), answer.headers(), mutant);
            let stream_of = mutant.map(|mutant| mutant.stream.clone()).unwrap_or_default();
            return Ok(response.body(stream(answer, stream_of))?);
        }
        // A body without a length is streamed, unless it is altered.
        let body_is_altered = mutant.is_some_and(|mutant| mutant.answer.is_of_body() || mutant.stream.buffered);
        if forwarded.method == Method::GET && answer.content_length().is_none() && !body_is_altered {
            let endless = mutant.is_some_and(|mutant| mutant.stream.endless);
            return Ok(head(answer.status(), answer.headers(), mutant).body(live(answer, endless))?);
        }
        let mut answered = BufferedResponse {
            status: answer.status(),
            headers: answer.headers().clone(),
            body: answer.bytes().await?,
        };
        if answered.status.is_success() {
            match forwarded.method {
                Method::GET => {}
                Method::DELETE => self.memory.deleted(&forwarded.path),
                _ => self.memory.written(forwarded, &answered.body),
            }
        }
        let mutant = mutant.filter(|mutant| mutant.answer.has(&answered.body));
        if let Some(mutant) = mutant {
            if mutant.ask.lose && answered.status.is_success() {
                self.lose(forwarded, &answered.body).await?;
            }
            if mutant.answer.stale {
                let mut earlier = self.earlier.lock().unwrap();
                let body = answered.body.clone();
                answered.body = earlier.insert(key, body.clone()).unwrap_or(body);
            }
            if mutant.answer.accept {
                self.accepted(forwarded, &mut answered).await?;
            }
            if !mutant.answer.keep.is_empty() {
                answered.body = keep(answered.body, &mutant.answer.keep, &forwarded.body);
            }
            answered.body = altered_body(answered.body, &mutant.answer, &forwarded.path, &self.memory);
        }
        let response = head(answered.status, &answered.headers, mutant);
        Ok(response.body(whole(answered.body))?)
    }
}

/// Returns a body of bytes.
fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed()
}

/// Returns the altered head of a response.
fn head(status: StatusCode, headers: &HeaderMap, mutant: Option<&Mutant>) -> http::response::Builder {
    let altered = mutant.map(|mutant| &mutant.answer);
    let mut headers = headers.clone();
    if let Some(altered) = altered {
        altered_headers(&mut headers, altered);
    }
    let mut response = Response::builder().status(status);
    if let Some(status) = altered.and_then(|altered| altered.status) {
        response = response.status(status);
    }
    for (name, value) in &headers {
        let passes = !HOP_BY_HOP.contains(&name.as_str())
            && altered.is_none_or(|altered| {
                !altered.without_headers.iter().any(|without| without == name.as_str())
                    && !altered.headers.contains_key(name.as_str())
                    && (altered.content_type.is_none() || name != "content-type")
            });
        if passes {
            response = response.header(name, value);
        }
    }
    for (name, value) in altered.into_iter().flat_map(|altered| &altered.headers) {
        response = response.header(name, value);
    }
    match altered.and_then(|altered| altered.content_type.as_deref()) {
        Some(other) if other != "none" => response.header("content-type", other),
        _ => response,
    }
}

/// Replaces texts in headers, or keeps one header per name.
fn altered_headers(headers: &mut HeaderMap, altered: &Answer) {
    for (name, texts) in &altered.header_replace {
        let Ok(Entry::Occupied(mut entry)) = headers.try_entry(name.as_str()) else {
            continue;
        };
        for value in entry.iter_mut() {
            if let Ok(other) = HeaderValue::from_bytes(&replaced(value.as_bytes(), texts)) {
                *value = other;
            }
        }
    }
    if altered.one_of_a_header {
        one_of_each(headers);
    }
}

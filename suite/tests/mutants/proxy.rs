//! A proxy that bends some of what passes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    alter::{alter, alter_leaf, first_requirement, replace, shift},
    mutant::{Answer, Ask, Mutant, has},
    stream::stream,
};

type Body = BoxBody<Bytes, Infallible>;
/// Headers of one connection.
const HOP_BY_HOP: [&str; 3] = ["transfer-encoding", "content-length", "connection"];

type Trouble = Box<dyn std::error::Error + Send + Sync>;

/// A proxy that stands before a server until it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

struct Mutator {
    upstream: String,
    mutant: Option<Mutant>,
    client: reqwest::Client,
    /// The last answer to each request.
    earlier: Mutex<HashMap<String, Bytes>>,
    /// How many requests could be altered.
    matched: AtomicUsize,
}

impl Proxy {
    /// Stands before a server and bends what the mutant says; nothing without one.
    pub(crate) async fn before(upstream: &str, mutant: Option<Mutant>) -> Result<Self, Trouble> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let mutator = Arc::new(Mutator {
            upstream: upstream.to_owned(),
            mutant,
            client,
            earlier: Mutex::default(),
            matched: AtomicUsize::new(0),
        });
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mutator = Arc::clone(&mutator);
                let service = service_fn(move |request| {
                    let mutator = Arc::clone(&mutator);
                    async move { mutator.pass(request).await }
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        Ok(Self { address, serving })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// A request on its way to the server.
struct Asked {
    method: http::Method,
    path: String,
    query: Vec<(String, String)>,
    /// The query as it was sent, and as it was read.
    sent: (Option<String>, Vec<(String, String)>),
    headers: http::HeaderMap,
    body: Bytes,
}

impl Mutator {
    async fn pass(&self, request: Request<Incoming>) -> Result<Response<Body>, Trouble> {
        let (head, body) = request.into_parts();
        let sent = head.uri.query().map(str::to_owned);
        let text = sent.as_deref().unwrap_or_default().as_bytes();
        let query: Vec<(String, String)> = url::form_urlencoded::parse(text).into_owned().collect();
        let mut asked = Asked {
            method: head.method,
            path: head.uri.path().to_owned(),
            query: query.clone(),
            sent: (sent, query),
            headers: head.headers,
            body: body.collect().await?.to_bytes(),
        };
        let names: BTreeSet<String> = asked.query.iter().map(|(name, _)| name.clone()).collect();
        let watch = names.contains("watch") || asked.path.contains("/watch/");
        let key = format!("{} {} {:?}", asked.method, asked.path, asked.query);
        let matches = |mutant: &Mutant| mutant.when.matches(asked.method.as_str(), &asked.path, &names);
        let stars = self.mutant.as_ref().and_then(matches);
        let mutant = self.mutant.as_ref().filter(|mutant| {
            stars.is_some()
                && mutant.when.matches_content(&asked.headers, &asked.body)
                && self.is_next(mutant.when.every)
        });
        asked.headers.remove("host");
        asked.headers.remove("content-length");
        if asked.headers.contains_key("origin") {
            asked.headers.insert("origin", self.upstream.parse()?);
        }
        let mut before = None;
        if let Some(mutant) = mutant {
            if mutant.ask.undo {
                before = Some(self.client.get(self.url(&asked)?).send().await?.bytes().await?);
            }
            altered(&mut asked, &mutant.ask, stars.unwrap_or_default())?;
        }
        let url = self.url(&asked)?;
        let request = self.client.request(asked.method.clone(), url.clone());
        let request = request.headers(asked.headers.clone()).body(asked.body.clone());
        let late = mutant.and_then(|mutant| mutant.ask.late);
        let mut answer = match late.map(Duration::from_millis) {
            Some(late) => {
                tokio::spawn(async move {
                    tokio::time::sleep(late).await;
                    request.send().await
                });
                self.client.get(url.clone()).send().await?
            }
            None => request.send().await?,
        };
        if let Some(subresource) = mutant.and_then(|mutant| mutant.ask.also.as_deref()) {
            let (object_url, mut url) = (url.clone(), url.clone());
            url.set_path(&format!("{}/{subresource}", url.path()));
            // The object's version has changed.
            let mut object: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
            alter(&mut object, &BTreeMap::new(), &["/metadata/resourceVersion".to_owned()]);
            let request = self.client.put(url).headers(asked.headers).body(object.to_string());
            request.send().await?;
            answer = self.client.get(object_url).send().await?;
        }
        let mutant = mutant.filter(|mutant| mutant.when.answers(answer.status().as_u16()));
        if let Some(before) = before.filter(|_| answer.status().is_success()) {
            return self.undone(url, &before, answer).await;
        }
        self.answered(answer, mutant, watch, key).await
    }

    /// Whether the request that could be altered is the next one to be.
    fn is_next(&self, every: Option<usize>) -> bool {
        every.is_none_or(|every| (self.matched.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(every))
    }

    /// The URL of a request.
    fn url(&self, asked: &Asked) -> Result<url::Url, Trouble> {
        let mut url = url::Url::parse(&format!("{}{}", self.upstream, asked.path))?;
        if asked.query == asked.sent.1 {
            url.set_query(asked.sent.0.as_deref());
        } else if !asked.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&asked.query);
        }
        Ok(url)
    }

    /// Undoes a write, and answers as the server answered it.
    async fn undone(
        &self,
        mut url: url::Url,
        before: &[u8],
        answer: reqwest::Response,
    ) -> Result<Response<Body>, Trouble> {
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = answer.bytes().await?;
        let mut object: Value = serde_json::from_slice(before)?;
        alter(&mut object, &BTreeMap::new(), &["/metadata/resourceVersion".to_owned()]);
        url.set_query(None);
        let put = self.client.put(url).header("content-type", "application/json");
        put.body(object.to_string()).send().await?;
        let mut response = Response::builder().status(status);
        if let Some(content_type) = headers.get("content-type") {
            response = response.header("content-type", content_type);
        }
        Ok(response.body(Full::new(body).boxed())?)
    }

    async fn answered(
        &self,
        answer: reqwest::Response,
        mutant: Option<&Mutant>,
        watch: bool,
        key: String,
    ) -> Result<Response<Body>, Trouble> {
        let mut response = Response::builder().status(answer.status());
        let altered = mutant.map(|mutant| &mutant.answer);
        if let Some(status) = altered.and_then(|altered| altered.status) {
            response = response.status(status);
        }
        for (name, value) in answer.headers() {
            let passes = !HOP_BY_HOP.contains(&name.as_str())
                && altered.is_none_or(|altered| {
                    !altered.without_headers.iter().any(|without| without == name.as_str())
                        && (altered.content_type.is_none() || name != "content-type")
                });
            if passes {
                response = response.header(name, value);
            }
        }
        if let Some(other) = altered
            .and_then(|altered| altered.content_type.as_deref())
            .filter(|t| *t != "none")
        {
            response = response.header("content-type", other);
        }
        if watch && answer.status().is_success() {
            let stream_of = mutant.map(|m| m.stream.clone()).unwrap_or_default();
            return Ok(response.body(stream(answer, stream_of))?);
        }
        let mut body = answer.bytes().await?;
        if let Some(altered) = altered {
            if altered.stale {
                let mut earlier = self.earlier.lock().unwrap();
                body = earlier.insert(key, body.clone()).unwrap_or(body);
            }
            body = altered_body(body, altered);
        }
        Ok(response.body(Full::new(body).boxed())?)
    }
}

/// Changes a request before the server is asked.
fn altered(asked: &mut Asked, ask: &Ask, stars: Vec<String>) -> Result<(), Trouble> {
    asked
        .query
        .retain(|(name, _)| !ask.without.contains(name) && !ask.query.contains_key(name));
    asked.query.extend(ask.query.clone());
    for (name, value) in &mut asked.query {
        for (from, to) in ask.query_replace.get(name).into_iter().flatten() {
            *value = value.replace(from, to);
        }
        if ask.first_requirement.contains(name) {
            *value = first_requirement(value);
        }
        if let (Some(by), Ok(number)) = (ask.query_shift.get(name), value.parse::<i64>()) {
            *value = (number + by).to_string();
        }
    }
    if ask.last_of_a_name {
        let names: Vec<String> = asked.query.iter().map(|(name, _)| name.clone()).collect();
        let mut index = 0;
        asked.query.retain(|(name, _)| {
            index += 1;
            !names[index..].contains(name)
        });
    }
    for header in ["accept", "authorization", "origin", "x-custom", "content-type"] {
        if ask.without.iter().any(|without| without == header) {
            asked.headers.remove(header);
        }
    }
    if let Some(pattern) = &ask.path {
        let mut stars = stars.into_iter();
        let segments = pattern.split('/').map(|segment| match segment {
            "*" => stars.next().unwrap_or_default(),
            segment => segment.to_owned(),
        });
        asked.path = segments.collect::<Vec<_>>().join("/");
    }
    other_path(asked, ask);
    if let Some(other) = &ask.method {
        asked.method = other.parse()?;
        asked.body = Bytes::new();
    }
    if ask.no_body {
        asked.body = Bytes::new();
    }
    if let Some(content_type) = &ask.content_type {
        asked.headers.insert("content-type", content_type.parse()?);
    }
    if ask.body_as_text {
        asked.body = String::from_utf8_lossy(&asked.body).into_owned().into();
    }
    if !ask.body_replace.is_empty() {
        asked.body = replaced(&asked.body, &ask.body_replace);
    }
    let alters_body = !ask.body_set.is_empty()
        || !ask.body_remove.is_empty()
        || !ask.body_shift.is_empty()
        || ask.body_leaf.is_some();
    if let Some(mut value) = serde_json::from_slice::<Value>(&asked.body)
        .ok()
        .filter(|_| alters_body)
    {
        alter(&mut value, &ask.body_set, &ask.body_remove);
        shift(&mut value, &ask.body_shift);
        if let Some(leaf) = &ask.body_leaf {
            alter_leaf(&mut value, leaf);
        }
        asked.body = value.to_string().into();
    }
    Ok(())
}

/// Asks for another path.
fn other_path(asked: &mut Asked, ask: &Ask) {
    if ask.no_query {
        asked.query.clear();
    }
    let mut segments: Vec<&str> = asked.path.split('/').collect();
    if ask.every_name {
        segments.pop();
    }
    if let Some(index) = segments
        .iter()
        .position(|segment| *segment == "namespaces")
        .filter(|_| ask.every_namespace)
    {
        segments.drain(index..index + 2);
    }
    let mut path = segments.join("/");
    for (from, to) in &ask.path_end {
        if let Some(rest) = path.strip_suffix(from.as_str()) {
            path = format!("{rest}{to}");
        }
    }
    asked.path = path;
}

/// The bytes of an answer with a fault.
fn altered_text(mut body: Bytes, altered: &Answer) -> Bytes {
    if let Some(length) = altered.truncate {
        body.truncate(length);
    }
    if !altered.as_text && altered.body_replace.is_empty() {
        return body;
    }
    replaced(&body, &altered.body_replace)
}

/// A text with texts in it replaced.
fn replaced(body: &[u8], texts: &BTreeMap<String, String>) -> Bytes {
    let mut text = String::from_utf8_lossy(body).into_owned();
    for (from, to) in texts {
        text = text.replace(from, to);
    }
    text.into()
}

/// The body of an answer with a fault, in the layout that it has without, unless that is the fault.
fn altered_body(body: Bytes, altered: &Answer) -> Bytes {
    if let Some(text) = &altered.text {
        return text.clone().into();
    }
    let body = altered_text(body, altered);
    let Ok(mut value) = serde_json::from_slice::<Value>(&body) else {
        return body;
    };
    if !altered.alters_value() && !altered.one_line && !altered.indent {
        return body;
    }
    alter(&mut value, &altered.set, &altered.remove);
    shift(&mut value, &altered.shift);
    replace(&mut value, &altered.replace);
    if let Some(leaf) = &altered.leaf {
        alter_leaf(&mut value, leaf);
    }
    if let Some(Value::Array(items)) = value.get_mut("items")
        && !items.is_empty()
    {
        if !altered.drop_items_with.is_empty() {
            items.retain(|item| !has(item, &altered.drop_items_with));
        }
        if altered.drop_items {
            items.remove(0);
        }
        if altered.drop_last_item {
            items.pop();
        }
        if altered.repeat_items {
            items.push(items[0].clone());
        }
    }
    let indented = (body.starts_with(b"{\n") || altered.indent) && !altered.one_line;
    match serde_json::to_vec_pretty(&value) {
        Ok(text) if indented => text.into(),
        _ => value.to_string().into(),
    }
}

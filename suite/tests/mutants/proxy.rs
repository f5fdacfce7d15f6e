//! A proxy that bends some of what passes.

use std::{collections::BTreeSet, convert::Infallible, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    body::{Frame, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle};

use crate::mutant::{Mutant, alter};

type Body = BoxBody<Bytes, Infallible>;
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
}

impl Proxy {
    /// Stands before a server and bends what the mutant says; nothing without one.
    pub(crate) async fn before(upstream: &str, mutant: Option<Mutant>) -> Result<Self, Trouble> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let client = reqwest::Client::builder().no_proxy().build()?;
        let mutator = Arc::new(Mutator {
            upstream: upstream.to_owned(),
            mutant,
            client,
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

impl Mutator {
    async fn pass(&self, request: Request<Incoming>) -> Result<Response<Body>, Trouble> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let (mut method, mut path) = (head.method, head.uri.path().to_owned());
        let mut query: Vec<(String, String)> =
            url::form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes())
                .into_owned()
                .collect();
        let names: BTreeSet<String> = query.iter().map(|(name, _)| name.clone()).collect();
        let stars = self
            .mutant
            .as_ref()
            .and_then(|mutant| mutant.when.matches(method.as_str(), &path, &names));
        let mutant = self.mutant.as_ref().filter(|_| stars.is_some());
        let (mut headers, mut body) = (head.headers, body);
        headers.remove("host");
        headers.remove("content-length");
        if let Some(ask) = mutant.map(|mutant| &mutant.ask) {
            query.retain(|(name, _)| !ask.without.contains(name) && !ask.query.contains_key(name));
            query.extend(ask.query.clone());
            for header in ["accept"]
                .into_iter()
                .filter(|name| ask.without.iter().any(|without| without == name))
            {
                headers.remove(header);
            }
            if let Some(pattern) = &ask.path {
                let mut stars = stars.clone().unwrap_or_default().into_iter();
                let segments = pattern.split('/').map(|segment| {
                    if segment == "*" {
                        stars.next().unwrap_or_default()
                    } else {
                        segment.to_owned()
                    }
                });
                path = segments.collect::<Vec<_>>().join("/");
            }
            if let Some(other) = &ask.method {
                method = other.parse()?;
                body = Bytes::new();
            }
            if let Some(content_type) = &ask.content_type {
                headers.insert("content-type", content_type.parse()?);
            }
            if let Ok(mut value) = serde_json::from_slice::<Value>(&body) {
                alter(&mut value, &ask.body_set, &[]);
                body = value.to_string().into();
            }
        }
        let mut url = url::Url::parse(&format!("{}{path}", self.upstream))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let answer = self
            .client
            .request(method, url)
            .headers(headers)
            .body(body)
            .send()
            .await?;
        self.answered(answer, mutant, names.contains("watch") || path.contains("/watch/"))
            .await
    }

    async fn answered(
        &self,
        answer: reqwest::Response,
        mutant: Option<&Mutant>,
        watch: bool,
    ) -> Result<Response<Body>, Trouble> {
        let mut response = Response::builder().status(answer.status());
        let mut content_type = answer
            .headers()
            .get("content-type")
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        if let Some(altered) = mutant.map(|mutant| &mutant.answer) {
            if let Some(status) = altered.status {
                response = response.status(status);
            }
            content_type = match altered.content_type.as_deref() {
                Some("none") => None,
                Some(other) => Some(other.to_owned()),
                None => content_type,
            };
        }
        if let Some(content_type) = content_type {
            response = response.header("content-type", content_type);
        }
        if watch && answer.status().is_success() {
            return Ok(response.body(stream(answer, mutant.map(|m| m.stream.clone()).unwrap_or_default()))?);
        }
        let mut body = answer.bytes().await?;
        if let Some(altered) = mutant.map(|mutant| &mutant.answer) {
            if let Ok(mut value) = serde_json::from_slice::<Value>(&body) {
                alter(&mut value, &altered.set, &altered.remove);
                if let Some(Value::Array(items)) = value.get_mut("items")
                    && !items.is_empty()
                {
                    if altered.drop_items {
                        items.remove(0);
                    }
                    if altered.repeat_items {
                        items.push(items[0].clone());
                    }
                }
                let changed = altered.one_line
                    || altered.drop_items
                    || altered.repeat_items
                    || !altered.set.is_empty()
                    || !altered.remove.is_empty();
                body = if changed { value.to_string().into() } else { body };
            }
            if let Some(text) = &altered.text {
                body = text.clone().into();
            }
        }
        Ok(response.body(Full::new(body).boxed())?)
    }
}

/// A stream of JSON values, altered one by one.
fn stream(mut answer: reqwest::Response, altered: crate::mutant::Stream) -> Body {
    let (sender, mut receiver) = mpsc::channel::<Bytes>(64);
    tokio::spawn(async move {
        let (mut unread, mut told, mut held) = (Vec::new(), 0, None);
        'open: while altered.cut.is_none_or(|cut| told < cut) {
            let chunk = tokio::select! {
                chunk = answer.chunk() => chunk,
                () = sender.closed() => return,
            };
            let Ok(Some(chunk)) = chunk else { break };
            unread.extend_from_slice(&chunk);
            let mut values = serde_json::Deserializer::from_slice(&unread).into_iter::<Value>();
            let mut whole = Vec::new();
            let mut read = 0;
            while let Some(Ok(value)) = values.next() {
                read = values.byte_offset();
                whole.push(value);
            }
            unread.drain(..read);
            for item in whole.into_iter().flat_map(|item| bent_item(item, &altered)) {
                let items = match (altered.swap, held.take()) {
                    (false, _) => vec![item],
                    (true, None) => {
                        held = Some(item);
                        continue;
                    }
                    (true, Some(first)) => vec![item, first],
                };
                for item in items {
                    if altered.cut.is_some_and(|cut| told >= cut)
                        || sender.send(format!("{item}\n").into()).await.is_err()
                    {
                        break 'open;
                    }
                    told += 1;
                }
            }
        }
        if altered.endless {
            sender.closed().await;
        }
    });
    let frames =
        futures::stream::poll_fn(move |context| receiver.poll_recv(context)).map(|bytes| Ok(Frame::data(bytes)));
    BodyExt::boxed(StreamBody::new(frames))
}

/// What becomes of one item.
fn bent_item(mut item: Value, altered: &crate::mutant::Stream) -> Vec<Value> {
    let event = item["type"].as_str().unwrap_or_default().to_owned();
    if altered.drop.as_ref() == Some(&event) {
        return Vec::new();
    }
    if let Some(other) = altered.rename.get(&event) {
        item["type"] = other.as_str().into();
    }
    alter(&mut item, &altered.set, &altered.remove);
    if altered.repeat.as_ref() == Some(&event) {
        vec![item.clone(), item]
    } else {
        vec![item]
    }
}

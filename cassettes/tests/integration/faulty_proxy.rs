//! A proxy that alters responses deterministically.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stuntdouble_cassettes::transport::{self, Body, Client, ConnectionClosed, Credentials, Handler, Server, Tasks};

/// A proxy that alters responses of a server.
pub(crate) struct FaultyProxy {
    client: Client,
    seed: u64,
    /// One of this many responses is altered.
    one_in: u64,
    asked: Mutex<HashMap<String, u64>>,
    /// The original of the last altered UID.
    uid: Mutex<Option<String>>,
}

/// The altered UID.
const ALTERED_UID: &str = "01234567-89ab-cdef-0123-456789abcdef";

impl FaultyProxy {
    /// Starts a proxy for the server at this URL.
    pub(crate) async fn start(upstream: &str, seed: u64, one_in: u64) -> Server {
        let client = Client::new(upstream, &Credentials::default(), false).expect("a client");
        let proxy = Self {
            client,
            seed,
            one_in,
            asked: Mutex::default(),
            uid: Mutex::default(),
        };
        Server::start(([127, 0, 0, 1], 0).into(), Arc::new(proxy))
            .await
            .expect("a server")
    }

    fn chance(&self, request: &Request<Incoming>) -> Chance {
        let key = format!("{} {}", request.method(), request.uri());
        let mut asked = self.asked.lock().expect("no panic before");
        let nth = asked.entry(key.clone()).or_default();
        *nth += 1;
        let mut chance = Chance(self.seed);
        for byte in key.bytes().chain(nth.to_le_bytes()) {
            chance.0 = (chance.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        chance
    }
}

/// A small pseudo-random number generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}

impl Handler for FaultyProxy {
    async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        tasks: Tasks,
    ) -> Result<Response<Body>, ConnectionClosed> {
        let mut chance = self.chance(&request);
        let is_altered = chance.below(self.one_in) == 0;
        let stream = request.uri().path().contains("/watch/") || request.uri().query().unwrap_or("").contains("watch=");
        let (parts, body) = request.into_parts();
        let bytes = body.collect().await.map_err(|_| ConnectionClosed)?.to_bytes();
        let uid = self.uid.lock().expect("no panic before").clone();
        let named = uid.filter(|_| String::from_utf8_lossy(&bytes).contains(ALTERED_UID));
        let bytes = match &named {
            Some(uid) => String::from_utf8_lossy(&bytes).replace(ALTERED_UID, uid).into(),
            None => bytes,
        };
        let request = Request::from_parts(parts, bytes);
        let mut response = transport::forward(&self.client, request, None, &tasks)
            .await
            .map_err(|_| ConnectionClosed)?;
        if let Some(uid) = &named {
            response = renamed(response, uid).await?;
        }
        if !is_altered {
            return Ok(response);
        }
        if stream && response.status() == 200 {
            return Ok(alter_stream(response, chance));
        }
        alter(response, chance, &self.uid).await
    }
}

/// The response in which the UID is the one that the client has.
async fn renamed(response: Response<Body>, uid: &str) -> Result<Response<Body>, ConnectionClosed> {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.map_err(|_| ConnectionClosed)?.to_bytes();
    let text = String::from_utf8_lossy(&bytes).replace(uid, ALTERED_UID);
    Ok(Response::from_parts(parts, transport::full(text)))
}

fn alter_stream(response: Response<Body>, mut chance: Chance) -> Response<Body> {
    let kind = chance.below(6);
    let at = chance.below(4);
    let mut frame = 0;
    response.map(|body| {
        body.map_frame(move |data| {
            let Ok(data) = data.into_data() else {
                return hyper::body::Frame::data(Bytes::new());
            };
            frame += 1;
            let text = String::from_utf8_lossy(&data).into_owned();
            let text = match kind {
                _ if frame - 1 != at => text,
                0 => String::new(),
                1 => text.clone() + &text,
                2 => text.replace("MODIFIED", "ADDED"),
                3 => text.replace("\"resourceVersion\":\"1", "\"resourceVersion\":\"9"),
                4 => text.replace("\"labels\"", "\"lables\""),
                _ => text.replace("\"uid\":\"0", "\"uid\":\"1"),
            };
            hyper::body::Frame::data(text.into())
        })
        .boxed_unsync()
    })
}

async fn alter(
    response: Response<Body>,
    mut chance: Chance,
    uid: &Mutex<Option<String>>,
) -> Result<Response<Body>, ConnectionClosed> {
    let kind = chance.below(18);
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let bytes = body.collect().await.map_err(|_| ConnectionClosed)?.to_bytes();
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let mut value: Option<Value> = serde_json::from_str(&text).ok();
    match kind {
        0 => parts.status = StatusCode::from_u16(parts.status.as_u16() + 1).unwrap_or(parts.status),
        1 => {
            parts
                .headers
                .insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
        }
        2 => {
            parts.headers.insert("location", HeaderValue::from_static("/elsewhere"));
        }
        3 => return Err(ConnectionClosed),
        4 => text = String::new(),
        5 => text.push_str("   "),
        6 => value = None,
        _ => {}
    }
    if let Some(value) = &mut value {
        let leaves = count(value);
        let mut at = chance.below(leaves);
        match kind {
            7..=9 => edit(value, &mut at, &mut |leaf| *leaf = "is_altered".into()),
            10 => edit(value, &mut at, &mut |leaf| *leaf = 1.0.into()),
            11 => edit(value, &mut at, &mut |leaf| *leaf = Value::Null),
            12 => rekey(value, "metadata", "metadat"),
            13 => named(value, "message", &mut |leaf| *leaf = "other words".into()),
            14 => named(value, "uid", &mut |leaf| {
                *uid.lock().expect("no panic before") = leaf.as_str().map(str::to_owned);
                *leaf = ALTERED_UID.into()
            }),
            15 => named(value, "resourceVersion", &mut |leaf| *leaf = "7".into()),
            16 => named(value, "creationTimestamp", &mut |leaf| {
                *leaf = "2011-11-11T11:11:11Z".into()
            }),
            17 => named(value, "items", &mut |leaf| {
                if let Value::Array(items) = leaf {
                    items.reverse();
                }
            }),
            _ => {}
        }
        if (7..=17).contains(&kind) {
            text = if chance.below(8) == 0 {
                format!("{value:#}")
            } else {
                value.to_string()
            };
        }
    }
    let bytes = if bytes == text.as_bytes() || kind < 4 {
        bytes
    } else {
        text.into()
    };
    Ok(Response::from_parts(parts, transport::full(bytes)))
}

fn count(value: &Value) -> u64 {
    match value {
        Value::Object(entries) => entries.values().map(count).sum(),
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 1,
    }
}

fn edit(value: &mut Value, at: &mut u64, with: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Object(entries) => entries.values_mut().for_each(|value| edit(value, at, with)),
        Value::Array(items) => items.iter_mut().for_each(|item| edit(item, at, with)),
        leaf => {
            if *at == 0 {
                with(leaf);
            }
            *at = at.wrapping_sub(1);
        }
    }
}

fn named(value: &mut Value, name: &str, with: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                if key == name {
                    with(value);
                } else {
                    named(value, name, with);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| named(item, name, with)),
        _ => {}
    }
}

fn rekey(value: &mut Value, from: &str, to: &str) {
    if let Value::Object(entries) = value
        && let Some(held) = entries.remove(from)
    {
        entries.insert(to.into(), held);
    }
}

/// How long the whole of a test may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(500);

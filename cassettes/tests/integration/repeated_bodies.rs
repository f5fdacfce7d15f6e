//! A long body that is equal to the last one of its URL is recorded as a reference, and replayed as it was.

use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use rstest::rstest;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stuntdouble_cassettes::transport::{Body, Client, ConnectionClosed, Credentials, Handler, Server, Tasks, full};
use stuntdouble_cassettes::{Cassette, Recorder, RecorderOptions, Replayer, ReplayerOptions, Speed};

/// A response of the server.
#[derive(Clone)]
struct Planned {
    status: u16,
    content_type: &'static str,
    body: Bytes,
    /// Whether the connection breaks at the end of the body.
    broken: bool,
}

impl Planned {
    /// Whether a client received the response.
    fn is_received(&self, found: Option<(u16, Vec<u8>)>) -> bool {
        match found {
            Some((status, body)) if self.broken => status == self.status && self.body.starts_with(&body),
            Some((status, body)) => status == self.status && self.body == body,
            None => self.broken,
        }
    }
}

/// Sends planned responses in order, in pieces of a given size.
struct Origin {
    planned: Mutex<VecDeque<Planned>>,
    size: usize,
    /// Whether the length is announced.
    announced: bool,
}

impl Handler for Origin {
    async fn handle(self: Arc<Self>, _: Request<Incoming>, _: Tasks) -> Result<Response<Body>, ConnectionClosed> {
        let next = self.planned.lock().map_err(|_| ConnectionClosed)?.pop_front();
        let Planned {
            status,
            content_type,
            body,
            broken,
        } = next.ok_or(ConnectionClosed)?;
        let length = body.len() + usize::from(broken);
        let pieces: Vec<_> = (0..body.len().div_ceil(self.size))
            .map(|n| {
                Ok(Frame::data(
                    body.slice(n * self.size..body.len().min((n + 1) * self.size)),
                ))
            })
            .chain(broken.then(|| Err("broken".into())))
            .collect();
        let mut response = Response::new(StreamBody::new(stream::iter(pieces)).boxed_unsync());
        *response.status_mut() = StatusCode::from_u16(status).map_err(|_| ConnectionClosed)?;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if self.announced {
            headers.insert(CONTENT_LENGTH, length.into());
        }
        Ok(response)
    }
}

fn planned(body: impl Into<Bytes>) -> Planned {
    Planned {
        status: 200,
        content_type: "application/json",
        body: body.into(),
        broken: false,
    }
}

fn client(url: &str) -> Client {
    Client::new(url, &Credentials::default(), true).expect("a client")
}

/// Status and body, up to an error. None if there is no response.
async fn get(client: &Client) -> Option<(u16, Vec<u8>)> {
    let request = Request::get("/api/v1/secrets").body(full("")).expect("a request");
    let response = client.send(request).await.ok()?;
    let (status, mut body, mut all) = (response.status().as_u16(), response.into_body(), Vec::new());
    while let Some(Ok(frame)) = body.frame().await {
        all.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    Some((status, all))
}

/// An item of a list of secrets.
const ITEM: &str = r#"{"metadata":{"name":"a"},"data":{"password":"aHVudGVyMjJodW50ZXI="}},"#;

/// A list of secrets, with this name at its end.
fn list(last: &str) -> String {
    let items = ITEM.repeat(2_000);
    format!(r#"{{"kind":"SecretList","apiVersion":"v1","items":[{items}{{"metadata":{{"name":"{last}"}}}}]}}"#)
}

/// Number of responses in a cassette.
fn responses(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).expect("text");
    text.lines().filter(|line| line.starts_with("took_ms: ")).count()
}

/// Records the responses. Returns the text of the cassette.
async fn recorded(all: &[Planned], size: usize, announced: bool, path: &Path) -> String {
    let origin = Origin {
        planned: Mutex::new(all.iter().cloned().collect()),
        size,
        announced,
    };
    // The recorder asks for the version first.
    let version = planned(r#"{"gitVersion":"v1.2.0"}"#);
    origin.planned.lock().expect("no panic").push_front(version);
    let origin = Server::start(([127, 0, 0, 1], 0).into(), Arc::new(origin))
        .await
        .expect("a server");
    let recorder = Recorder::start(RecorderOptions::new(format!("http://{}", origin.address())), path)
        .await
        .expect("a recorder");
    for (n, each) in all.iter().enumerate() {
        let found = get(&client(&recorder.url())).await;
        assert!(each.is_received(found), "the recorder changed what it passed on");
        // A body can be repeated after it was written.
        while responses(path) <= n {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    recorder.stop().await;
    std::fs::read_to_string(path).expect("text")
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn equal_bodies_are_recorded_once(
    #[values(true, false)] announced: bool,
    #[values(1_000, 70_000, 1 << 20)] size: usize,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.yaml");
    let (first, other) = (list("first"), list("other"));
    let longer = format!("{first}\n");
    let all = [
        planned(first.clone()),
        planned(first.clone()),
        planned(first.clone()),
        planned(other.clone()),
        planned(other.clone()),
        planned(first.clone()),
        planned(longer.clone()),
        planned(longer),
        planned(first.replacen(ITEM, "", 500)),
        Planned {
            content_type: "text/plain",
            ..planned(first.clone())
        },
        Planned {
            status: 500,
            ..planned(first.clone())
        },
        planned(first.clone()),
        Planned {
            broken: true,
            ..planned(first.clone())
        },
        planned(first.clone()),
        planned("{}"),
        planned(first),
    ];
    let text = recorded(&all, size, announced, &path).await;
    let references: Vec<&str> = text.lines().filter(|line| line.starts_with("  body_of: ")).collect();
    assert_eq!(
        references,
        [
            "  body_of: 1",
            "  body_of: 1",
            "  body_of: 4",
            "  body_of: 7",
            "  body_of: 12",
            "  body_of: 12"
        ]
    );
    assert!(!text.contains("aHVudGVyMjJodW50ZXI="));

    let cassette = Cassette::open(&path).expect("a cassette");
    // A cassette that is written again has the same references.
    assert_eq!(Cassette::parse(&cassette.to_yaml()).expect("a cassette"), cassette);
    let mut options = ReplayerOptions::default();
    options.speed = Speed::Instant;
    let replayer = Replayer::start(cassette, options).await.expect("a replayer");
    for (n, each) in all.iter().enumerate() {
        let replayed = get(&client(&replayer.url())).await.map(|(status, body)| {
            let body = String::from_utf8(body).expect("text");
            let unredacted = body.replace("cmVkYWN0ZWQtMX5+fn4=", "aHVudGVyMjJodW50ZXI=");
            (status, unredacted.into_bytes())
        });
        assert!(each.is_received(replayed), "{n}");
    }
}

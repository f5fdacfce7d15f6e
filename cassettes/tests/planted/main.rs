//! No secret reaches the disk, in whatever place it is planted and however it is cut on its way.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod disguises;
mod places;
mod secrets;
mod upgraded;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use places::{Place, Places};
use secrets::Search;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use stuntdouble_cassettes::transport::{Body, Client, ConnectionClosed, Credentials, Handler, Server, Tasks};
use stuntdouble_cassettes::{Cassette, Data, Payload, Recorder, RecorderOptions, Replayer, ReplayerOptions, Sender};

/// How bodies are cut, and where they rest.
#[derive(Clone, Copy, Debug)]
struct Split {
    /// The length of pieces, which grows by `growth` for each.
    size: usize,
    growth: usize,
    /// A pause longer than an answer may take to be no stream, after this many pieces.
    pause: Option<usize>,
}

impl Split {
    /// How many requests are in flight. Pauses are waited for together.
    fn concurrency(self) -> usize {
        if self.pause.is_some() { 128 } else { 16 }
    }
}

/// Twenty ways to cut a body, fast and slow.
fn splits() -> Vec<Split> {
    let split = |size, growth, pause| Split { size, growth, pause };
    let mut all: Vec<Split> = [1, 2, 3, 5, 7, 13, 16, 33, 64, 100, 1000, usize::MAX / 2]
        .map(|size| split(size, 0, None))
        .into();
    all.extend([1, 4, 9, 17, 30].map(|size| split(size, 0, Some(3))));
    all.extend([(1, 1), (2, 5), (40, 3)].map(|(size, growth)| split(size, growth, Some(1))));
    assert_eq!(all.len(), 20);
    all
}

fn cut(body: &[u8], split: Split) -> Body {
    let (mut pieces, mut rest, mut size) = (Vec::new(), body, split.size);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(size.min(rest.len()));
        pieces.push(Bytes::copy_from_slice(piece));
        (rest, size) = (after, size + split.growth);
    }
    let frames = stream::iter(pieces.into_iter().enumerate()).then(move |(n, piece)| async move {
        if split.pause == Some(n) {
            tokio::time::sleep(Duration::from_millis(110)).await;
        }
        Ok(Frame::data(piece))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Answers each request as its place says.
struct Origin {
    places: Arc<Vec<Place>>,
    split: Split,
}

impl Handler for Origin {
    async fn handle(self: Arc<Self>, request: Request<Incoming>, _: Tasks) -> Result<Response<Body>, ConnectionClosed> {
        let place = request
            .headers()
            .get("x-place")
            .and_then(|place| place.to_str().ok()?.parse::<usize>().ok());
        let Some(place) = place.and_then(|place| self.places.get(place)) else {
            return Err(ConnectionClosed);
        };
        request.into_body().collect().await.map_err(|_| ConnectionClosed)?;
        let mut response = Response::builder().status(place.status);
        for (name, value) in &place.response_headers {
            response = response.header(name, value);
        }
        response
            .body(cut(&place.response, self.split))
            .map_err(|_| ConnectionClosed)
    }
}

async fn ask(client: &Client, n: usize, place: &Place, split: Split) {
    let mut request = Request::builder()
        .method(place.method)
        .uri(&place.target)
        .header("x-place", n);
    for (name, value) in place.headers.iter().filter(|(_, value)| !value.is_empty()) {
        request = request.header(name, value);
    }
    let body = cut(&place.body, split);
    let response = client
        .send(request.body(body).expect("a request"))
        .await
        .expect("an answer");
    response.into_body().collect().await.expect("a body");
}

/// The secrets that can be found in a cassette: in its text, and in what it says was sent.
fn leaks(search: &Search, path: &Path) -> Vec<usize> {
    let text = std::fs::read(path).expect("a file");
    let mut found = search.found(&text);
    let cassette = Cassette::parse(std::str::from_utf8(&text).expect("text")).expect("a cassette");
    for interaction in &cassette.interactions {
        found.extend(search.found(interaction.request.body.as_deref().unwrap_or_default()));
        let Some(answer) = interaction.response() else { continue };
        found.extend(search.found(&answer.payload.bytes()));
        if let Payload::Messages(messages) = &answer.payload {
            for from in [Sender::Client, Sender::Server] {
                for head in [0, 1, 8] {
                    let of = messages.iter().filter(|message| message.from == from);
                    let all: Vec<u8> = of.flat_map(|message| upgraded::payload(&message.data, head)).collect();
                    found.extend(search.found(&all));
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Nothing but cassettes is left behind, and only their owner can read them.
fn only_cassettes(folder: &Path, count: usize) {
    let files: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|file| file.expect("a file"))
        .collect();
    assert_eq!(files.len(), count, "{files:?}");
    #[cfg(unix)]
    for file in files {
        let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().expect("its metadata").permissions());
        assert_eq!(mode & 0o777, 0o600, "{file:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_reaches_the_disk_from_any_place_at_any_split() {
    let folder = tempfile::tempdir().expect("a folder");
    let places = Arc::new(Places::all().0);
    assert!(places.len() >= 120, "{} places", places.len());
    let secrets: Vec<String> = places.iter().map(|place| place.secret.clone()).collect();
    let search = Search::new(&secrets);
    for (n, place) in places.iter().enumerate() {
        let sent = [
            format!("{} {:?} {:?}", place.target, place.headers, place.response_headers).into_bytes(),
            place.body.clone(),
            place.response.clone(),
        ];
        assert!(
            sent.iter().any(|sent| search.found(sent).contains(&n)),
            "nothing is planted in place {n}: {place:?}"
        );
    }
    for (n, split) in splits().into_iter().enumerate() {
        let origin = Server::start(
            ([127, 0, 0, 1], 0).into(),
            Arc::new(Origin {
                places: places.clone(),
                split,
            }),
        )
        .await
        .expect("an origin");
        let path = folder.path().join(format!("{n}.yaml"));
        let recorder = Recorder::start(RecorderOptions::new(format!("http://{}", origin.address())), &path)
            .await
            .expect("a recorder");
        let client = Client::new(&recorder.url(), &Credentials::default(), true).expect("a client");
        // A request is read before it is recorded, so that few of the splits make a difference there.
        let asked: Vec<(usize, &Place)> = places
            .iter()
            .enumerate()
            .filter(|(_, place)| n % 7 == 0 || place.response != b"ok\n")
            .filter(|(_, place)| n % 5 == 0 || !place.variant)
            .collect();
        stream::iter(asked.iter().copied())
            .for_each_concurrent(split.concurrency(), |(n, place)| ask(&client, n, place, split))
            .await;
        recorder.stop().await;
        let found = leaks(&search, &path);
        let shown: Vec<String> = found
            .iter()
            .map(|n| {
                format!(
                    "{n}: {:?}\n{}\n{}",
                    places[*n],
                    String::from_utf8_lossy(&places[*n].body),
                    String::from_utf8_lossy(&places[*n].response)
                )
            })
            .collect();
        assert!(
            found.is_empty(),
            "{split:?}: {} came through\n{}",
            shown.len(),
            shown.join("\n")
        );
        let cassette = Cassette::open(&path).expect("a cassette");
        assert_eq!(cassette.interactions.len(), asked.len());
        if n % 7 == 0 {
            replays(cassette, &asked, split).await;
        }
    }
    only_cassettes(folder.path(), splits().len());
}

/// Requests with secrets match those that were recorded without them. Variants do not all: a secret within base64 in a
/// text matches nothing else.
async fn replays(cassette: Cassette, asked: &[(usize, &Place)], split: Split) {
    let replayer = Replayer::start(cassette, ReplayerOptions::default())
        .await
        .expect("a replayer");
    let client = Client::new(&replayer.url(), &Credentials::default(), true).expect("a client");
    let plain = asked.iter().copied().filter(|(_, place)| !place.variant);
    stream::iter(plain)
        .for_each_concurrent(split.concurrency(), |(n, place)| {
            ask(&client, n, place, Split { pause: None, ..split })
        })
        .await;
    assert_eq!(replayer.misses(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_reaches_the_disk_from_an_upgraded_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut texts, mut count) = (Vec::new(), 0);
    for size in [1, 2, 3, 7, 16, 100, 10_000] {
        for protocol in upgraded::PROTOCOLS {
            let path = folder.path().join(format!("{count}.yaml"));
            let planted = upgraded::texts(texts.len());
            upgraded::record(protocol, &planted, size, &path).await;
            texts.extend(planted);
            count += 1;
        }
    }
    let secrets: Vec<String> = texts.iter().map(|(secret, _)| secret.clone()).collect();
    let search = Search::new(&secrets);
    for n in 0..count {
        let path = folder.path().join(format!("{n}.yaml"));
        let found: Vec<&String> = leaks(&search, &path).into_iter().map(|n| &texts[n].1).collect();
        assert!(found.is_empty(), "of {n}, {found:?} came through");
        let cassette = Cassette::open(&path).expect("a cassette");
        let messages = cassette.interactions[0].messages().expect("messages");
        assert!(
            messages.iter().any(|message| matches!(message.data, Data::Binary(_))),
            "{messages:?}"
        );
    }
    only_cassettes(folder.path(), count);
}

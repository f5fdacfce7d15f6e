//! A request that was not recorded is forwarded to a server with the state that the cassette implies.

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use stuntdouble_cassettes::transport::{Body, Client, ConnectionClosed, Credentials, Handler, Server, Tasks, full};
use stuntdouble_cassettes::{Cassette, OnMiss, Replayer, ReplayerOptions, State, Thaw, Thawed};

/// A fake simulator, which serves the given objects by path.
#[derive(Default)]
struct Shelf {
    state: Mutex<Option<State>>,
    thawed: Mutex<u32>,
}

impl Handler for Shelf {
    async fn handle(self: Arc<Self>, request: Request<Incoming>, _: Tasks) -> Result<Response<Body>, ConnectionClosed> {
        let state = self.state.lock();
        let objects = state.as_ref().map(|state| state.objects.as_slice()).unwrap_or_default();
        let found = objects.iter().find(|object| object.path == request.uri().path());
        Ok(Response::new(full(
            found.map_or_else(String::new, |object| object.value.to_string()),
        )))
    }
}

struct Freezer {
    shelf: Arc<Shelf>,
    url: String,
}

impl Thaw for Freezer {
    fn thaw(&self, state: State) -> Thawed {
        *self.shelf.thawed.lock() += 1;
        *self.shelf.state.lock() = Some(state);
        let url = self.url.clone();
        Box::pin(async move { Ok(url) })
    }
}

async fn ask(client: &Client, method: &str, target: &str, body: &str) -> String {
    let request = Request::builder()
        .method(method)
        .uri(target)
        .header("content-type", "application/json");
    let response = client
        .send(request.body(full(body.to_owned())).expect("a request"))
        .await
        .expect("an answer");
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_miss_thaws_a_server_once_in_the_state_that_was_reached() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions/kubernetes-1.2/life-configmaps.yaml");
    let cassette = Cassette::open(&path).expect("a session");
    let shelf = Arc::new(Shelf::default());
    let server = Server::start(([127, 0, 0, 1], 0).into(), shelf.clone())
        .await
        .expect("a server");
    let freezer = Freezer {
        shelf: shelf.clone(),
        url: format!("http://{}", server.address()),
    };
    let on_miss = OnMiss::Thaw(Arc::new(freezer));
    let replayer = Replayer::start(cassette.clone(), {
        let mut options = ReplayerOptions::default();
        options.on_miss = on_miss;
        options
    })
    .await
    .expect("a replayer");
    let client = Client::new(&replayer.url(), &Credentials::default(), true).expect("a client");
    let mut name = String::new();
    for interaction in cassette.interactions.iter() {
        let request = &interaction.request;
        let answer = ask(&client, &request.method, &request.url, &request.text()).await;
        let value: serde_json::Value = serde_json::from_str(&answer).unwrap_or_default();
        if value["kind"] == "ConfigMap" {
            name = value["metadata"]["selfLink"].as_str().unwrap_or_default().to_owned();
            break;
        }
    }
    assert!(!name.is_empty(), "no object was created");
    assert_eq!(*shelf.thawed.lock(), 0);
    let missed = ask(&client, "GET", "/api/v1/never/recorded", "").await;
    assert_eq!((missed.as_str(), *shelf.thawed.lock()), ("", 1));
    let object = ask(&client, "GET", &name, "").await;
    assert!(
        object.contains("\"kind\":\"ConfigMap\""),
        "{name} is not there: {object}"
    );
    assert_eq!(*shelf.thawed.lock(), 1, "it is thawed once");
}

//! A test of the proxy: a write is undone although its object changes meanwhile.

use std::sync::Mutex;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

use crate::{
    mutant::Mutant,
    proxy::{CLIENT, Proxy},
};

/// A server with one object, which a controller changes after the first write.
struct ChangingServer(Mutex<Object>);

struct Object {
    version: u32,
    replicas: Value,
    /// Whether the controller has yet to change the object.
    changes: bool,
}

impl Respond for ChangingServer {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut object = self.0.lock().unwrap();
        if request.method != "GET" {
            let sent: Value = request.body_json().unwrap();
            let version = sent.pointer("/metadata/resourceVersion");
            if version.is_some_and(|version| version.as_str() != Some(&object.version.to_string())) {
                return ResponseTemplate::new(409);
            }
            object.version += 1;
            object.replicas = sent["spec"]["replicas"].clone();
        }
        let (version, replicas) = (object.version, &object.replicas);
        let body = json!({"metadata": {"resourceVersion": version.to_string()}, "spec": {"replicas": replicas}});
        if request.method != "GET" && object.changes {
            object.version += 1;
            object.changes = false;
        }
        ResponseTemplate::new(200).set_body_json(body)
    }
}

pub(crate) async fn undoes_what_changes_meanwhile() -> Result<(), Failed> {
    let server = MockServer::start().await;
    let object = Object {
        version: 1,
        replicas: json!(1),
        changes: true,
    };
    let upstream = Mock::given(any()).respond_with(ChangingServer(Mutex::new(object)));
    upstream.mount(&server).await;
    let mutant: Mutant = serde_json::from_value(json!({
        "id": "undone", "fault": "A patch is undone.", "when": {"method": "PATCH", "path": "/one"},
        "ask": {"undo": true}, "caught-by": [],
    }))?;
    let proxy = Proxy::before(&server.uri(), Some(mutant)).await?;
    let one = format!("{}/one", proxy.url());
    let client = CLIENT.as_ref()?;
    let patch = client.patch(&one).body(json!({"spec": {"replicas": 2}}).to_string());
    let patched: Value = patch.send().await?.json().await?;
    assert_eq!(patched["spec"]["replicas"], 2);
    let read: Value = client.get(&one).send().await?.json().await?;
    assert_eq!(read["spec"]["replicas"], 1, "the patch is not undone");
    Ok(())
}

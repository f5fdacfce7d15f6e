//! Watches over WebSocket.

use std::time::Duration;

use futures::StreamExt;
use rstest::rstest;
use serde_json::json;
use stuntdouble_simulator::{Limits, Profile};
use tokio::time::timeout;
use tokio_tungstenite::{client_async, tungstenite};
use tungstenite::{Message, client::IntoClientRequest, handshake::client::Response};

use super::{MAPS, Wire, ask, config_map, limited, start};

type Socket = tokio_tungstenite::WebSocketStream<tokio::net::TcpStream>;

async fn open(
    simulator: &stuntdouble_simulator::Simulator,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Result<(Socket, Response), tungstenite::Error> {
    let mut request = format!("ws://{}{path}", simulator.address()).into_client_request()?;
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    client_async(
        request,
        tokio::net::TcpStream::connect(simulator.address()).await.unwrap(),
    )
    .await
}

const ORIGIN: (&str, &str) = ("origin", "http://localhost");

#[rstest]
#[case("/api/v1/watch/namespaces/default/configmaps")]
#[case("/api/v1/namespaces/default/configmaps?watch=true")]
#[tokio::test]
async fn every_frame_is_a_text_message(#[case] path: &str) {
    for profile in Profile::ALL {
        let simulator = start(profile).await;
        let (mut socket, _) = open(&simulator, path, &[ORIGIN]).await.unwrap();
        for name in ["a", "b"] {
            ask(&simulator, "POST", MAPS, "", &config_map(name)).await;
            let Some(Ok(Message::Text(text))) = socket.next().await else {
                panic!("no text")
            };
            let frame: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(
                (&frame["type"], &frame["object"]["metadata"]["name"]),
                (&json!("ADDED"), &json!(name))
            );
            assert!(text.ends_with('}'));
        }
        simulator.shutdown().await;
        assert!(matches!(socket.next().await, Some(Ok(Message::Close(_)))));
    }
}

#[tokio::test]
async fn its_timeout_ends_it_under_documented() {
    let simulator = start(Profile::Documented).await;
    let (mut socket, _) = open(&simulator, "/api/v1/watch/pods?timeoutSeconds=-1", &[])
        .await
        .unwrap();
    assert!(matches!(socket.next().await, Some(Ok(Message::Close(_)))));
}

#[tokio::test]
async fn its_timeout_does_not_end_it_under_kubernetes_1_2() {
    let simulator = start(Profile::Kubernetes12).await;
    let (mut socket, _) = open(&simulator, "/api/v1/watch/configmaps?timeoutSeconds=-1", &[ORIGIN])
        .await
        .unwrap();
    ask(&simulator, "POST", MAPS, "", &config_map("a")).await;
    assert!(matches!(socket.next().await, Some(Ok(Message::Text(_)))));
}

#[tokio::test]
async fn it_counts_as_a_connection_until_it_ends() {
    let simulator = limited(Limits {
        connections: 1,
        ..Limits::default()
    })
    .await;
    let (socket, _) = open(&simulator, "/api/v1/watch/pods", &[]).await.unwrap();
    let mut second = Wire::open(simulator.address()).await;
    second.request("GET", "/healthz", "", "").await;
    assert!(
        timeout(Duration::from_millis(100), second.head()).await.is_err(),
        "the second request does not wait for the first"
    );
    drop(socket);
    assert_eq!(second.head().await.unwrap().code, 200);
}

#[rstest]
#[case(Profile::Kubernetes12, &[], Err(403))]
#[case(Profile::Kubernetes12, &[("origin", "null")], Err(403))]
#[case(Profile::Kubernetes12, &[ORIGIN], Ok(None))]
#[case(Profile::Kubernetes12, &[ORIGIN, ("sec-websocket-protocol", "v1.example")], Ok(Some("v1.example")))]
#[case(Profile::Kubernetes12, &[ORIGIN, ("sec-websocket-protocol", "a, b")], Err(400))]
#[case(Profile::Kubernetes12, &[ORIGIN, ("sec-websocket-version", "12")], Err(400))]
#[case(Profile::Documented, &[], Ok(None))]
#[case(Profile::Documented, &[("sec-websocket-protocol", "a, b")], Ok(Some("a")))]
#[tokio::test]
async fn a_handshake_is_accepted_by_profile(
    #[case] profile: Profile,
    #[case] headers: &[(&'static str, &'static str)],
    #[case] expected: Result<Option<&str>, u16>,
) {
    let simulator = start(profile).await;
    match (open(&simulator, "/api/v1/watch/pods", headers).await, expected) {
        (Ok((_, response)), Ok(protocol)) => assert_eq!(
            response
                .headers()
                .get("sec-websocket-protocol")
                .map(|p| p.to_str().unwrap()),
            protocol
        ),
        (Err(tungstenite::Error::Http(response)), Err(code)) => assert_eq!(response.status(), code),
        (Err(tungstenite::Error::Protocol(_)), Ok(Some(_))) => {
            panic!("the response has a protocol that was not requested")
        }
        (outcome, expected) => panic!("{outcome:?}, expected {expected:?}"),
    }
}

#[tokio::test]
async fn a_list_is_not_upgraded_and_a_rejected_watch_returns_its_status() {
    let simulator = start(Profile::Kubernetes12).await;
    for (path, code) in [
        ("/api/v1/pods", 200),
        ("/api/v1/watch/nope", 404),
        ("/api/v1/watch/pods?resourceVersion=x", 422),
    ] {
        let Err(tungstenite::Error::Http(response)) = open(&simulator, path, &[ORIGIN]).await else {
            panic!("{path} is not a watch")
        };
        assert_eq!(response.status(), code, "{path}");
    }
}

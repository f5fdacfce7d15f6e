//! Start and shutdown.

use std::{net::SocketAddr, time::Duration};

use stuntdouble_simulator::{Limits, Profile, Simulator, StartError};
use tokio::{net::TcpStream, time::timeout};

use super::{Wire, start};

#[tokio::test]
async fn only_the_loopback_interface_is_allowed_without_tls() {
    let refused = Simulator::builder()
        .listen(SocketAddr::from(([0, 0, 0, 0], 0)))
        .start()
        .await
        .unwrap_err();
    assert!(matches!(refused, StartError::NotLoopback(_)), "{refused}");
}

#[tokio::test]
async fn a_port_in_use_is_reported() {
    let simulator = start(Profile::Documented).await;
    let refused = Simulator::builder()
        .listen(simulator.address())
        .start()
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "{} is in use: stop what listens there, or take another port (port 0 lets the system choose one)",
            simulator.address()
        )
    );
}

#[tokio::test]
async fn shutdown_completes_streams_and_refuses_new_connections() {
    let simulator = start(Profile::Documented).await;
    let address = simulator.address();
    let mut watch = Wire::open(address).await;
    watch.request("GET", "/api/v1/watch/pods", "", "").await;
    assert_eq!(watch.head().await.unwrap().code, 200);
    let mut idle = Wire::open(address).await;
    assert_eq!(idle.ask("GET", "/healthz", "", "").await.code, 200);
    timeout(Duration::from_secs(10), simulator.shutdown())
        .await
        .expect("the shutdown ends");
    assert_eq!(
        watch.until(b"0\r\n\r\n").await.as_deref(),
        Some(b"0\r\n\r\n".as_slice())
    );
    assert!(watch.is_closed().await && idle.is_closed().await);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_hanging_request_is_closed_after_the_grace_period() {
    let simulator = Simulator::builder()
        .limits(Limits {
            grace: Duration::from_millis(50),
            ..Limits::default()
        })
        .start()
        .await
        .unwrap();
    let mut hanging = Wire::open(simulator.address()).await;
    hanging
        .send(
            "POST /api/v1/namespaces HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n",
        )
        .await;
    assert_eq!(hanging.head().await.unwrap().code, 100);
    timeout(Duration::from_secs(10), simulator.shutdown())
        .await
        .expect("the shutdown ends");
    assert!(hanging.is_closed().await);
}

#[tokio::test]
async fn dropping_a_simulator_stops_it() {
    let simulator = start(Profile::Documented).await;
    let mut wire = Wire::open(simulator.address()).await;
    assert_eq!(wire.ask("GET", "/healthz", "", "").await.code, 200);
    drop(simulator);
    assert!(wire.is_closed().await);
}

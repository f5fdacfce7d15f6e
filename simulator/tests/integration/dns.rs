//! DNS over UDP and TCP for the names of the cluster.

use std::net::{Ipv4Addr, SocketAddr};

use hickory_proto::{
    op::{Message, MessageType, OpCode, Query, ResponseCode},
    rr::{Name, RData, RecordType},
};
use serde_json::json;
use stuntdouble_simulator::{Addons, Clock, Simulator, StartError};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
};

/// Starts a cluster with a service and a headless service. Also returns the address of its DNS listener.
async fn cluster() -> (Simulator, SocketAddr) {
    let clock: Clock = "frozen:2016-03-01T00:00:00Z".parse().unwrap();
    let builder = Simulator::builder().seed(7).clock(clock).addons(Addons::none());
    let cluster = builder
        .dns_listen("127.0.0.1:0".parse().unwrap())
        .start()
        .await
        .unwrap();
    let api = |plural: &str| {
        let api = cluster.client().api("v1", plural).unwrap();
        api.in_namespace("default")
    };
    let ports = json!([{"name": "http", "port": 80}]);
    let web = json!({"metadata": {"name": "web"}, "spec": {"clusterIP": "10.0.0.80", "ports": ports}});
    api("services").create(web).await.unwrap();
    let spec = json!({"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"name": "sql", "port": 5432}]});
    api("services")
        .create(json!({"metadata": {"name": "db"}, "spec": spec}))
        .await
        .unwrap();
    let template = json!({
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [{"name": "main", "image": "postgres"}]},
    });
    let controller = json!({"metadata": {"name": "db"}, "spec": {"replicas": 40, "template": template}});
    api("replicationcontrollers").create(controller).await.unwrap();
    cluster.settle().await;
    let address = cluster.dns_address().unwrap();
    (cluster, address)
}

fn query(name: &str, kind: RecordType) -> Message {
    let mut query = Message::new(4711, MessageType::Query, OpCode::Query);
    query.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    query
}

async fn over_udp(address: SocketAddr, query: &[u8]) -> Message {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(query, address).await.unwrap();
    let mut answer = vec![0; 65_535];
    let length = socket.recv(&mut answer).await.unwrap();
    Message::from_vec(&answer[..length]).unwrap()
}

async fn over_tcp(address: SocketAddr, queries: &[Message]) -> Vec<Message> {
    let mut connection = TcpStream::connect(address).await.unwrap();
    let mut answers = Vec::new();
    for query in queries {
        let bytes = query.to_vec().unwrap();
        connection.write_u16(bytes.len().try_into().unwrap()).await.unwrap();
        connection.write_all(&bytes).await.unwrap();
        let mut answer = vec![0; connection.read_u16().await.unwrap().into()];
        connection.read_exact(&mut answer).await.unwrap();
        answers.push(Message::from_vec(&answer).unwrap());
    }
    answers
}

fn addresses(message: &Message) -> Vec<Ipv4Addr> {
    let address = |data: &RData| match data {
        RData::A(address) => address.0,
        other => panic!("{other:?}"),
    };
    message.answers.iter().map(|record| address(&record.data)).collect()
}

#[tokio::test]
async fn names_resolve_over_udp() {
    let (_cluster, dns) = cluster().await;
    let ask = async |name: &str, kind| over_udp(dns, &query(name, kind).to_vec().unwrap()).await;
    let web = ask("web.default.svc.cluster.local.", RecordType::A).await;
    assert_eq!(addresses(&web), [Ipv4Addr::new(10, 0, 0, 80)]);
    assert_eq!((web.metadata.id, web.metadata.authoritative), (4711, true));
    let pod = ask("10-244-1-3.default.pod.cluster.local.", RecordType::A).await;
    assert_eq!(addresses(&pod), [Ipv4Addr::new(10, 244, 1, 3)]);
    for (name, kind, code) in [
        (
            "web.default.svc.cluster.local.",
            RecordType::AAAA,
            ResponseCode::NoError,
        ),
        (
            "other.default.svc.cluster.local.",
            RecordType::A,
            ResponseCode::NXDomain,
        ),
        ("example.com.", RecordType::A, ResponseCode::Refused),
    ] {
        let answer = ask(name, kind).await;
        assert_eq!(answer.metadata.response_code, code, "{name}");
        assert!(answer.answers.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn a_named_port_resolves_to_its_number_and_host() {
    let (_cluster, dns) = cluster().await;
    let name = "_http._tcp.web.default.svc.cluster.local.";
    let answer = over_udp(dns, &query(name, RecordType::SRV).to_vec().unwrap()).await;
    let [record] = answer.answers.as_slice() else {
        panic!("{answer:?}");
    };
    let RData::SRV(srv) = &record.data else {
        panic!("{record:?}")
    };
    assert_eq!(
        (srv.port, srv.target.to_ascii().as_str()),
        (80, "web.default.svc.cluster.local.")
    );
    let name = "_sql._tcp.db.default.svc.cluster.local.";
    let answers = over_tcp(dns, &[query(name, RecordType::SRV)]).await;
    assert_eq!(answers[0].answers.len(), 40);
    let RData::SRV(srv) = &answers[0].answers[7].data else {
        panic!("{answers:?}");
    };
    let pod = query(&srv.target.to_ascii(), RecordType::A);
    assert_eq!(addresses(&over_tcp(dns, &[pod]).await[0]).len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_too_long_for_a_packet_is_sent_over_tcp() {
    let (_cluster, dns) = cluster().await;
    let query = query("db.default.svc.cluster.local.", RecordType::A);
    let short = over_udp(dns, &query.to_vec().unwrap()).await;
    assert!(short.metadata.truncation && short.answers.is_empty());
    let whole = over_tcp(dns, &[query.clone(), query]).await;
    assert_eq!(addresses(&whole[0]).len(), 40);
    assert_eq!(whole[0], whole[1]);
}

#[tokio::test]
async fn a_malformed_query_is_a_format_error_or_is_ignored() {
    let (_cluster, dns) = cluster().await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    // Too short, and a response: both are ignored, so that the first answer is that to the third.
    let mut response = query("web.default.svc.cluster.local.", RecordType::A);
    response.metadata.message_type = MessageType::Response;
    let garbage = [&[0x12, 0x34, 0, 0, 0xff, 0xff][..], &[0xff; 20]].concat();
    for packet in [&b"short"[..], &response.to_vec().unwrap(), &garbage] {
        socket.send_to(packet, dns).await.unwrap();
    }
    let mut answer = [0; 512];
    let length = socket.recv(&mut answer).await.unwrap();
    let answer = Message::from_vec(&answer[..length]).unwrap();
    assert_eq!(
        (answer.metadata.id, answer.metadata.response_code),
        (0x1234, ResponseCode::FormErr)
    );
}

#[tokio::test]
async fn the_dns_listener_must_be_on_a_loopback_address() {
    let started = Simulator::builder()
        .dns_listen("0.0.0.0:0".parse().unwrap())
        .start()
        .await;
    assert!(matches!(started, Err(StartError::NotLoopback(_))));
}

#[tokio::test]
async fn the_dns_service_has_the_address_in_the_resolv_conf_of_containers() {
    let builder = Simulator::builder().addons("kube-dns".parse().unwrap());
    let cluster = builder.start().await.unwrap();
    let services = cluster
        .client()
        .api("v1", "services")
        .unwrap()
        .in_namespace("kube-system");
    let dns = services.get("kube-dns").await.unwrap();
    assert_eq!(dns["spec"]["clusterIP"], "10.0.0.10");
}

//! `stuntdouble proxy` and `stuntdouble cluster-info`, as processes, with a secure listener behind them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;

use crate::server::{Server, command};

/// Starts a server that requires a token, and a proxy that has it.
fn behind_a_proxy() -> (Server, Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(file("tokens"), "secret,admin,1\n").unwrap();
    let server = [
        "serve",
        "--bare",
        "--listen",
        "127.0.0.1:0",
        "--secure-listen",
        "127.0.0.1:0",
    ];
    let files = ["--token-file", &file("tokens"), "--write-kubeconfig", &file("config")];
    let server = Server::start(&[&server[..], &files[..]].concat());
    let proxy = Server::start(&["proxy", "--kubeconfig", &file("config"), "--listen", "127.0.0.1:0"]);
    (server, proxy, folder)
}

/// Connects to a proxy and sends a request as text.
fn ask(proxy: &Server, request: &str) -> TcpStream {
    let mut socket = TcpStream::connect(proxy.address()).unwrap();
    socket
        .set_read_timeout(Some(std::time::Duration::from_secs(20)))
        .unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    socket
}

#[test]
fn the_proxy_needs_no_credentials_but_a_local_host_name() {
    let (_server, proxy, _folder) = behind_a_proxy();
    for (host, code) in [("localhost", 200), ("127.0.0.1:8001", 200), ("example.com", 403)] {
        let mut answer = String::new();
        let request = format!("GET /api/v1/namespaces/default HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        ask(&proxy, &request).read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{host}: {answer}");
    }
}

#[test]
fn streams_and_upgrades_pass() {
    let (_server, proxy, _folder) = behind_a_proxy();
    let upgrade = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (fields, line) in [("", "HTTP/1.1 200 OK"), (upgrade, "HTTP/1.1 101 Switching Protocols")] {
        let watch = format!(
            "GET /api/v1/watch/namespaces HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost\r\n{fields}\r\n"
        );
        let mut seen = Vec::new();
        let mut socket = ask(&proxy, &watch);
        // The stream stays open: read until its first event has arrived.
        while !String::from_utf8_lossy(&seen).contains("\"name\":\"default\"") {
            let mut piece = [0; 4096];
            let read = socket.read(&mut piece).unwrap();
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&seen));
            seen.extend(&piece[..read]);
        }
        assert!(
            String::from_utf8_lossy(&seen).starts_with(line),
            "{}",
            String::from_utf8_lossy(&seen)
        );
    }
}

#[test]
fn a_malformed_body_is_a_400() {
    let (_server, proxy, _folder) = behind_a_proxy();
    let request =
        "POST /api/v1/namespaces HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nno length\r\n";
    let mut answer = [0; 12];
    ask(&proxy, request).read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 400");
}

#[test]
fn the_response_to_an_unread_upload_is_forwarded() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}", listener.local_addr().unwrap());
    let refusing = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut head = [0; 16];
        socket.read_exact(&mut head).unwrap();
        socket
            .write_all(b"HTTP/1.1 413 Payload Too Large\r\ncontent-length: 4\r\nconnection: close\r\n\r\nfull")
            .unwrap();
    });
    let proxy = Server::start(&["proxy", "--upstream", &upstream, "--listen", "127.0.0.1:0"]);
    let length = 4 << 20;
    let request = format!("POST /upload HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n");
    let mut socket = ask(&proxy, &request);
    let mut sending = socket.try_clone().unwrap();
    // The proxy may stop reading early: the error is ignored.
    let upload = std::thread::spawn(move || drop(sending.write_all(&vec![b'x'; length])));
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    drop(proxy);
    upload.join().unwrap();
    refusing.join().unwrap();
}

#[test]
fn it_listens_on_loopback_only_and_requires_a_server() {
    for (arguments, error) in [
        (
            &["proxy", "--upstream", "http://127.0.0.1:1", "--listen", "0.0.0.0:0"][..],
            "not a loopback address",
        ),
        (&["proxy"], "no server is given"),
    ] {
        let Output { status, stderr, .. } = command(arguments).output().unwrap();
        assert_eq!(status.code(), Some(2));
        assert!(String::from_utf8_lossy(&stderr).contains(error));
    }
}

#[test]
fn cluster_info_lists_the_services_of_the_cluster() {
    let (server, proxy, folder) = behind_a_proxy();
    let service = concat!(
        r#"{"metadata":{"name":"search","#,
        r#""labels":{"kubernetes.io/cluster-service":"true","kubernetes.io/name":"Search"}},"#,
        r#""spec":{"ports":[{"port":9200}]}}"#
    );
    for (path, body) in [
        ("", r#"{"metadata":{"name":"kube-system"}}"#),
        ("/kube-system/services", service),
    ] {
        let request = format!(
            "POST /api/v1/namespaces{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut answer = String::new();
        ask(&proxy, &request).read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    }
    let config = folder.path().join("config").display().to_string();
    let Output { status, stdout, .. } = command(&["cluster-info", "--kubeconfig", &config]).output().unwrap();
    let url = &server.urls[1];
    let expected = format!(
        "Kubernetes master is running at {url}\n\
         Search is running at {url}/api/v1/proxy/namespaces/kube-system/services/search\n"
    );
    assert_eq!((status.code(), String::from_utf8(stdout).unwrap()), (Some(0), expected));
    let Output { status, .. } = command(&["cluster-info", "--upstream", "http://127.0.0.1:1"])
        .output()
        .unwrap();
    assert_eq!(status.code(), Some(3));
}

//! `stuntdouble serve` as a process.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output};

use crate::server::{Server, command};

fn serve(arguments: &[&str]) -> Command {
    command(&[&["serve"], arguments].concat())
}

fn start(arguments: &[&str]) -> Server {
    Server::of(&mut serve(arguments))
}

impl Server {
    fn get(&self, path: &str) -> String {
        self.exchange("GET", path, "Host: localhost\r\n", "")
    }
}

fn failed(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = serve(arguments).output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn options_take_effect() {
    let server = start(&[
        "--bare",
        "--listen",
        "127.0.0.1:0",
        "--clock",
        "frozen:2015-06-26T12:00:00Z",
        "--advertise-address",
        "10.1.2.3",
    ]);
    assert!(server.get("/api").contains(r#""serverAddress":"10.1.2.3:443""#));
    assert!(
        server
            .get("/api/v1/namespaces/default")
            .contains(r#""creationTimestamp":"2015-06-26T12:00:00Z""#)
    );
    assert!(
        server
            .get("/api/v1/namespaces/default/endpoints/kubernetes")
            .contains(r#""ip":"10.1.2.3""#)
    );
}

#[test]
fn the_same_seed_and_clock_give_the_same_bytes() {
    let arguments = [
        "--bare",
        "--listen",
        "127.0.0.1:0",
        "--clock",
        "frozen:2015-06-26T12:00:00Z",
        "--seed",
        "7",
    ];
    let namespace = || {
        let answer = start(&arguments).get("/api/v1/namespaces/default");
        answer.split("\r\n\r\n").nth(1).unwrap().to_owned()
    };
    let first = namespace();
    assert!(first.contains(r#""uid":""#), "{first}");
    assert_eq!(first, namespace());
}

#[test]
fn the_ready_line_has_the_secure_url_and_a_kubeconfig_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (tokens, config) = (folder.path().join("tokens"), folder.path().join("kubeconfig"));
    std::fs::write(&tokens, "secret,admin,1\n").unwrap();
    let (tokens, config) = (tokens.display().to_string(), config.display().to_string());
    let secure = [
        "--listen",
        "127.0.0.1:0",
        "--secure-listen",
        "127.0.0.1:0",
        "--token-file",
        &tokens,
        "--write-kubeconfig",
        &config,
    ];
    let server = start(&secure);
    let url = &server.urls[1];
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    assert!(std::fs::read_to_string(&config).unwrap().contains(url));
}

#[cfg(unix)]
fn send_signal(server: &Server, signal: &str) {
    let process = server.process.id().to_string();
    let status = Command::new("kill").args([signal, &process]).status().unwrap();
    assert!(status.success());
}

#[cfg(unix)]
#[test]
fn a_signal_stops_it() {
    for signal in ["-TERM", "-INT"] {
        let mut server = start(&["--bare", "--listen", "127.0.0.1:0"]);
        send_signal(&server, signal);
        assert_eq!(server.process.wait().unwrap().code(), Some(0));
    }
}

#[cfg(unix)]
#[test]
fn a_second_signal_forces_it_to_stop_with_exit_code_5() {
    let mut server = start(&["--bare", "--listen", "127.0.0.1:0"]);
    // A request whose body does not arrive delays the shutdown.
    let mut socket = TcpStream::connect(server.address()).unwrap();
    let head =
        "POST /api/v1/namespaces HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    let mut begun = [0; 12];
    socket.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100");
    send_signal(&server, "-TERM");
    send_signal(&server, "-INT");
    assert_eq!(server.process.wait().unwrap().code(), Some(5));
}

#[test]
fn a_start_error_is_one_sentence() {
    let (code, error) = failed(&["--listen", "0.0.0.0:0"]);
    assert_eq!(code, Some(2));
    assert!(
        error.starts_with("stuntdouble: 0.0.0.0:0 is not a loopback address"),
        "{error}"
    );

    let server = start(&["--bare", "--listen", "127.0.0.1:0"]);
    let (code, error) = failed(&["--listen", server.address()]);
    assert_eq!(code, Some(3));
    assert!(
        error.contains("is in use: stop what listens there, or use another port"),
        "{error}"
    );

    let (code, error) = failed(&[
        "--secure-listen",
        "127.0.0.1:0",
        "--token-file",
        "no-such-file",
        "--listen",
        "127.0.0.1:0",
    ]);
    assert_eq!(code, Some(2));
    assert!(error.starts_with("stuntdouble: no-such-file: "), "{error}");

    for arguments in [
        ["--dial", "x"],
        ["--clock", "noon"],
        ["--profile", "none"],
        ["--service-cluster-ip-range", "10.0.0.0"],
    ] {
        assert_eq!(failed(&arguments).0, Some(2), "{arguments:?}");
    }
}

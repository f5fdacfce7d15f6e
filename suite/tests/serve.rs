//! `stuntdouble serve`, as a process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test cannot do without fails it"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stuntdouble"));
    command.arg("serve").args(arguments);
    command
}

/// A server that has said that it is ready, and its line.
struct Server {
    process: Child,
    ready: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut process = command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut ready)
            .unwrap();
        Self { process, ready }
    }

    fn address(&self) -> &str {
        self.ready
            .trim()
            .strip_prefix("ready: http://")
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
    }

    fn get(&self, path: &str) -> String {
        let mut socket = TcpStream::connect(self.address()).unwrap();
        write!(
            socket,
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn failed(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = command(arguments).output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn what_is_said_on_the_command_line_holds() {
    let server = Server::start(&[
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
    let said = || {
        let answer = Server::start(&arguments).get("/api/v1/namespaces/default");
        answer.split("\r\n\r\n").nth(1).unwrap().to_owned()
    };
    let first = said();
    assert!(first.contains(r#""uid":""#), "{first}");
    assert_eq!(first, said());
}

#[test]
fn the_ready_line_names_the_secure_address_too_and_the_clients_configuration_is_written() {
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
    let server = Server::start(&secure);
    let url = server.ready.trim().split(' ').nth(2).unwrap();
    assert!(url.starts_with("https://127.0.0.1:"), "{}", server.ready);
    assert!(std::fs::read_to_string(&config).unwrap().contains(url));
}

#[cfg(unix)]
fn send_signal(server: &Server, signal: &str) {
    let process = server.process.id().to_string();
    let told = Command::new("kill").args([signal, &process]).status().unwrap();
    assert!(told.success());
}

#[cfg(unix)]
#[test]
fn it_stops_when_it_is_told_to() {
    for signal in ["-TERM", "-INT"] {
        let mut server = Server::start(&["--bare", "--listen", "127.0.0.1:0"]);
        send_signal(&server, signal);
        assert_eq!(server.process.wait().unwrap().code(), Some(0));
    }
}

#[cfg(unix)]
#[test]
fn a_second_signal_forces_it_to_stop_with_another_exit_code() {
    let mut server = Server::start(&["--bare", "--listen", "127.0.0.1:0"]);
    // A request whose body does not come delays the end.
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
fn what_cannot_be_is_said_in_a_sentence() {
    let (code, said) = failed(&["--listen", "0.0.0.0:0"]);
    assert_eq!(code, Some(2));
    assert!(
        said.starts_with("stuntdouble: 0.0.0.0:0 is not a loopback address"),
        "{said}"
    );

    let server = Server::start(&["--bare", "--listen", "127.0.0.1:0"]);
    let (code, said) = failed(&["--listen", server.address()]);
    assert_eq!(code, Some(3));
    assert!(
        said.contains("is in use: stop what listens there, or take another port"),
        "{said}"
    );

    let (code, said) = failed(&[
        "--secure-listen",
        "127.0.0.1:0",
        "--token-file",
        "no-such-file",
        "--listen",
        "127.0.0.1:0",
    ]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("stuntdouble: no-such-file: "), "{said}");

    for arguments in [
        ["--dial", "x"],
        ["--clock", "noon"],
        ["--profile", "none"],
        ["--service-cluster-ip-range", "10.0.0.0"],
    ] {
        assert_eq!(failed(&arguments).0, Some(2), "{arguments:?}");
    }
}

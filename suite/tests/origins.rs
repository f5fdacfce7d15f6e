//! Which requests the servers of the program accept: by their Host, Origin and Sec-Fetch-Site headers.

#![allow(clippy::unwrap_used, reason = "what a test cannot do without fails it")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output};

use server::Server;

mod server;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stuntdouble"));
    command.args(arguments);
    command
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        Self::of(&mut command(arguments))
    }

    /// The head of the response to a request with these header lines.
    fn head(&self, path: &str, lines: &str) -> String {
        let mut socket = TcpStream::connect(self.address()).unwrap();
        let lines = lines.replace("SELF", self.address());
        write!(socket, "GET {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n").unwrap();
        let mut response = Vec::new();
        socket.read_to_end(&mut response).unwrap();
        let text = String::from_utf8_lossy(&response);
        text.split("\r\n\r\n").next().unwrap().to_ascii_lowercase()
    }

    fn code(&self, path: &str, lines: &str) -> u16 {
        self.head(path, lines).split(' ').nth(1).unwrap().parse().unwrap()
    }
}

#[test]
fn every_server_accepts_its_own_hosts_and_origins_only() {
    let folder = tempfile::tempdir().unwrap();
    let cassette = folder.path().join("session.yaml").display().to_string();
    let upstream = Server::start(&["serve", "--bare", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}", upstream.address());
    let listen = [
        "--listen",
        "127.0.0.1:0",
        "--allow-host",
        "api.test",
        "--allow-origin",
        "https://page.test",
    ];
    let commands: [(&[&str], &str); 5] = [
        (&["serve", "--bare"], "/api"),
        (&["search"], "/"),
        (&["proxy", "--upstream", &url], "/api"),
        (&["record", "--upstream", &url, "-o", &cassette], "/api"),
        (
            &["replay", "../cassettes/sessions/kubernetes-1.2/discovery.yaml"],
            "/api",
        ),
    ];
    for (arguments, path) in commands {
        let server = Server::start(&[arguments, &listen].concat());
        for (lines, code) in [
            ("Host: SELF\r\n", 200),
            ("Host: localhost\r\n", 200),
            ("Host: api.test:8080\r\n", 200),
            ("Host: evil.test\r\n", 403),
            ("Host: localhost.evil.test\r\n", 403),
            ("", 400),
            ("Host: SELF\r\nHost: SELF\r\n", 400),
            ("Host: SELF\r\nOrigin: http://SELF\r\n", 200),
            ("Host: SELF\r\nOrigin: http://localhost:1\r\n", 403),
            ("Host: SELF\r\nOrigin: http://evil.test\r\n", 403),
            ("Host: SELF\r\nOrigin: null\r\n", 403),
            ("Host: SELF\r\nSec-Fetch-Site: same-origin\r\n", 200),
            ("Host: SELF\r\nSec-Fetch-Site: cross-site\r\n", 403),
        ] {
            assert_eq!(server.code(path, lines), code, "{arguments:?} {lines:?}");
        }
        let cors = "access-control-allow-origin: https://page.test";
        let page = "Host: SELF\r\nSec-Fetch-Site: cross-site\r\nOrigin: https://page.test\r\n";
        let head = server.head(path, page);
        assert!(
            head.starts_with("http/1.1 200") && head.contains(cors),
            "{arguments:?} {head}"
        );
        assert!(
            !server.head(path, "Host: SELF\r\n").contains("access-control"),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_web_socket_of_a_foreign_page_is_refused() {
    for profile in ["documented", "kubernetes-1.2"] {
        let server = Server::start(&["serve", "--bare", "--profile", profile, "--listen", "127.0.0.1:0"]);
        let watch = "/api/v1/watch/namespaces?timeoutSeconds=1";
        let upgrade =
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let foreign = format!("Host: SELF\r\nOrigin: http://evil.test\r\n{upgrade}");
        assert_eq!(server.code(watch, &foreign), 403, "{profile}");
    }
}

#[test]
fn credentials_are_used_on_the_loopback_interface_unless_allowed() {
    let token = [
        "--upstream",
        "http://127.0.0.1:1",
        "--token",
        "secret",
        "--listen",
        "0.0.0.0:0",
    ];
    let replay = [
        "replay",
        "../cassettes/sessions/kubernetes-1.2/discovery.yaml",
        "--on-miss",
        "forward:http://127.0.0.1:1",
    ];
    for arguments in [
        [&["proxy"], &token[..]].concat(),
        [&["record", "-o", "no-such-folder/x.yaml"], &token[..]].concat(),
        [&replay[..], &token[2..]].concat(),
    ] {
        let Output { status, stderr, .. } = command(&arguments).output().unwrap();
        let text = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(2), "{arguments:?} {text}");
        assert!(text.contains("--allow-remote"), "{text}");
    }
    let remote = Server::start(&[&["proxy", "--allow-remote"], &token[..]].concat());
    assert!(remote.address().starts_with("0.0.0.0:"));
}

#[test]
fn the_proxy_refuses_paths_into_containers_unless_allowed() {
    let upstream = Server::start(&["serve", "--bare", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}", upstream.address());
    let proxy = ["proxy", "--upstream", &url, "--listen", "127.0.0.1:0"];
    let (exec, attach) = (
        "/api/v1/namespaces/default/pods/a/exec",
        "/api/v1/namespaces/default/pods/a/attach",
    );
    let closed = Server::start(&proxy);
    assert_eq!(closed.code(exec, "Host: SELF\r\n"), 403);
    assert_eq!(
        closed.code("/api/v1/namespaces/default/pods/a/log", "Host: SELF\r\n"),
        404
    );
    let open = Server::start(&[&proxy[..], &["--allow-path", "/pods/[^/]+/exec$"]].concat());
    assert_eq!(open.code(exec, "Host: SELF\r\n"), 404);
    assert_eq!(open.code(attach, "Host: SELF\r\n"), 403);
}

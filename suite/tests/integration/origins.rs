//! Checks of the Host, Origin and Sec-Fetch-Site headers by every server of the program.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::server::{Server, command};

impl Server {
    /// Sends a GET request with these header lines. Returns the head of the response.
    fn head(&self, path: &str, lines: &str) -> String {
        let response = self.exchange("GET", path, lines, "");
        response.split("\r\n\r\n").next().unwrap().to_ascii_lowercase()
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
fn a_web_socket_of_another_origin_is_refused() {
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

const CHROMIUM: &str = "/usr/bin/chromium";

/// Time limit for a browser to start and report.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A page that attempts several requests to SERVER and reports one line for each to its origin.
const PAGE: &str = r#"<!DOCTYPE html><script>
const server = "SERVER";
const attempt = (name, work) => work().then(
  value => `${name}: ${value.replace(/\s+/g, " ")}`,
  () => `${name}: blocked`,
);
const fetched = (path, options) => async () => (await fetch(`http://${server}${path}`, options)).text();
const socket = path => () => new Promise((opened, refused) => {
  const watch = new WebSocket(`ws://${server}${path}`);
  watch.onopen = () => opened("opened");
  watch.onerror = refused;
});
const loaded = path => () => new Promise((done, refused) => {
  const script = document.createElement("script");
  script.onload = () => done("loaded");
  script.onerror = refused;
  script.src = `http://${server}${path}`;
  document.head.append(script);
});
const body = JSON.stringify({ metadata: { name: "planted" } });
Promise.all([
  attempt("read", fetched("/api", {})),
  attempt("write", fetched("/api/v1/namespaces", { method: "POST", body })),
  attempt("blind write", fetched("/api/v1/namespaces", { method: "POST", body, mode: "no-cors" })),
  attempt("typed write", fetched("/api/v1/namespaces", {
    method: "POST", body, headers: { "Content-Type": "application/json" },
  })),
  attempt("delete", fetched("/api/v1/namespaces/kept", { method: "DELETE" })),
  attempt("socket", socket("/api/v1/watch/namespaces")),
  attempt("script", loaded("/api")),
]).then(lines => fetch("/report", { method: "POST", body: lines.join("\n") }));
</script>"#;

/// Serves the page, opens it in a browser at `http://localhost`, and returns its report.
fn reported_by_a_page(server: impl Fn(&str) -> Server) -> (Server, BTreeMap<String, String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = server(&format!("http://localhost:{port}"));
    let page = PAGE.replace("SERVER", server.address());
    let (sender, report) = mpsc::channel();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (sender, page) = (sender.clone(), page.clone());
            // A thread per connection: a browser opens connections that it does not use at once.
            thread::spawn(move || {
                let mut socket = socket.unwrap();
                let mut reader = BufReader::new(socket.try_clone().unwrap());
                let (mut head, mut length) = (String::new(), 0);
                while reader.read_line(&mut head).is_ok_and(|count| count > 2) {
                    let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
                    if let Some(value) = line.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                if head.starts_with("POST /report") {
                    let _ = sender.send(String::from_utf8(body).unwrap());
                }
                let length = page.len();
                let _ = write!(
                    socket,
                    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\
                     connection: close\r\n\r\n{page}"
                );
            });
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let mut browser = Command::new(CHROMIUM)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg(format!("http://localhost:{port}/"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let report = report.recv_timeout(TIMEOUT);
    let _ = browser.kill();
    let _ = browser.wait();
    let lines = report.expect("the page did not report in time");
    let pairs = lines.lines().map(|line| line.split_once(": ").unwrap());
    let report = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    (server, report)
}

#[test]
fn a_page_in_a_browser_reaches_a_server_only_if_its_origin_is_allowed() {
    if !Path::new(CHROMIUM).exists() {
        println!("skipped: {CHROMIUM} is not installed");
        return;
    }
    let start = |more: &[&str]| {
        let server = Server::start(&[&["serve", "--bare", "--listen", "127.0.0.1:0"], more].concat());
        let namespace = r#"{"metadata":{"name":"kept"}}"#;
        let created = server.exchange("POST", "/api/v1/namespaces", "Host: SELF\r\n", namespace);
        assert!(created.starts_with("HTTP/1.1 200 "), "{created}");
        server
    };
    let names = |server: &Server| {
        ["kept", "planted"].map(|name| server.code(&format!("/api/v1/namespaces/{name}"), "Host: SELF\r\n"))
    };
    let (server, foreign) = reported_by_a_page(|_| start(&[]));
    for (name, value) in &foreign {
        // A no-cors request has an empty response in any case.
        let expected = if name == "blind write" { "" } else { "blocked" };
        assert_eq!(value, expected, "{name}");
    }
    assert_eq!((foreign.len(), names(&server)), (7, [200, 404]));
    let (server, allowed) = reported_by_a_page(|origin| start(&["--allow-origin", origin]));
    assert!(allowed["read"].starts_with("{"), "{allowed:?}");
    assert_eq!(allowed["socket"], "opened", "{allowed:?}");
    assert_eq!(names(&server)[1], 200, "{allowed:?}");
}

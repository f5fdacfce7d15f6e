//! Operation of the servers: signals, limits, logs, generated files.

#![cfg(unix)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::server::{PROGRAM, Server, command};

const CASSETTE: &str = "../cassettes/sessions/kubernetes-1.2/discovery.yaml";

impl Server {
    /// Starts a server and captures its standard error.
    fn logged(command: &mut Command) -> Self {
        Self::of(command.stderr(Stdio::piped()))
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        self.exchange(method, path, "Host: localhost\r\n", body)
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([signal, &self.process.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Stops the server. Returns its exit code and standard error.
    fn stop(&mut self, signal: &str) -> (Option<i32>, String) {
        self.signal(signal);
        let mut text = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (self.process.wait().unwrap().code(), text)
    }
}

/// Whether this process ignores SIGHUP, as under `nohup`. Servers that it starts then ignore it, too.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|set| u64::from_str_radix(set.trim(), 16).is_ok_and(|set| set & 1 == 1))
}

#[test]
fn every_server_stops_at_each_signal_and_says_so() {
    let signals: &[&str] = match ignores_hangup() {
        true => &["-TERM", "-INT"],
        false => &["-TERM", "-INT", "-HUP"],
    };
    let upstream = Server::logged(&mut command(&["serve", "--bare", "--listen", "0"]));
    let url = format!("http://{}", upstream.address());
    let folder = tempfile::tempdir().unwrap();
    let cassette = folder.path().join("session.yaml").display().to_string();
    for arguments in [
        &["serve", "--bare"][..],
        &["search"],
        &["proxy", "--upstream", &url],
        &["record", "--force", "--upstream", &url, "-o", &cassette],
        &["replay", CASSETTE],
    ] {
        for signal in signals {
            let mut server = Server::logged(&mut command(&[arguments, &["--listen", "0"]].concat()));
            // An upload that never ends.
            let mut stalled = server.connect();
            let head = "POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{";
            stalled.write_all(head.as_bytes()).unwrap();
            let (code, text) = server.stop(signal);
            assert_eq!(code, Some(0), "{arguments:?} {signal} {text}");
            assert!(text.ends_with("stuntdouble: stopped\n"), "{arguments:?} {text}");
        }
    }
}

#[test]
fn a_server_that_runs_out_of_file_descriptors_recovers() {
    for arguments in ["serve --bare", "search", &format!("replay {CASSETTE}")] {
        let script = format!("ulimit -n 40; exec '{PROGRAM}' {arguments} --listen 0");
        let server = Server::logged(Command::new("sh").args(["-c", &script]));
        let sockets: Vec<TcpStream> = (0..80).map(|_| server.connect()).collect();
        drop(sockets);
        let response = server.ask("GET", "/api", "");
        assert!(response.starts_with("HTTP/1.1 "), "{arguments}: {response}");
    }
}

/// Returns the resident memory of a process in bytes, without the pages of its program file, which are many in a debug
/// build.
#[cfg(target_os = "linux")]
fn memory(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// `STUNTDOUBLE_UPDATES` sets the number of updates.
#[cfg(target_os = "linux")]
#[test]
fn updates_of_a_large_object_take_a_bounded_amount_of_memory() {
    let updates = std::env::var("STUNTDOUBLE_UPDATES").map_or(200, |n| n.parse().unwrap());
    let server = Server::logged(&mut command(&["serve", "--bare", "--listen", "0"]));
    let path = "/api/v1/namespaces/default/configmaps";
    let created = server.ask("POST", path, r#"{"metadata":{"name":"a"}}"#);
    assert!(created.starts_with("HTTP/1.1 200"), "{created}");
    // With watchers, encoded frames are kept with the objects.
    let watchers: Vec<_> = ["", "&timeoutSeconds=600"]
        .map(|query| {
            let mut watcher = server.connect();
            let request = format!("GET {path}?watch=true{query} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            watcher.write_all(request.as_bytes()).unwrap();
            std::thread::spawn(move || std::io::copy(&mut watcher, &mut std::io::sink()).unwrap_or_default())
        })
        .into();
    let filler = "x".repeat(1_000_000);
    for n in 0..updates {
        let object = format!(r#"{{"metadata":{{"name":"a"}},"data":{{"n":"{n}","filler":"{filler}"}}}}"#);
        let response = server.ask("PUT", &format!("{path}/a"), &object);
        assert!(
            response.starts_with("HTTP/1.1 200"),
            "{}",
            &response[..200.min(response.len())]
        );
    }
    let used = memory(server.process.id());
    println!("{updates} updates: {} MB", used / 1_000_000);
    assert!(used < 200_000_000, "{} MB", used / 1_000_000);
    drop(server);
    for watcher in watchers {
        assert!(watcher.join().unwrap() > 1_000_000, "a watcher received nothing");
    }
}

#[test]
fn requests_are_logged_as_text_or_json_without_their_queries() {
    let (silent, text, json) = (
        &["--listen", "0"][..],
        &["--listen", "0", "-v"][..],
        &["--listen", "0", "--log", "info", "--log-format", "json"][..],
    );
    for (flags, found) in [
        (silent, None),
        (text, Some("status=404")),
        (json, Some("\"status\":404")),
    ] {
        let mut server = Server::logged(&mut command(&[&["serve", "--bare"], flags].concat()));
        server.ask("GET", "/nowhere?token=hush", "");
        let (_, log) = server.stop("-TERM");
        assert!(!log.contains("hush"), "{log}");
        let line = log.lines().find(|line| line.contains("/nowhere"));
        assert_eq!(line.is_some(), found.is_some(), "{log}");
        assert!(found.is_none_or(|found| line.unwrap().contains(found)), "{log}");
        if flags == json {
            let event: serde_json::Value = serde_json::from_str(line.unwrap()).unwrap();
            assert_eq!((&event["method"], &event["path"]), (&"GET".into(), &"/nowhere".into()));
        }
    }
}

#[test]
fn completions_and_man_pages_are_generated() {
    let folder = tempfile::tempdir().unwrap();
    let man = folder.path().display().to_string();
    assert!(
        Command::new(PROGRAM)
            .args(["generate", "man", &man])
            .status()
            .unwrap()
            .success()
    );
    let page = std::fs::read_to_string(folder.path().join("stuntdouble-serve.1")).unwrap();
    assert!(page.contains("secure\\-listen"), "{page}");
    let bash = Command::new(PROGRAM)
        .args(["generate", "completions", "bash"])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&bash.stdout).contains("--secure-listen"));
}

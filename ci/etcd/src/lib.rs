//! etcd clusters on loopback ports, for tests.
//!
//! The program `etcd` comes from the system; without it there is no cluster, and a test says so and ends. The members end with the process that started them,
//! however that ends.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test cannot do without fails it"
)]

mod certificates;
mod faulty_link;

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, BufRead, BufReader},
    net::{Ipv4Addr, TcpListener},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
};

use tempfile::TempDir;

pub use certificates::Certificates;
pub use faulty_link::{Fault, FaultyLink};

/// Starts a member, prints its process number, and kills it when its own standard input ends.
const SCRIPT: &str = r#"etcd "$@" & echo "process $!" >&2; read -r _; kill -9 $!; wait $! 2>/dev/null"#;
/// What a member prints when it answers.
const READY: &str = "ready to serve client requests";
/// How often a cluster is started on other ports if one of its ports was taken meanwhile.
const TRIES: usize = 5;

/// A cluster of etcd.
#[derive(Debug)]
pub struct Cluster {
    members: Vec<Member>,
    certificates: Option<Certificates>,
    _directory: TempDir,
}

/// A member: its arguments, and its process while it runs.
#[derive(Debug)]
struct Member {
    url: String,
    arguments: Vec<String>,
    process: Option<Process>,
}

#[derive(Debug)]
struct Process {
    shell: Child,
    _stdin: ChildStdin,
    id: String,
}

impl Process {
    /// The process, and what it prints.
    fn start(arguments: &[String]) -> (Self, Receiver<String>) {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "etcd"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let printed = BufReader::new(shell.stderr.take().unwrap());
        // It is read to its end, so that the member never waits for a reader.
        thread::spawn(move || {
            for line in printed.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let id = loop {
            let line = lines.recv().expect("the shell starts etcd");
            if let Some(id) = line.strip_prefix("process ") {
                break id.to_owned();
            }
        };
        let process = Self {
            _stdin: shell.stdin.take().unwrap(),
            shell,
            id,
        };
        (process, lines)
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.id]).status().unwrap();
        assert!(sent.success(), "kill {name} {}", self.id);
    }
}

/// Waits until a member answers; `false` if it ends.
fn is_ready(lines: &Receiver<String>) -> bool {
    for line in lines {
        if line.contains(READY) {
            return true;
        }
        if line.contains("address already in use") {
            return false;
        }
    }
    false
}

/// A free port below those that the system gives to connections: one of those could be in use when a member starts again.
fn free_port() -> TcpListener {
    loop {
        let random = RandomState::new().build_hasher().finish();
        let port = u16::try_from(random % 20_000).expect("a small number") + 10_000;
        if let Ok(bound) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return bound;
        }
    }
}

/// The arguments of a member with TLS.
fn secured(certificates: &Certificates) -> [String; 4] {
    [
        "--client-cert-auth".to_owned(),
        format!("--trusted-ca-file={}", certificates.authority.display()),
        format!("--cert-file={}", certificates.member.display()),
        format!("--key-file={}", certificates.member_key.display()),
    ]
}

impl Cluster {
    /// A cluster that answers; `None`, and a line that says so, if the program `etcd` is not installed.
    pub fn start(members: usize) -> Option<Self> {
        Self::start_with(members, false)
    }

    /// The same with TLS: its clients need a certificate of its authority.
    pub fn start_secure(members: usize) -> Option<Self> {
        Self::start_with(members, true)
    }

    fn start_with(members: usize, is_secure: bool) -> Option<Self> {
        let found = Command::new("etcd").arg("--version").stdout(Stdio::null()).status();
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            println!("skipped: etcd is not installed");
            return None;
        }
        let started = (0..TRIES).find_map(|_| Self::attempt(members, is_secure));
        Some(started.expect("etcd starts"))
    }

    fn attempt(count: usize, is_secure: bool) -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let certificates = is_secure.then(|| Certificates::make(directory.path()));
        // All are bound at the same time, so that they differ.
        let bound: Vec<TcpListener> = (0..2 * count).map(|_| free_port()).collect();
        let urls: Vec<String> = bound
            .iter()
            .map(|listener| format!("http://{}", listener.local_addr().unwrap()))
            .collect();
        drop(bound);
        let (clients, peers) = urls.split_at(count);
        let clients: Vec<String> = match is_secure {
            true => clients.iter().map(|url| url.replace("http:", "https:")).collect(),
            false => clients.to_vec(),
        };
        let named = peers.iter().enumerate().map(|(n, url)| format!("m{n}={url}"));
        let initial = named.collect::<Vec<_>>().join(",");
        let mut members: Vec<Member> = (0..count)
            .map(|n| {
                let data = directory.path().join(format!("m{n}")).display().to_string();
                let flags = [
                    ("name", format!("m{n}")),
                    ("data-dir", data),
                    ("listen-client-urls", clients[n].clone()),
                    ("advertise-client-urls", clients[n].clone()),
                    ("listen-peer-urls", peers[n].clone()),
                    ("initial-advertise-peer-urls", peers[n].clone()),
                    ("initial-cluster", initial.clone()),
                ];
                let mut arguments: Vec<String> = flags.map(|(flag, value)| format!("--{flag}={value}")).into();
                arguments.extend(certificates.iter().flat_map(secured));
                Member {
                    url: clients[n].clone(),
                    arguments,
                    process: None,
                }
            })
            .collect();
        let mut printed = Vec::new();
        for member in &mut members {
            let (process, lines) = Process::start(&member.arguments);
            member.process = Some(process);
            printed.push(lines);
        }
        printed.iter().all(is_ready).then_some(Self {
            members,
            certificates,
            _directory: directory,
        })
    }

    /// The certificates of a cluster with TLS.
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// The URLs of the members.
    pub fn urls(&self) -> Vec<String> {
        self.members.iter().map(|member| member.url.clone()).collect()
    }

    /// Kills a member (SIGKILL).
    pub fn kill(&mut self, member: usize) {
        self.members[member].process = None;
    }

    /// Starts a killed member again; returns once it answers.
    pub fn restart(&mut self, member: usize) {
        let member = &mut self.members[member];
        let started = (0..TRIES).find_map(|_| {
            let (process, lines) = Process::start(&member.arguments);
            is_ready(&lines).then_some(process)
        });
        member.process = Some(started.expect("the member starts again"));
    }

    /// Stops a member (SIGSTOP): its connections stay open and nothing is answered.
    pub fn pause(&self, member: usize) {
        self.signal(member, "-STOP");
    }

    /// Lets a paused member go on.
    pub fn resume(&self, member: usize) {
        self.signal(member, "-CONT");
    }

    fn signal(&self, member: usize, name: &str) {
        let process = self.members[member].process.as_ref();
        process.expect("the member runs").signal(name);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A member that is paused, or has ended, cannot stop the others from ending.
        let _ = Command::new("kill")
            .args(["-KILL", &self.id])
            .stderr(Stdio::null())
            .status();
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

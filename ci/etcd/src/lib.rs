//! etcd clusters on loopback ports, for tests.
//!
//! The program `etcd` must be installed. Without it there is no cluster, and a test prints that it is skipped. The
//! members end with the process that started them, even if it is killed.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may panic, and so may its helpers"
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

/// Starts a member, prints its process id, and kills it at the end of the script's standard input.
const SCRIPT: &str = r#"etcd "$@" & echo "process $!" >&2; read -r _; kill -9 $!; wait $! 2>/dev/null"#;
/// Text that a member prints when it is ready.
const READY: &str = "ready to serve client requests";
/// Number of attempts to start, on other ports, if a port was taken in the meantime.
const ATTEMPTS: usize = 5;

/// An etcd cluster.
#[derive(Debug)]
pub struct Cluster {
    members: Vec<Member>,
    certificates: Option<Certificates>,
    _directory: TempDir,
}

/// A member: its arguments, and its process if it is running.
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
    /// Starts a process. Returns the lines that it prints, too.
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
        // Read everything, so that the member never blocks on a full pipe.
        thread::spawn(move || {
            for line in printed.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let id = loop {
            let line = lines.recv().expect("the shell did not start etcd");
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

/// Waits until a member is ready. Returns `false` if it ended.
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

/// Returns a free port below the ephemeral ports: one of those could be in use when a member restarts.
fn free_port() -> TcpListener {
    loop {
        let random = RandomState::new().build_hasher().finish();
        let port = u16::try_from(random % 20_000).expect("the port does not fit into u16") + 10_000;
        if let Ok(bound) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return bound;
        }
    }
}

/// Returns the TLS arguments of a member.
fn secured(certificates: &Certificates) -> [String; 4] {
    [
        "--client-cert-auth".to_owned(),
        format!("--trusted-ca-file={}", certificates.authority.display()),
        format!("--cert-file={}", certificates.member.display()),
        format!("--key-file={}", certificates.member_key.display()),
    ]
}

impl Cluster {
    /// Starts a cluster and waits until it is ready. Prints a message and returns `None` if `etcd` is not installed.
    pub fn start(members: usize) -> Option<Self> {
        Self::start_with(members, false)
    }

    /// Starts a cluster with TLS. Its clients need a certificate of its authority.
    pub fn start_secure(members: usize) -> Option<Self> {
        Self::start_with(members, true)
    }

    fn start_with(members: usize, is_secure: bool) -> Option<Self> {
        let found = Command::new("etcd").arg("--version").stdout(Stdio::null()).status();
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            println!("skipped: etcd is not installed");
            return None;
        }
        let started = (0..ATTEMPTS).find_map(|_| Self::attempt(members, is_secure));
        Some(started.expect("etcd did not start"))
    }

    fn attempt(count: usize, is_secure: bool) -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let certificates = is_secure.then(|| Certificates::make(directory.path()));
        // All ports are bound at the same time, so that they differ.
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

    /// Returns the certificates of a cluster with TLS.
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// Returns the URLs of the members.
    pub fn urls(&self) -> Vec<String> {
        self.members.iter().map(|member| member.url.clone()).collect()
    }

    /// Kills a member (SIGKILL).
    pub fn kill(&mut self, member: usize) {
        self.members[member].process = None;
    }

    /// Restarts a killed member and waits until it is ready.
    pub fn restart(&mut self, member: usize) {
        let member = &mut self.members[member];
        let started = (0..ATTEMPTS).find_map(|_| {
            let (process, lines) = Process::start(&member.arguments);
            is_ready(&lines).then_some(process)
        });
        member.process = Some(started.expect("the member did not restart"));
    }

    /// Pauses a member (SIGSTOP): its connections stay open, but it does not respond.
    pub fn pause(&self, member: usize) {
        self.signal(member, "-STOP");
    }

    /// Resumes a paused member (SIGCONT).
    pub fn resume(&self, member: usize) {
        self.signal(member, "-CONT");
    }

    fn signal(&self, member: usize, name: &str) {
        let process = self.members[member].process.as_ref();
        process.expect("the member is not running").signal(name);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if the member has ended: not an error. SIGKILL also ends a paused one.
        let _ = Command::new("kill")
            .args(["-KILL", &self.id])
            .stderr(Stdio::null())
            .status();
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

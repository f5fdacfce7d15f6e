//! A server process started by a test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// The path of the program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_stuntdouble");

/// Returns a command that runs the program.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    command
}

/// Creates a client for plain HTTP. Reading the system's certificates would take longer than most requests.
pub(crate) fn client() -> reqwest::Client {
    // Even a client for plain HTTP needs a TLS provider. Fails if the same one is already installed.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([]).build().unwrap()
}

/// A server process. Dropping it kills it.
pub(crate) struct Server {
    pub(crate) process: Child,
    /// The URLs of the ready line; the first is that of the insecure listener.
    pub(crate) urls: Vec<String>,
}

impl Server {
    /// Starts the program and waits for its ready line.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::of(&mut command(arguments))
    }

    /// Starts a command and waits for its ready line.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut ready)
            .unwrap();
        let urls = ready
            .trim()
            .strip_prefix("ready: ")
            .unwrap_or_else(|| panic!("expected a ready line, got {ready:?}"))
            .split(' ')
            .map(str::to_owned)
            .collect();
        Self { process, urls }
    }

    /// Returns host and port of the first URL.
    pub(crate) fn address(&self) -> &str {
        self.urls[0].strip_prefix("http://").unwrap()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address()).unwrap()
    }

    /// Sends a request with these header lines, in which `SELF` is the address of the server. Returns the response
    /// with its head.
    pub(crate) fn exchange(&self, method: &str, path: &str, lines: &str, body: &str) -> String {
        let mut socket = self.connect();
        let lines = lines.replace("SELF", self.address());
        let length = body.len();
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\n{lines}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut response = Vec::new();
        socket.read_to_end(&mut response).unwrap();
        String::from_utf8_lossy(&response).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

//! A raw HTTP client, for tests that check bytes.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// Timeout of every test step.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    /// Status line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

pub(crate) struct Wire {
    socket: TcpStream,
    buffer: Vec<u8>,
}

impl Wire {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).await.unwrap();
        socket.set_nodelay(true).unwrap();
        Self {
            socket,
            buffer: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // If the server has already closed the connection, the next read reports it.
        let _ = self.socket.write_all(bytes.as_ref()).await;
    }

    pub(crate) async fn request(&mut self, method: &str, path: &str, headers: &str, body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        let mut bytes = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        self.send(bytes).await;
    }

    pub(crate) async fn ask(&mut self, method: &str, path: &str, headers: &str, body: impl AsRef<[u8]>) -> Answer {
        self.request(method, path, headers, body).await;
        self.answer().await
    }

    /// Reads more data. Returns false at the end.
    pub(crate) async fn more(&mut self) -> bool {
        timeout(TIMEOUT, self.socket.read_buf(&mut self.buffer))
            .await
            .expect("the server responds")
            .is_ok_and(|read| read > 0)
    }

    /// Reads up to and including `end`, and returns the bytes.
    pub(crate) async fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|w| w == end) {
                return Some(self.buffer.drain(..at + end.len()).collect());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// Reads the head of the next response; `None` if the connection is closed.
    pub(crate) async fn head(&mut self) -> Option<Answer> {
        let head = String::from_utf8_lossy(&self.until(b"\r\n\r\n").await?).to_ascii_lowercase();
        let code = head.split(' ').nth(1)?.parse().ok()?;
        Some(Answer {
            code,
            head,
            body: Vec::new(),
        })
    }

    /// Reads the next response with its body, which has a length; `None` if the connection is closed.
    pub(crate) async fn next(&mut self) -> Option<Answer> {
        let mut answer = self.head().await?;
        let length: usize = answer.header("content-length")?.trim().parse().ok()?;
        while self.buffer.len() < length {
            assert!(self.more().await, "the body breaks off: {answer:?}");
        }
        answer.body = self.buffer.drain(..length).collect();
        Some(answer)
    }

    /// Skips this many bytes.
    pub(crate) async fn skip(&mut self, length: usize) {
        while self.buffer.len() < length {
            assert!(self.more().await, "the body breaks off");
        }
        self.buffer.drain(..length);
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        self.next().await.expect("a response with a length")
    }

    /// Returns whether the server closes the connection after the data read so far.
    pub(crate) async fn is_closed(&mut self) -> bool {
        while self.more().await {}
        true
    }
}

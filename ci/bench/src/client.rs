//! A cheap client: one request at a time per connection, and minimal parsing to find the end of a response.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use memchr::memmem;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Size of the read buffer, in bytes.
const BUFFER_BYTES: usize = 1 << 18;

/// Returns the bytes of a request. Patches are strategic merge patches.
pub(crate) fn request(method: &str, path: &str, body: &str) -> Vec<u8> {
    let media_type = match method {
        "PATCH" => "application/strategic-merge-patch+json",
        _ => "application/json",
    };
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media_type}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A connection.
pub(crate) struct Client {
    socket: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

impl Client {
    pub(crate) async fn connect(address: &str) -> Outcome<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Self {
            socket,
            buffer: vec![0; BUFFER_BYTES],
            filled: 0,
        })
    }

    async fn fill(&mut self) -> Outcome {
        match self.socket.read(&mut self.buffer[self.filled..]).await? {
            0 => Err("the server has closed the connection".into()),
            read => {
                self.filled += read;
                Ok(())
            }
        }
    }

    /// Reads the head of a response. Data after it stays in the buffer.
    async fn head(&mut self) -> Outcome<String> {
        let end = loop {
            if let Some(end) = memmem::find(&self.buffer[..self.filled], b"\r\n\r\n") {
                break end + 4;
            }
            self.fill().await?;
        };
        let head = std::str::from_utf8(&self.buffer[..end])?.to_ascii_lowercase();
        self.buffer.copy_within(end..self.filled, 0);
        self.filled -= end;
        Ok(head)
    }

    /// Sends a request and reads its response. Returns the size of the body, and the body if `keep`.
    ///
    /// # Errors
    /// If the response is not a success, or has no length.
    pub(crate) async fn exchange(&mut self, request: &[u8], keep: bool) -> Outcome<(usize, Vec<u8>)> {
        self.socket.write_all(request).await?;
        let head = self.head().await?;
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next())
            .ok_or_else(|| format!("no length: {head}"))?
            .parse()?;
        let is_success = head.starts_with("http/1.1 2");
        let (mut body, mut left): (Vec<u8>, usize) = (Vec::new(), length);
        loop {
            if keep || !is_success {
                body.extend_from_slice(&self.buffer[..self.filled]);
            }
            left = left.checked_sub(self.filled).ok_or("more than one response")?;
            self.filled = 0;
            if left == 0 {
                break;
            }
            self.fill().await?;
        }
        if is_success {
            Ok((length, body))
        } else {
            let start = String::from_utf8_lossy(request.get(..200).unwrap_or(request)).into_owned();
            Err(format!("{start}: {head}{}", String::from_utf8_lossy(&body)).into())
        }
    }

    /// Sends a request. Returns the body of the response.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, body: &str) -> Outcome<Vec<u8>> {
        Ok(self.exchange(&request(method, path, body), true).await?.1)
    }
}

/// Requests of a round, in order.
pub(crate) type Requests = Arc<Vec<Vec<u8>>>;

/// Sends all requests over several connections, each taking the next one. Returns requests per second.
pub(crate) async fn throughput(address: &str, connections: usize, requests: &Requests) -> Outcome<f64> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut clients = Vec::new();
    for _ in 0..connections {
        clients.push(Client::connect(address).await?);
    }
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for mut client in clients {
        let (next, requests) = (next.clone(), requests.clone());
        tasks.spawn(async move {
            while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                client.exchange(request, false).await?;
            }
            Outcome::Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(requests.len() as f64 / begun.elapsed().as_secs_f64())
}

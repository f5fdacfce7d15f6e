//! A client that costs little: one request at a time, and no more parsing than it takes to find the end of the answer.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

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
            buffer: vec![0; 1 << 18],
            filled: 0,
        })
    }

    pub(crate) async fn send(&mut self, method: &str, path: &str, body: &str) -> Outcome {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        Ok(self.socket.write_all(head.as_bytes()).await?)
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

    /// Reads a response's head; what has come behind it stays in the buffer.
    pub(crate) async fn head(&mut self) -> Outcome<String> {
        let end = loop {
            if let Some(end) = self.buffer[..self.filled].windows(4).position(|w| w == b"\r\n\r\n") {
                break end + 4;
            }
            self.fill().await?;
        };
        let head = std::str::from_utf8(&self.buffer[..end])?.to_ascii_lowercase();
        self.buffer.copy_within(end..self.filled, 0);
        self.filled -= end;
        if head.starts_with("http/1.1 2") {
            Ok(head)
        } else {
            Err(head.into())
        }
    }

    /// Reads a response whose length its head gives: the number of bytes of its body, and the body where `keep`.
    pub(crate) async fn receive(&mut self, keep: bool) -> Outcome<(usize, Vec<u8>)> {
        let head = self.head().await?;
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|t| t.split("\r\n").next())
            .ok_or("no length")?
            .parse()?;
        let (mut body, mut left) = (Vec::new(), length);
        loop {
            if keep {
                body.extend_from_slice(&self.buffer[..self.filled]);
            }
            left = usize::checked_sub(left, self.filled).ok_or("more than one answer")?;
            self.filled = 0;
            if left == 0 {
                return Ok((length, body));
            }
            self.fill().await?;
        }
    }

    pub(crate) async fn ask(&mut self, method: &str, path: &str, body: &str) -> Outcome<Vec<u8>> {
        self.send(method, path, body).await?;
        Ok(self.receive(true).await?.1)
    }

    /// Reads a stream until this many frames have come, each of which ends in a brace and a line's end.
    pub(crate) async fn lines(&mut self, mut expected: usize) -> Outcome {
        let mut last = 0;
        loop {
            for &byte in &self.buffer[..self.filled] {
                expected -= usize::from(last == b'}' && byte == b'\n');
                last = byte;
            }
            self.filled = 0;
            if expected == 0 {
                return Ok(());
            }
            self.fill().await?;
        }
    }
}

//! A client of a session that sends and receives single frames, for tests.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::{
    frame::{self, Control, FrameHeader},
    headers::{Compressor, Decompressor},
    session::Session,
};

/// A client that sends and receives single frames.
pub(crate) struct Peer {
    pub(super) io: DuplexStream,
    compressor: Compressor,
    decompressor: Decompressor,
}

/// A received frame.
#[derive(Debug, PartialEq)]
pub(crate) enum Received {
    Control(Control),
    Data { stream: u32, fin: bool, bytes: Vec<u8> },
}

impl Peer {
    /// Returns a client, and the server's end of its connection.
    pub(crate) fn new() -> (Self, DuplexStream) {
        let (io, far) = tokio::io::duplex(1 << 20);
        (
            Self {
                io,
                compressor: Compressor::new().unwrap(),
                decompressor: Decompressor::new(),
            },
            far,
        )
    }

    pub(super) fn connect() -> (Self, Session) {
        let (peer, far) = Self::new();
        (peer, Session::start(far))
    }

    pub(crate) async fn open(&mut self, stream: u32, kind: &str) {
        self.open_with(stream, &[("streamtype", kind)]).await;
    }

    pub(crate) async fn open_with(&mut self, stream: u32, headers: &[(&str, &str)]) {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let headers = self.compressor.compress(&headers).unwrap();
        self.control(Control::SynStream {
            stream,
            flags: 0,
            headers,
        })
        .await;
    }

    pub(crate) async fn control(&mut self, control: Control) {
        self.io.write_all(&control.encode()).await.unwrap();
    }

    pub(crate) async fn data(&mut self, stream: u32, fin: bool, bytes: &[u8]) {
        self.io
            .write_all(&frame::data_header(stream, u8::from(fin), bytes.len() as u32))
            .await
            .unwrap();
        self.io.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Received {
        let mut head = [0; frame::HEADER_BYTES];
        tokio::time::timeout(Duration::from_secs(20), self.io.read_exact(&mut head))
            .await
            .unwrap()
            .unwrap();
        match FrameHeader::parse(head).unwrap() {
            FrameHeader::Data { stream, flags, length } => {
                let mut bytes = vec![0; length];
                self.io.read_exact(&mut bytes).await.unwrap();
                Received::Data {
                    stream,
                    fin: flags & frame::FIN != 0,
                    bytes,
                }
            }
            FrameHeader::Control { kind, flags, length } => {
                let mut payload = vec![0; length];
                self.io.read_exact(&mut payload).await.unwrap();
                let control = Control::parse(kind, flags, payload.into()).unwrap();
                if let Control::SynReply { headers, .. } = &control {
                    assert_eq!(self.decompressor.decompress(headers), Ok(Vec::new()));
                }
                Received::Control(control)
            }
        }
    }

    pub(crate) async fn reply(&mut self, stream: u32) {
        assert!(
            matches!(self.next().await, Received::Control(Control::SynReply { stream: seen, .. }) if seen == stream)
        );
    }
}

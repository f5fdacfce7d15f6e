//! The other side of a session, frame by frame, for tests.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::{
    frame::{self, Control, Head},
    headers::{Packer, Unpacker},
    session::Session,
};

/// The peer, frame by frame.
pub(crate) struct Peer {
    pub(super) io: DuplexStream,
    packer: Packer,
    unpacker: Unpacker,
}

/// What the peer sees.
#[derive(Debug, PartialEq)]
pub(crate) enum Seen {
    Control(Control),
    Data { stream: u32, fin: bool, bytes: Vec<u8> },
}

impl Peer {
    /// A peer, and the other end of its connection.
    pub(crate) fn new() -> (Self, DuplexStream) {
        let (io, far) = tokio::io::duplex(1 << 20);
        (
            Self {
                io,
                packer: Packer::new().unwrap(),
                unpacker: Unpacker::new(),
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
        let headers = self.packer.pack(&headers).unwrap();
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
            .write_all(&frame::data_head(stream, u8::from(fin), bytes.len() as u32))
            .await
            .unwrap();
        self.io.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Seen {
        let mut head = [0; frame::HEAD];
        tokio::time::timeout(Duration::from_secs(20), self.io.read_exact(&mut head))
            .await
            .unwrap()
            .unwrap();
        match Head::parse(head).unwrap() {
            Head::Data { stream, flags, length } => {
                let mut bytes = vec![0; length];
                self.io.read_exact(&mut bytes).await.unwrap();
                Seen::Data {
                    stream,
                    fin: flags & frame::FIN != 0,
                    bytes,
                }
            }
            Head::Control { kind, flags, length } => {
                let mut payload = vec![0; length];
                self.io.read_exact(&mut payload).await.unwrap();
                let control = Control::parse(kind, flags, payload.into()).unwrap();
                if let Control::SynReply { headers, .. } = &control {
                    assert_eq!(self.unpacker.unpack(headers), Ok(Vec::new()));
                }
                Seen::Control(control)
            }
        }
    }

    pub(crate) async fn reply(&mut self, stream: u32) {
        assert!(matches!(self.next().await, Seen::Control(Control::SynReply { stream: seen, .. }) if seen == stream));
    }
}

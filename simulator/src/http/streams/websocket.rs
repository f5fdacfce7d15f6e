//! The channels of a process over WebSocket.
//!
//! - A message begins with its channel: 0 input, 1 output, 2 errors, 3 outcome, 4 sizes. In the `base64` forms the channel is a digit and the rest
//!   is base64; in the fifth version channel 255 ends the channel that it names.
//! - A first empty message tells the client that the way is open.

use std::io;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::{Bytes, BytesMut};
use futures::{SinkExt, StreamExt};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        protocol::{Role, WebSocketConfig},
    },
};

use super::{
    container::{Attachment, Exit, Process, Size},
    outcome,
};

/// How long a message of the client may be, in bytes.
pub(super) const MESSAGE: usize = 1 << 20;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;
const CLOSE: u8 = 255;

/// How channels stand in messages.
#[derive(Clone, Copy)]
struct Framing {
    base64: bool,
    /// Whether the outcome is a Status.
    status: bool,
    /// Whether channels can be ended.
    closes: bool,
}

impl Framing {
    fn of(protocol: &str) -> Self {
        let newer = protocol.starts_with("v4.") || protocol.starts_with("v5.");
        Self { base64: protocol.ends_with("base64.channel.k8s.io"), status: newer, closes: protocol.starts_with("v5.") }
    }

    fn write(self, channel: u8, bytes: &[u8]) -> Message {
        if self.base64 {
            return Message::text(format!("{channel}{}", BASE64_STANDARD.encode(bytes)));
        }
        let mut out = BytesMut::with_capacity(bytes.len() + 1);
        out.extend_from_slice(&[channel]);
        out.extend_from_slice(bytes);
        Message::Binary(out.freeze())
    }

    /// The channel and the bytes of a message; `None` where it is none.
    fn read(self, message: Message) -> Option<(u8, Bytes)> {
        let bytes = match message {
            Message::Text(text) => Bytes::from(text),
            Message::Binary(bytes) => bytes,
            _ => return None,
        };
        let (channel, rest) = (*bytes.first()?, bytes.slice(1..));
        if !self.base64 {
            return Some((channel, rest));
        }
        let rest = BASE64_STANDARD.decode(&rest).ok()?;
        channel.is_ascii_digit().then(|| (channel - b'0', rest.into()))
    }
}

/// Joins a process with a client that has finished its handshake on `io`.
pub(super) async fn run(io: impl AsyncRead + AsyncWrite + Unpin, protocol: &str, wanted: Attachment, process: Result<Process, String>) -> io::Result<()> {
    let config = WebSocketConfig::default().max_message_size(Some(MESSAGE)).max_frame_size(Some(MESSAGE));
    let framing = Framing::of(protocol);
    let (mut sink, mut incoming) = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await.split();
    let first = if wanted.stdout { STDOUT } else { if wanted.stderr { STDERR } else { ERROR } };
    sink.send(framing.write(first, b"")).await.map_err(io::Error::other)?;
    let exit = match process {
        Err(why) => Exit::Failed(why),
        Ok(Process { stdin, mut stdout, mut stderr, resize, exit }) => {
            let client = async {
                let mut stdin = wanted.stdin.then_some(stdin);
                while let Some(Ok(message)) = incoming.next().await {
                    if message.is_close() {
                        return;
                    }
                    let Some((channel, bytes)) = framing.read(message) else { continue };
                    take(framing, channel, bytes, &mut stdin, &resize).await;
                }
            };
            let container = async {
                let (mut output, mut errors) = (true, true);
                while output || errors {
                    let (channel, wanted, piece) = tokio::select! {
                        piece = stdout.recv(), if output => (STDOUT, wanted.stdout, piece),
                        piece = stderr.recv(), if errors => (STDERR, wanted.stderr && !wanted.tty, piece),
                    };
                    match piece {
                        None if channel == STDOUT => output = false,
                        None => errors = false,
                        Some(piece) if wanted => sink.send(framing.write(channel, &piece)).await.map_err(io::Error::other)?,
                        Some(_) => {}
                    }
                }
                Ok::<_, io::Error>(exit.await.unwrap_or_else(|_| Exit::Failed("the container is gone".to_owned())))
            };
            tokio::select! {
                exit = container => exit?,
                () = client => return Ok(()),
            }
        }
    };
    if let Some(message) = outcome::message(&exit, framing.status) {
        sink.send(framing.write(ERROR, &message)).await.map_err(io::Error::other)?;
    }
    // The client may have gone already.
    let _ = sink.send(Message::Close(None)).await;
    let _ = sink.close().await;
    Ok(())
}

async fn take(framing: Framing, channel: u8, bytes: Bytes, stdin: &mut Option<mpsc::Sender<Bytes>>, resize: &mpsc::Sender<Size>) {
    match channel {
        STDIN if !bytes.is_empty() => {
            if let Some(open) = stdin {
                // A process that reads no more does not keep the client from the rest.
                let _ = open.send(bytes).await;
            }
        }
        RESIZE => {
            if let Ok(size) = serde_json::from_slice(&bytes) {
                let _ = resize.send(size).await;
            }
        }
        CLOSE if framing.closes && bytes.first() == Some(&STDIN) => *stdin = None,
        _ => {}
    }
}

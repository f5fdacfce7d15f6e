//! Channels of a process over WebSocket.
//!
//! - A message begins with its channel: 0 stdin, 1 stdout, 2 stderr, 3 outcome, 4 terminal size. In the `base64`
//!   protocols the channel is a digit and the rest is base64. In version 5, a message of channel 255 closes the
//!   channel that it names.
//! - The first message is empty and signals that the connection is ready.

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
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::outcome;
use crate::{
    cluster::container::{Attachment, Exit, Process, Size},
    http::websocket::close,
};

/// Maximum length of a message from the client in bytes.
pub(super) const MAX_MESSAGE_BYTES: usize = 1 << 20;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;
const CLOSE: u8 = 255;

/// Encoding of channels in messages.
#[derive(Clone, Copy)]
struct Framing {
    base64: bool,
    /// Whether the outcome is a Status.
    status: bool,
    /// Whether channels can be closed.
    closes: bool,
}

impl Framing {
    fn of(protocol: &str) -> Self {
        let newer = protocol.starts_with("v4.") || protocol.starts_with("v5.");
        Self {
            base64: protocol.ends_with("base64.channel.k8s.io"),
            status: newer,
            closes: protocol.starts_with("v5."),
        }
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

    /// Returns the channel and data of a message, or `None` if it is malformed.
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

/// Connects a process with a client after its handshake on `io`.
pub(in crate::http) async fn run(
    io: impl AsyncRead + AsyncWrite + Unpin,
    protocol: &str,
    wanted: Attachment,
    process: Result<Process, String>,
) -> io::Result<()> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let framing = Framing::of(protocol);
    let (mut sink, mut incoming) = WebSocketStream::from_raw_socket(io, Role::Server, Some(config))
        .await
        .split();
    let first = match wanted {
        Attachment { stdout: true, .. } => STDOUT,
        Attachment { stderr: true, .. } => STDERR,
        _ => ERROR,
    };
    sink.send(framing.write(first, b"")).await.map_err(io::Error::other)?;
    let exit = match process {
        Err(why) => Exit::Failed(why),
        Ok(Process {
            stdin,
            mut stdout,
            mut stderr,
            resize,
            exit,
        }) => {
            let client = async {
                let mut stdin = wanted.stdin.then_some(stdin);
                while let Some(Ok(message)) = incoming.next().await {
                    if message.is_close() {
                        return;
                    }
                    let Some((channel, bytes)) = framing.read(message) else {
                        continue;
                    };
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
                        Some(piece) if wanted => sink
                            .send(framing.write(channel, &piece))
                            .await
                            .map_err(io::Error::other)?,
                        Some(_) => {}
                    }
                }
                Ok::<_, io::Error>(
                    exit.await
                        .unwrap_or_else(|_| Exit::Failed("the container is gone".to_owned())),
                )
            };
            tokio::select! {
                exit = container => exit?,
                () = client => return Ok(()),
            }
        }
    };
    if let Some(message) = outcome::message(&exit, framing.status) {
        sink.send(framing.write(ERROR, &message))
            .await
            .map_err(io::Error::other)?;
    }
    // Clients treat a close frame without a code as a failure.
    let normal = CloseFrame {
        code: CloseCode::Normal,
        reason: "".into(),
    };
    close(sink, incoming, Some(normal)).await;
    Ok(())
}

async fn take(
    framing: Framing,
    channel: u8,
    bytes: Bytes,
    stdin: &mut Option<mpsc::Sender<Bytes>>,
    resize: &mpsc::Sender<Size>,
) {
    match channel {
        STDIN if !bytes.is_empty() => {
            if let Some(open) = stdin {
                // A process that has stopped reading must not block the client.
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use tokio::{io::DuplexStream, sync::oneshot};

    use super::*;

    /// The container's ends of the streams of a process.
    struct Inside {
        stdin: mpsc::Receiver<Bytes>,
        stdout: mpsc::Sender<Bytes>,
        stderr: mpsc::Sender<Bytes>,
        resize: mpsc::Receiver<Size>,
        exit: oneshot::Sender<Exit>,
    }

    fn process() -> (Process, Inside) {
        let ((stdin, input), (out, stdout), (err, stderr), (resize, sizes)) =
            (mpsc::channel(4), mpsc::channel(4), mpsc::channel(4), mpsc::channel(4));
        let (ended, exit) = oneshot::channel();
        (
            Process {
                stdin,
                stdout,
                stderr,
                resize,
                exit,
            },
            Inside {
                stdin: input,
                stdout: out,
                stderr: err,
                resize: sizes,
                exit: ended,
            },
        )
    }

    const ALL: Attachment = Attachment {
        stdin: true,
        stdout: true,
        stderr: true,
        tty: false,
    };

    async fn client(protocol: &'static str, process: Result<Process, String>) -> WebSocketStream<DuplexStream> {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move { run(far, protocol, ALL, process).await });
        WebSocketStream::from_raw_socket(near, Role::Client, None).await
    }

    fn frame(base64: bool, channel: u8, text: &str) -> Message {
        if base64 {
            Message::text(format!("{channel}{}", BASE64_STANDARD.encode(text)))
        } else {
            Message::binary([&[channel], text.as_bytes()].concat())
        }
    }

    #[rstest]
    #[case("", false)]
    #[case("channel.k8s.io", false)]
    #[case("base64.channel.k8s.io", true)]
    #[case("v4.channel.k8s.io", false)]
    #[case("v4.base64.channel.k8s.io", true)]
    #[case("v5.channel.k8s.io", false)]
    #[tokio::test]
    async fn every_channel_has_its_stream(#[case] protocol: &'static str, #[case] base64: bool) {
        let (process, mut inside) = process();
        let mut client = client(protocol, Ok(process)).await;
        assert_eq!(client.next().await.unwrap().unwrap(), frame(base64, 1, ""));
        client.send(frame(base64, 0, "in")).await.unwrap();
        assert_eq!(inside.stdin.recv().await.unwrap(), "in");
        client
            .send(frame(base64, 4, r#"{"Width":80,"Height":24}"#))
            .await
            .unwrap();
        assert_eq!(inside.resize.recv().await.unwrap(), Size { width: 80, height: 24 });
        inside.stdout.send(Bytes::from_static(b"out")).await.unwrap();
        assert_eq!(client.next().await.unwrap().unwrap(), frame(base64, 1, "out"));
        inside.stderr.send(Bytes::from_static(b"err")).await.unwrap();
        assert_eq!(client.next().await.unwrap().unwrap(), frame(base64, 2, "err"));
        inside.exit.send(Exit::Code(0)).unwrap();
        drop((inside.stdout, inside.stderr));
        if protocol.starts_with('v') {
            assert_eq!(
                client.next().await.unwrap().unwrap(),
                frame(base64, 3, r#"{"metadata":{},"status":"Success"}"#)
            );
        }
        let Message::Close(Some(close)) = client.next().await.unwrap().unwrap() else {
            panic!("no close")
        };
        assert_eq!(close.code, CloseCode::Normal);
    }

    #[tokio::test]
    async fn only_version_5_closes_input() {
        let (process, mut inside) = process();
        let mut talking = client("v5.channel.k8s.io", Ok(process)).await;
        talking.send(Message::binary(vec![CLOSE, STDIN])).await.unwrap();
        assert_eq!(inside.stdin.recv().await, None);
        let (process, mut inside) = self::process();
        let mut talking = client("v4.channel.k8s.io", Ok(process)).await;
        talking.send(Message::binary(vec![CLOSE, STDIN])).await.unwrap();
        talking.send(frame(false, 0, "still")).await.unwrap();
        assert_eq!(inside.stdin.recv().await.unwrap(), "still");
    }

    #[tokio::test]
    async fn the_error_channel_reports_a_missing_container() {
        let mut client = client("channel.k8s.io", Err("container not found".to_owned())).await;
        assert_eq!(client.next().await.unwrap().unwrap(), frame(false, 1, ""));
        assert_eq!(
            client.next().await.unwrap().unwrap(),
            frame(false, 3, "container not found")
        );
    }

    #[tokio::test]
    async fn a_client_that_still_sends_receives_everything() {
        let (near, far) = tokio::io::duplex(1 << 16);
        let running = tokio::spawn(async move { run(far, "", ALL, Err("gone".to_owned())).await });
        let mut client = WebSocketStream::from_raw_socket(near, Role::Client, None).await;
        for text in ["", "gone"] {
            let said = client.next().await.unwrap().unwrap();
            assert!(said.into_data().ends_with(text.as_bytes()));
        }
        client.send(frame(false, 0, "unread")).await.unwrap();
        assert!(client.next().await.unwrap().unwrap().is_close());
        assert!(!running.is_finished());
        assert!(client.next().await.is_none());
        running.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_client_that_disconnects_detaches_from_the_process() {
        let (process, inside) = process();
        let mut client = client("", Ok(process)).await;
        client.close(None).await.unwrap();
        inside.stdout.closed().await;
    }
}

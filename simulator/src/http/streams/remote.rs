//! Remote commands: a process connected with a client over SPDY or WebSocket.

use std::{io, time::Duration};

use bytes::{Buf, Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};

use super::{outcome, protocol::Upgrade, websocket};
use crate::cluster::container::{Attachment, Exit, Process, Size};
use crate::http::spdy::{Reader, Session, Stream, Writer};

/// Time in which a client must open its streams.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum length of an incomplete terminal size in bytes.
const MAX_SIZE_BYTES: usize = 4096;

/// Connects a process, or the reason why it did not start, with a client over an upgraded connection.
pub(crate) async fn run(
    io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    upgrade: Upgrade,
    attachment: Attachment,
    process: Result<Process, String>,
) {
    match upgrade {
        Upgrade::Spdy { version } => {
            let mut session = Session::start(io);
            // A client that disconnects is not an error.
            let _ = over_spdy(&mut session, version, attachment, process).await;
            session.close().await;
        }
        Upgrade::WebSocket { protocol } => {
            let _ = websocket::run(io, protocol, attachment, process).await;
        }
    }
}

/// The streams of a client.
#[derive(Default)]
struct Streams {
    stdin: Option<Stream>,
    stdout: Option<Stream>,
    stderr: Option<Stream>,
    error: Option<Stream>,
    resize: Option<Stream>,
}

impl Streams {
    /// Waits for the required streams.
    async fn accept(session: &mut Session, version: &str, attachment: Attachment) -> Option<Self> {
        let resizes = attachment.tty && matches!(version, "v3.channel.k8s.io" | "v4.channel.k8s.io");
        let wanted = [
            attachment.stdin,
            attachment.stdout,
            attachment.stderr && !attachment.tty,
            resizes,
        ];
        let expected = 1 + wanted.into_iter().filter(|wanted| *wanted).count();
        let mut streams = Self::default();
        for _ in 0..expected {
            let stream = session.accept().await?;
            let place = match stream.header("streamtype") {
                "stdin" => &mut streams.stdin,
                "stdout" => &mut streams.stdout,
                "stderr" => &mut streams.stderr,
                "error" => &mut streams.error,
                "resize" => &mut streams.resize,
                _ => return None,
            };
            *place = Some(stream);
        }
        Some(streams)
    }
}

async fn over_spdy(
    session: &mut Session,
    version: &str,
    attachment: Attachment,
    process: Result<Process, String>,
) -> io::Result<()> {
    let accepted = tokio::time::timeout(OPEN_TIMEOUT, Streams::accept(session, version, attachment)).await;
    let Ok(Some(streams)) = accepted else {
        return Err(io::ErrorKind::TimedOut.into());
    };
    let Streams {
        stdin,
        stdout,
        stderr,
        error,
        resize,
    } = streams;
    let exit = match process {
        Err(why) => Exit::Failed(why),
        Ok(Process {
            stdin: input,
            stdout: output,
            stderr: errors,
            resize: sizes,
            exit,
        }) => {
            let talk = async {
                let stdin = stdin.map(|stream| tokio::spawn(feed(stream.reader, input)));
                let resize = resize.map(|stream| tokio::spawn(resize_to(stream.reader, sizes)));
                let (out, err) = tokio::join!(
                    drain(output, stdout.map(|s| s.writer)),
                    drain(errors, stderr.map(|s| s.writer))
                );
                let exit = exit
                    .await
                    .unwrap_or_else(|_| Exit::Failed("the container is gone".to_owned()));
                for task in stdin.into_iter().chain(resize) {
                    task.abort();
                }
                out.and(err).map(|()| exit)
            };
            tokio::select! {
                exit = talk => exit?,
                () = wait_for_disconnect(session) => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    };
    let Some(error) = error else { return Ok(()) };
    if let Some(message) = outcome::message(&exit, version == "v4.channel.k8s.io") {
        error.writer.write(message).await?;
    }
    error.writer.finish().await
}

/// Waits until the client disconnects. New streams are ignored.
async fn wait_for_disconnect(session: &mut Session) {
    while session.accept().await.is_some() {}
}

async fn feed(mut from: Reader, to: mpsc::Sender<Bytes>) {
    while let Some(piece) = from.read().await {
        if to.send(piece).await.is_err() {
            // The process has stopped reading; further input is dropped.
            while from.read().await.is_some() {}
        }
    }
}

async fn resize_to(mut from: Reader, to: mpsc::Sender<Size>) {
    let mut text = BytesMut::new();
    while let Some(piece) = from.read().await {
        text.extend_from_slice(&piece);
        for size in sizes(&mut text) {
            let _ = to.send(size).await;
        }
        if text.len() > MAX_SIZE_BYTES {
            return;
        }
    }
}

/// Removes the complete sizes from the start of `text`.
fn sizes(text: &mut BytesMut) -> Vec<Size> {
    let mut stream = serde_json::Deserializer::from_slice(text).into_iter::<Size>();
    let found: Vec<Size> = stream.by_ref().map_while(Result::ok).collect();
    let read = stream.byte_offset();
    text.advance(read.min(text.len()));
    found
}

async fn drain(mut from: mpsc::Receiver<Bytes>, to: Option<Writer>) -> io::Result<()> {
    let Some(to) = to else {
        // There is no stream for it, but the process must not block.
        while from.recv().await.is_some() {}
        return Ok(());
    };
    while let Some(piece) = from.recv().await {
        to.write(piece).await?;
    }
    to.finish().await
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use tokio::sync::oneshot;

    use super::*;
    use crate::http::spdy::peer::{Peer, Received};

    const ALL: Attachment = Attachment {
        stdin: true,
        stdout: true,
        stderr: true,
        tty: false,
    };

    fn data(stream: u32, text: &str) -> Received {
        Received::Data {
            stream,
            fin: false,
            bytes: text.into(),
        }
    }

    fn end(stream: u32) -> Received {
        Received::Data {
            stream,
            fin: true,
            bytes: Vec::new(),
        }
    }

    #[rstest]
    #[case("", None)]
    #[case("channel.k8s.io", None)]
    #[case("v2.channel.k8s.io", None)]
    #[case("v4.channel.k8s.io", Some("{\"metadata\":{},\"status\":\"Success\"}"))]
    #[tokio::test]
    async fn every_stream_has_its_data(#[case] version: &'static str, #[case] outcome: Option<&str>) {
        let ((stdin, mut input), (out, stdout), (err, stderr), (resize, _sizes)) =
            (mpsc::channel(4), mpsc::channel(4), mpsc::channel(4), mpsc::channel(4));
        let (ended, exit) = oneshot::channel();
        let (mut peer, far) = Peer::new();
        tokio::spawn(run(
            far,
            Upgrade::Spdy { version },
            ALL,
            Ok(Process {
                stdin,
                stdout,
                stderr,
                resize,
                exit,
            }),
        ));
        for (stream, kind) in [(1, "error"), (3, "stdin"), (5, "stdout"), (7, "stderr")] {
            peer.open(stream, kind).await;
            peer.reply(stream).await;
        }
        peer.data(3, true, b"in").await;
        assert_eq!(
            (input.recv().await.unwrap(), input.recv().await),
            (Bytes::from_static(b"in"), None)
        );
        out.send(Bytes::from_static(b"out")).await.unwrap();
        assert_eq!(peer.next().await, data(5, "out"));
        err.send(Bytes::from_static(b"err")).await.unwrap();
        assert_eq!(peer.next().await, data(7, "err"));
        drop(out);
        assert_eq!(peer.next().await, end(5));
        ended.send(Exit::Code(0)).unwrap();
        drop(err);
        assert_eq!(peer.next().await, end(7));
        if let Some(outcome) = outcome {
            assert_eq!(peer.next().await, data(1, outcome));
        }
        assert_eq!(peer.next().await, end(1));
    }

    #[tokio::test]
    async fn the_error_stream_reports_a_missing_container() {
        let (mut peer, far) = Peer::new();
        let wanted = Attachment {
            stdout: true,
            ..Attachment::default()
        };
        tokio::spawn(run(
            far,
            Upgrade::Spdy {
                version: "v2.channel.k8s.io",
            },
            wanted,
            Err("gone".to_owned()),
        ));
        for (stream, kind) in [(1, "error"), (3, "stdout")] {
            peer.open(stream, kind).await;
            peer.reply(stream).await;
        }
        assert_eq!(peer.next().await, data(1, "gone"));
        assert_eq!(peer.next().await, end(1));
    }

    #[test]
    fn sizes_are_returned_when_they_are_complete() {
        let mut text = BytesMut::from(&br#"{"Width":80,"Height":24}{"Width":100,"#[..]);
        assert_eq!(sizes(&mut text), [Size { width: 80, height: 24 }]);
        text.extend_from_slice(br#""Height":30}"#);
        assert_eq!(sizes(&mut text), [Size { width: 100, height: 30 }]);
        assert_eq!(sizes(&mut text), []);
    }
}

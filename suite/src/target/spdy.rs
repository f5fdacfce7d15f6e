//! The client side of a SPDY/3.1 connection.
//!
//! - A stream has a channel, as over WebSocket: 0 for stdin, 1 for stdout, 2 for stderr, 3 for errors. The data of a
//!   forwarded port is sent on 0 and received on 1.
//! - Headers are sent in stored (uncompressed) blocks. Those of the server are not read.
//! - Limit: a frame has at most [`MAX_FRAME_BYTES`]. There is no flow control, as in the library of kubectl.
//!
//! Source: the draft "SPDY Protocol - Draft 3.1"; Kubernetes v1.2 (`pkg/kubelet/server`).

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::catalog::StreamType;

/// Maximum size of a frame, in bytes.
const MAX_FRAME_BYTES: usize = 1 << 20;
/// Size of a frame header, in bytes.
const HEADER_BYTES: usize = 8;
/// First bytes of a control frame: version 3.
const CONTROL: u32 = 0x8003_0000;
const SYN_STREAM: u32 = 1;
const RST_STREAM: u32 = 3;
const PING: u32 = 6;
const GOAWAY: u32 = 7;
/// Flag of the last frame of a side on a stream.
const FIN: u8 = 1;

/// A stream that the client opened.
#[derive(Debug)]
struct Stream {
    id: u32,
    of: StreamType,
    /// Whether the server has ended it.
    ended: bool,
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Spdy<C> {
    connection: C,
    unread: BytesMut,
    streams: Vec<Stream>,
}

impl<C: AsyncRead + AsyncWrite + Unpin> Spdy<C> {
    /// Opens streams of these types, in this order. `port` is the forwarded port.
    ///
    /// # Errors
    /// If the connection fails.
    pub(super) async fn open(connection: C, types: &[StreamType], port: Option<u16>) -> std::io::Result<Self> {
        let streams = types.iter().zip(0..).map(|(of, number)| Stream {
            id: 2 * number + 1,
            of: *of,
            ended: false,
        });
        let mut opened = Self {
            connection,
            unread: BytesMut::new(),
            streams: streams.collect(),
        };
        let port = port.map(|port| port.to_string());
        let mut frames = BytesMut::new();
        for stream in &opened.streams {
            let mut headers = vec![("streamtype", stream.of.as_str())];
            if let Some(port) = &port {
                headers.extend([("port", port.as_str()), ("requestid", "0")]);
            }
            let mut payload = BytesMut::new();
            payload.put_u32(stream.id);
            // No associated stream, and no priority.
            payload.put_bytes(0, 6);
            payload.put(block(&headers, stream.id == 1));
            frames.put(control(SYN_STREAM, &payload));
        }
        opened.connection.write_all(&frames).await?;
        opened.connection.flush().await?;
        Ok(opened)
    }

    /// Sends bytes on a channel. `None` ends its stream.
    ///
    /// # Errors
    /// If there is no such stream, or the connection fails.
    pub(super) async fn send(&mut self, channel: u8, bytes: Option<&[u8]>) -> std::io::Result<()> {
        let stream = self.streams.iter().find(|stream| stream.of.sent_on() == Some(channel));
        let id = stream.map(|stream| stream.id).ok_or(std::io::ErrorKind::NotFound)?;
        let payload = bytes.unwrap_or_default();
        let flags = if bytes.is_some() { 0 } else { FIN };
        let mut frame = BytesMut::new();
        frame.put_u32(id);
        frame.put_u32(u32::from(flags) << 24 | length(payload));
        frame.put(payload);
        self.connection.write_all(&frame).await?;
        self.connection.flush().await
    }

    /// Receives the next bytes of a stream, with its channel. `None` if the server has ended all streams or the
    /// connection.
    pub(super) async fn receive(&mut self) -> Option<(u8, Bytes)> {
        while !self.is_over() {
            let (head, flags, mut payload) = self.frame().await?;
            if head & 0x8000_0000 == 0 {
                let stream = self.streams.iter_mut().find(|stream| stream.id == head)?;
                stream.ended |= flags & FIN != 0;
                if let Some(channel) = stream.of.received_on().filter(|_| !payload.is_empty()) {
                    return Some((channel, payload));
                }
                continue;
            }
            match head & 0xffff {
                RST_STREAM => {
                    let id = payload.try_get_u32().ok()?;
                    let reset = self.streams.iter_mut().filter(|stream| stream.id == id);
                    reset.for_each(|stream| stream.ended = true);
                }
                // Pings of the server have even numbers and must be answered.
                PING if payload.last().is_some_and(|last| last % 2 == 0) => {
                    self.connection.write_all(&control(PING, &payload)).await.ok()?;
                    self.connection.flush().await.ok()?;
                }
                GOAWAY => return None,
                _ => {}
            }
        }
        None
    }

    /// Whether the server has ended every stream on which it sends.
    fn is_over(&self) -> bool {
        let mut receiving = self.streams.iter().filter(|stream| stream.of.received_on().is_some());
        receiving.all(|stream| stream.ended)
    }

    /// Reads the next frame: first word of the header, flags and payload. `None` at the end, or if it is too long.
    async fn frame(&mut self) -> Option<(u32, u8, Bytes)> {
        loop {
            if let Some(mut head) = self.unread.get(..HEADER_BYTES) {
                let (first, rest) = (head.get_u32(), head.get_u32());
                let length = (rest & 0x00ff_ffff) as usize;
                if length > MAX_FRAME_BYTES {
                    return None;
                }
                if self.unread.len() >= HEADER_BYTES + length {
                    let payload = self
                        .unread
                        .split_to(HEADER_BYTES + length)
                        .freeze()
                        .slice(HEADER_BYTES..);
                    return Some((first, (rest >> 24) as u8, payload));
                }
            }
            // Any error is the end.
            let read = self.connection.read_buf(&mut self.unread).await.unwrap_or_default();
            if read == 0 {
                return None;
            }
        }
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or_default() & 0x00ff_ffff
}

fn control(kind: u32, payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u32(CONTROL | kind);
    frame.put_u32(length(payload));
    frame.put(payload);
    frame.freeze()
}

/// Returns a header block: stored blocks of one zlib stream, which starts with the first header block.
fn block(headers: &[(&str, &str)], first: bool) -> Bytes {
    let mut plain = BytesMut::new();
    plain.put_u32(u32::try_from(headers.len()).unwrap_or_default());
    for text in headers.iter().flat_map(|(name, value)| [name, value]) {
        plain.put_u32(length(text.as_bytes()));
        plain.put(text.as_bytes());
    }
    let mut out = BytesMut::new();
    if first {
        // Deflate with the smallest window, without a dictionary.
        out.put_u16(0x7801);
    }
    // An empty block flushes the decompressor of the reader.
    for stored in [&plain[..], &[]] {
        let length = u16::try_from(stored.len()).unwrap_or_default();
        out.put_u8(0);
        out.put_u16_le(length);
        out.put_u16_le(!length);
        out.put(stored);
    }
    out.freeze()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use tokio::io::{DuplexStream, duplex};

    use super::*;

    const TYPES: [StreamType; 3] = [StreamType::Error, StreamType::Stdin, StreamType::Stdout];

    async fn opened() -> (Spdy<DuplexStream>, DuplexStream) {
        let (near, far) = duplex(4096);
        (Spdy::open(near, &TYPES, None).await.unwrap(), far)
    }

    fn data(id: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
        let mut frame = BytesMut::new();
        frame.put_u32(id);
        frame.put_u32(u32::from(flags) << 24 | length(bytes));
        frame.put(bytes);
        frame.to_vec()
    }

    #[test]
    fn stored_blocks_are_one_zlib_stream() {
        let blocks = [block(&[("streamtype", "error")], true), block(&[("port", "80")], false)].concat();
        let mut plain = Vec::new();
        let mut reader = flate2::read::ZlibDecoder::new(&blocks[..]);
        // An error: the zlib stream has no end.
        let _ = reader.read_to_end(&mut plain);
        let text = String::from_utf8_lossy(&plain).into_owned();
        assert!(text.contains("streamtype") && text.ends_with("80"), "{text:?}");
    }

    #[tokio::test]
    async fn data_of_a_stream_has_its_channel() {
        let (mut spdy, mut far) = opened().await;
        let frames = [
            data(5, 0, b"out"),
            control(PING, &2u32.to_be_bytes()).to_vec(),
            data(1, 0, b"7"),
        ]
        .concat();
        far.write_all(&frames).await.unwrap();
        assert_eq!(spdy.receive().await, Some((1, Bytes::from("out"))));
        assert_eq!(spdy.receive().await, Some((3, Bytes::from("7"))));
    }

    #[tokio::test]
    async fn it_ends_when_the_server_has_ended_its_streams() {
        let (mut spdy, mut far) = opened().await;
        far.write_all(&[data(5, FIN, b"out"), data(1, FIN, b"")].concat())
            .await
            .unwrap();
        assert_eq!(spdy.receive().await, Some((1, Bytes::from("out"))));
        assert_eq!(spdy.receive().await, None);
    }

    #[tokio::test]
    async fn a_too_long_frame_ends_it() {
        let (mut spdy, mut far) = opened().await;
        far.write_all(&[0, 0, 0, 1, 0, 0xff, 0xff, 0xff]).await.unwrap();
        assert_eq!(spdy.receive().await, None);
    }

    #[tokio::test]
    async fn nothing_is_sent_on_a_channel_without_a_stream() {
        let (mut spdy, _far) = opened().await;
        assert!(spdy.send(0, Some(b"in")).await.is_ok() && spdy.send(0, None).await.is_ok());
        assert!(spdy.send(4, Some(b"in")).await.is_err());
    }
}

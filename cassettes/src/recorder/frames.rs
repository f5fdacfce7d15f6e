//! Readers of the messages of an upgraded connection.
//!
//! Limit: only the first [`MAX_MESSAGE_BYTES`] of a WebSocket message are recorded.
//! Source: RFC 6455, section 5; SPDY/3.1, section 2.2.

use crate::interaction::Data;
use bytes::Bytes;

/// Maximum length of a message.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Length of a SPDY frame header. Its last three bytes are the length of the content.
const SPDY_HEADER_LENGTH: usize = 8;

/// Reader of one direction of an upgraded connection.
#[derive(Debug)]
pub(super) enum Frames {
    WebSocket(WebSocketFrames),
    Spdy(SpdyFrames),
    /// Another protocol: each read is a message.
    None,
}

impl Frames {
    /// Adds bytes and returns the messages that are complete.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Data> {
        match self {
            Self::WebSocket(frames) => frames.read(bytes),
            Self::Spdy(frames) => frames.read(bytes),
            Self::None => vec![Data::Binary(Bytes::copy_from_slice(bytes))],
        }
    }

    /// Ends the reader. Returns the incomplete message, if any, and an end for protocols that have no message for it.
    pub(super) fn finish(&mut self) -> Vec<Data> {
        let rest = match self {
            Self::WebSocket(_) => return Vec::new(),
            Self::Spdy(frames) => std::mem::take(&mut frames.bytes),
            Self::None => Vec::new(),
        };
        let rest = (!rest.is_empty()).then(|| Data::Binary(rest.into()));
        rest.into_iter().chain([Data::Close(None)]).collect()
    }
}

/// Reader of SPDY frames. Each frame is a message.
#[derive(Debug, Default)]
pub(super) struct SpdyFrames {
    bytes: Vec<u8>,
}

impl SpdyFrames {
    fn read(&mut self, bytes: &[u8]) -> Vec<Data> {
        self.bytes.extend_from_slice(bytes);
        let mut found = Vec::new();
        let mut at = 0;
        while let Some([_, _, _, _, _, high, middle, low]) = self
            .bytes
            .get(at..)
            .and_then(|rest| rest.first_chunk::<SPDY_HEADER_LENGTH>())
        {
            let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
            let Some(frame) = self.bytes.get(at..at + SPDY_HEADER_LENGTH + length) else {
                break;
            };
            found.push(Data::Binary(Bytes::copy_from_slice(frame)));
            at += frame.len();
        }
        self.bytes.drain(..at);
        found
    }
}

/// Reader of one direction of a WebSocket.
#[derive(Debug, Default)]
pub(super) struct WebSocketFrames {
    bytes: Vec<u8>,
    /// Number of bytes of the current frame still to skip.
    skip: usize,
    /// The fragments of a message so far, and whether it is text.
    message: Option<(bool, Vec<u8>)>,
    broken: bool,
}

impl WebSocketFrames {
    fn read(&mut self, bytes: &[u8]) -> Vec<Data> {
        let mut found = Vec::new();
        if self.broken {
            return found;
        }
        let passed = self.skip.min(bytes.len());
        self.skip -= passed;
        self.bytes.extend_from_slice(bytes.get(passed..).unwrap_or_default());
        while let Some(frame) = self.frame() {
            found.extend(self.take(frame));
        }
        found
    }

    fn frame(&mut self) -> Option<Frame> {
        let (first, second) = (*self.bytes.first()?, *self.bytes.get(1)?);
        if first & 0x70 != 0 {
            // Extensions are not offered to the server, so the rest cannot be read.
            self.broken = true;
            self.bytes.clear();
            return None;
        }
        let (length, mut at) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes(*self.bytes.get(2..)?.first_chunk()?)), 4),
            127 => (u64::from_be_bytes(*self.bytes.get(2..)?.first_chunk()?), 10),
            length => (u64::from(length), 2),
        };
        let mask: Option<[u8; 4]> = match second & 0x80 {
            0 => None,
            _ => {
                let mask = *self.bytes.get(at..)?.first_chunk()?;
                at += 4;
                Some(mask)
            }
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let kept = length.min(MAX_MESSAGE_BYTES);
        let mut payload = self.bytes.get(at..at + kept)?.to_vec();
        let end = (at + kept).min(self.bytes.len());
        self.bytes.drain(..end);
        let rest = (length - kept).min(self.bytes.len());
        self.bytes.drain(..rest);
        self.skip = length - kept - rest;
        if let Some(mask) = mask {
            payload
                .iter_mut()
                .zip(mask.iter().cycle())
                .for_each(|(byte, mask)| *byte ^= mask);
        }
        Some(Frame {
            last: first & 0x80 != 0,
            opcode: first & 0x0f,
            payload,
        })
    }

    fn take(&mut self, frame: Frame) -> Option<Data> {
        match frame.opcode {
            0 => {
                if let Some((_, bytes)) = &mut self.message {
                    let kept = MAX_MESSAGE_BYTES.saturating_sub(bytes.len()).min(frame.payload.len());
                    bytes.extend_from_slice(frame.payload.get(..kept).unwrap_or_default());
                }
            }
            1 | 2 => self.message = Some((frame.opcode == 1, frame.payload)),
            8 => {
                let code = frame.payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                let reason = String::from_utf8_lossy(frame.payload.get(2..).unwrap_or_default()).into_owned();
                return Some(Data::Close(code.map(|code| (code, reason))));
            }
            9 => return Some(Data::Ping(frame.payload.into())),
            10 => return Some(Data::Pong(frame.payload.into())),
            _ => return None,
        }
        if !frame.last {
            return None;
        }
        let (text, bytes) = self.message.take()?;
        Some(match String::from_utf8(bytes) {
            Ok(content) if text => Data::Text(content),
            Ok(content) => Data::Binary(content.into()),
            Err(error) => Data::Binary(Bytes::from(error.into_bytes())),
        })
    }
}

struct Frame {
    last: bool,
    opcode: u8,
    payload: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_however_their_bytes_are_cut() {
        let mut wire = vec![0x81, 0x85, 1, 2, 3, 4];
        wire.extend(b"hello".iter().zip([1, 2, 3, 4, 1]).map(|(byte, mask)| byte ^ mask));
        wire.extend([
            0x02, 0x01, b'a', 0x89, 0x00, 0x80, 0x01, b'b', 0x88, 0x04, 0x03, 0xe8, b'o', b'k',
        ]);
        let expected = [
            Data::Text("hello".into()),
            Data::Ping(Bytes::new()),
            Data::Binary("ab".into()),
            Data::Close(Some((1000, "ok".into()))),
        ];
        for cut in 1..wire.len() {
            let mut frames = WebSocketFrames::default();
            let found: Vec<Data> = wire.chunks(cut).flat_map(|chunk| frames.read(chunk)).collect();
            assert_eq!(found, expected, "in pieces of {cut}");
        }
    }
}

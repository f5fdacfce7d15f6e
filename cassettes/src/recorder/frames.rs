//! The messages in the bytes of a WebSocket.
//!
//! Limits: a message of more than [`LONGEST`] is recorded up to there.
//! Source: RFC 6455, section 5.

use crate::interaction::Data;
use bytes::Bytes;

/// How much of a message is kept.
const LONGEST: usize = 16 << 20;

/// Reads one direction of a WebSocket.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
    /// How much of the frame at hand is passed over.
    skip: usize,
    /// A message that came in fragments, and whether it is text.
    message: Option<(bool, Vec<u8>)>,
    broken: bool,
}

impl Frames {
    /// The messages that are complete with these bytes.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Data> {
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
            // An extension, which was not offered: what follows cannot be read.
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
        let kept = length.min(LONGEST);
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
                    let room = LONGEST.saturating_sub(bytes.len()).min(frame.payload.len());
                    bytes.extend_from_slice(frame.payload.get(..room).unwrap_or_default());
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
            let mut frames = Frames::default();
            let found: Vec<Data> = wire.chunks(cut).flat_map(|chunk| frames.read(chunk)).collect();
            assert_eq!(found, expected, "in pieces of {cut}");
        }
    }
}

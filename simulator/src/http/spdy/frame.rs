//! SPDY frames and their encoding.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Maximum length of a control frame in bytes.
pub(super) const MAX_CONTROL_BYTES: usize = 1 << 16;

/// Length of the header of every frame in bytes.
pub(super) const HEADER_BYTES: usize = 8;

/// Flag of the last frame of a stream in one direction.
pub(super) const FIN: u8 = 1;

/// Flag of a stream on which only its opener sends.
pub(super) const UNIDIRECTIONAL: u8 = 2;

const VERSION: u16 = 3;
const ID: u32 = 0x7fff_ffff;

/// Status code of RST_STREAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reset {
    /// PROTOCOL_ERROR: the frame violates the protocol.
    Protocol = 1,
    /// INVALID_STREAM: the stream does not exist.
    Invalid = 2,
    /// REFUSED_STREAM: there are too many streams.
    Refused = 3,
    /// STREAM_IN_USE: the stream is already open.
    InUse = 8,
}

/// Setting INITIAL_WINDOW_SIZE: the window of new streams.
pub(super) const INITIAL_WINDOW: u32 = 7;

/// An error that ends the connection.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum FrameError {
    /// Unsupported version of the protocol.
    #[error("unsupported SPDY version {0}")]
    Version(u16),
    /// The control frame is too long.
    #[error("a control frame of {0} bytes is too long")]
    Long(usize),
    /// The frame is too short for its type.
    #[error("a control frame is too short")]
    Short,
    /// The header block cannot be decompressed.
    #[error("a header block cannot be decompressed")]
    Headers,
    /// The stream id is invalid for the peer, or out of order.
    #[error("invalid stream id {0}")]
    Number(u32),
}

/// The header of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FrameHeader {
    /// Header of a control frame.
    Control { kind: u16, flags: u8, length: usize },
    /// Header of a data frame.
    Data { stream: u32, flags: u8, length: usize },
}

impl FrameHeader {
    /// Parses the header of a frame.
    pub(super) fn parse(bytes: [u8; HEADER_BYTES]) -> Result<Self, FrameError> {
        let mut bytes = &bytes[..];
        let (first, rest) = (bytes.get_u32(), bytes.get_u32());
        let (flags, length) = ((rest >> 24) as u8, (rest & 0x00ff_ffff) as usize);
        if first & !ID == 0 {
            return Ok(Self::Data {
                stream: first,
                flags,
                length,
            });
        }
        let version = ((first & ID) >> 16) as u16;
        if version != VERSION {
            return Err(FrameError::Version(version));
        }
        if length > MAX_CONTROL_BYTES {
            return Err(FrameError::Long(length));
        }
        Ok(Self::Control {
            kind: first as u16,
            flags,
            length,
        })
    }
}

/// A control frame. Its header block is compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Control {
    /// Opens a stream.
    SynStream { stream: u32, flags: u8, headers: Bytes },
    /// Accepts a stream.
    SynReply { stream: u32, flags: u8, headers: Bytes },
    /// Resets a stream.
    Reset { stream: u32, status: u32 },
    /// Settings of the peer: ids and values.
    Settings(Vec<(u32, u32)>),
    /// Requests an echo of itself.
    Ping(u32),
    /// Announces that no more streams are accepted.
    GoAway { last: u32, status: u32 },
    /// Adds headers to a stream.
    Headers { stream: u32, flags: u8, headers: Bytes },
    /// Enlarges the send window by `delta` bytes.
    WindowUpdate { stream: u32, delta: u32 },
    /// An unknown type, which must be ignored.
    Unknown(u16),
}

fn number(payload: &mut Bytes) -> Result<u32, FrameError> {
    payload.try_get_u32().map_err(|_| FrameError::Short)
}

impl Control {
    /// Parses a control frame.
    pub(super) fn parse(kind: u16, flags: u8, mut payload: Bytes) -> Result<Self, FrameError> {
        Ok(match kind {
            1 => {
                let stream = number(&mut payload)? & ID;
                if payload.len() < 6 {
                    return Err(FrameError::Short);
                }
                payload.advance(6);
                Self::SynStream {
                    stream,
                    flags,
                    headers: payload,
                }
            }
            2 => Self::SynReply {
                stream: number(&mut payload)? & ID,
                flags,
                headers: payload,
            },
            3 => Self::Reset {
                stream: number(&mut payload)? & ID,
                status: number(&mut payload)?,
            },
            4 => {
                let count = number(&mut payload)? as usize;
                if payload.len() / 8 < count {
                    return Err(FrameError::Short);
                }
                let entries: Result<_, _> = (0..count)
                    .map(|_| Ok((number(&mut payload)? & 0x00ff_ffff, number(&mut payload)?)))
                    .collect();
                Self::Settings(entries?)
            }
            6 => Self::Ping(number(&mut payload)?),
            7 => Self::GoAway {
                last: number(&mut payload)? & ID,
                status: number(&mut payload)?,
            },
            8 => Self::Headers {
                stream: number(&mut payload)? & ID,
                flags,
                headers: payload,
            },
            9 => Self::WindowUpdate {
                stream: number(&mut payload)? & ID,
                delta: number(&mut payload)? & ID,
            },
            other => Self::Unknown(other),
        })
    }

    /// Encodes the frame.
    pub(super) fn encode(&self) -> Bytes {
        let mut payload = BytesMut::new();
        let (kind, flags) = match self {
            Self::SynStream { stream, flags, headers } => {
                payload.put_u32(*stream);
                payload.put_bytes(0, 6);
                payload.extend_from_slice(headers);
                (1, *flags)
            }
            Self::SynReply { stream, flags, headers } | Self::Headers { stream, flags, headers } => {
                payload.put_u32(*stream);
                payload.extend_from_slice(headers);
                (if matches!(self, Self::SynReply { .. }) { 2 } else { 8 }, *flags)
            }
            Self::Settings(entries) => {
                payload.put_u32(u32::try_from(entries.len()).unwrap_or(0));
                for (number, value) in entries {
                    payload.put_u32(*number);
                    payload.put_u32(*value);
                }
                (4, 0)
            }
            Self::Ping(id) => {
                payload.put_u32(*id);
                (6, 0)
            }
            Self::Reset {
                stream: first,
                status: second,
            }
            | Self::GoAway {
                last: first,
                status: second,
            }
            | Self::WindowUpdate {
                stream: first,
                delta: second,
            } => {
                payload.put_u32(*first);
                payload.put_u32(*second);
                let kind = match self {
                    Self::Reset { .. } => 3,
                    Self::GoAway { .. } => 7,
                    _ => 9,
                };
                (kind, 0)
            }
            Self::Unknown(kind) => (*kind, 0),
        };
        let mut out = BytesMut::with_capacity(HEADER_BYTES + payload.len());
        out.put_u32(!ID | u32::from(VERSION) << 16 | u32::from(kind));
        out.put_u32(u32::from(flags) << 24 | u32::try_from(payload.len()).unwrap_or(0));
        out.unsplit(payload);
        out.freeze()
    }
}

/// Returns the header of a data frame with `length` bytes.
pub(super) fn data_header(stream: u32, flags: u8, length: u32) -> [u8; HEADER_BYTES] {
    let mut head = [0; HEADER_BYTES];
    let mut out = &mut head[..];
    out.put_u32(stream & ID);
    out.put_u32(u32::from(flags) << 24 | length);
    head
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn control() -> impl Strategy<Value = Control> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..200).prop_map(Bytes::from);
        let id = || 0..=ID;
        prop_oneof![
            (id(), any::<u8>(), bytes()).prop_map(|(stream, flags, headers)| Control::SynStream {
                stream,
                flags,
                headers
            }),
            (id(), any::<u8>(), bytes()).prop_map(|(stream, flags, headers)| Control::SynReply {
                stream,
                flags,
                headers
            }),
            (id(), any::<u8>(), bytes()).prop_map(|(stream, flags, headers)| Control::Headers {
                stream,
                flags,
                headers
            }),
            (id(), any::<u32>()).prop_map(|(stream, status)| Control::Reset { stream, status }),
            (id(), any::<u32>()).prop_map(|(last, status)| Control::GoAway { last, status }),
            (id(), id()).prop_map(|(stream, delta)| Control::WindowUpdate { stream, delta }),
            any::<u32>().prop_map(Control::Ping),
            proptest::collection::vec((0..0x00ff_ffffu32, any::<u32>()), 0..20).prop_map(Control::Settings),
        ]
    }

    proptest! {
        #[test]
        fn an_encoded_frame_parses_to_itself(frame in control()) {
            let bytes = frame.encode();
            let head = FrameHeader::parse(bytes[..HEADER_BYTES].try_into().unwrap()).unwrap();
            let FrameHeader::Control { kind, flags, length } = head else { panic!("no control frame") };
            prop_assert_eq!(length, bytes.len() - HEADER_BYTES);
            prop_assert_eq!(Control::parse(kind, flags, bytes.slice(HEADER_BYTES..)), Ok(frame));
        }

        #[test]
        fn any_bytes_are_a_frame_or_an_error(
            kind in 0u16..12,
            flags: u8,
            payload in proptest::collection::vec(any::<u8>(), 0..64)
        ) {
            let _ = Control::parse(kind, flags, payload.into());
        }
    }

    #[test]
    fn frame_headers_are_parsed() {
        assert_eq!(
            FrameHeader::parse(data_header(5, FIN, 70_000)),
            Ok(FrameHeader::Data {
                stream: 5,
                flags: FIN,
                length: 70_000
            })
        );
        assert_eq!(
            FrameHeader::parse([0x80, 2, 0, 1, 0, 0, 0, 0]),
            Err(FrameError::Version(2))
        );
        assert_eq!(
            FrameHeader::parse([0x80, 3, 0, 1, 0, 1, 0, 1]),
            Err(FrameError::Long(65_537))
        );
    }
}

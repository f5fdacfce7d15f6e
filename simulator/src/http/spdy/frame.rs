//! Frames, as bytes and as values.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// How long a control frame may be, in bytes.
pub(super) const CONTROL: usize = 1 << 16;

/// How long the head of every frame is, in bytes.
pub(super) const HEAD: usize = 8;

/// The flag of the last frame of a stream's direction.
pub(super) const FIN: u8 = 1;

/// The flag of a stream that only its opener sends on.
pub(super) const UNIDIRECTIONAL: u8 = 2;

const VERSION: u16 = 3;
const ID: u32 = 0x7fff_ffff;

/// Why a stream is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reset {
    /// The frame breaks the protocol.
    Protocol = 1,
    /// There is no such stream.
    Invalid = 2,
    /// There are too many streams.
    Refused = 3,
    /// The stream is open already.
    InUse = 8,
}

/// A setting: the window that streams start with.
pub(super) const INITIAL_WINDOW: u32 = 7;

/// What is wrong with a frame; the connection cannot go on.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum FrameError {
    /// Another version of the protocol.
    #[error("version {0} of SPDY")]
    Version(u16),
    /// The frame is longer than allowed.
    #[error("a control frame of {0} bytes")]
    Long(usize),
    /// The frame is shorter than its kind needs.
    #[error("a control frame that is too short")]
    Short,
    /// The block of headers cannot be unpacked.
    #[error("a block of headers that cannot be unpacked")]
    Headers,
    /// A stream's number is none that the peer may use, or is not in order.
    #[error("a stream numbered {0}")]
    Number(u32),
}

/// The first bytes of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A control frame.
    Control { kind: u16, flags: u8, length: usize },
    /// A piece of a stream.
    Data { stream: u32, flags: u8, length: usize },
}

impl Head {
    /// Reads the head of a frame.
    pub(super) fn parse(bytes: [u8; HEAD]) -> Result<Self, FrameError> {
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
        if length > CONTROL {
            return Err(FrameError::Long(length));
        }
        Ok(Self::Control {
            kind: first as u16,
            flags,
            length,
        })
    }
}

/// A control frame. Headers are in their packed form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Control {
    /// Opens a stream.
    SynStream { stream: u32, flags: u8, headers: Bytes },
    /// Answers the opening of a stream.
    SynReply { stream: u32, flags: u8, headers: Bytes },
    /// Ends a stream at once.
    Reset { stream: u32, status: u32 },
    /// Tells how the peer is set up: numbers and values.
    Settings(Vec<(u32, u32)>),
    /// Asks for itself back.
    Ping(u32),
    /// No stream is opened any more.
    GoAway { last: u32, status: u32 },
    /// More headers of a stream.
    Headers { stream: u32, flags: u8, headers: Bytes },
    /// Lets so many bytes more be sent.
    WindowUpdate { stream: u32, delta: u32 },
    /// A kind that is not known, and is to be ignored.
    Unknown(u16),
}

fn number(payload: &mut Bytes) -> Result<u32, FrameError> {
    payload.try_get_u32().map_err(|_| FrameError::Short)
}

impl Control {
    /// Reads a control frame.
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

    /// The frame as bytes.
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
        let mut out = BytesMut::with_capacity(HEAD + payload.len());
        out.put_u32(!ID | u32::from(VERSION) << 16 | u32::from(kind));
        out.put_u32(u32::from(flags) << 24 | u32::try_from(payload.len()).unwrap_or(0));
        out.unsplit(payload);
        out.freeze()
    }
}

/// The head of a frame that carries `length` bytes of a stream.
pub(super) fn data_head(stream: u32, flags: u8, length: u32) -> [u8; HEAD] {
    let mut head = [0; HEAD];
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
        fn what_is_written_is_read_again(frame in control()) {
            let bytes = frame.encode();
            let head = Head::parse(bytes[..HEAD].try_into().unwrap()).unwrap();
            let Head::Control { kind, flags, length } = head else { panic!("no control frame") };
            prop_assert_eq!(length, bytes.len() - HEAD);
            prop_assert_eq!(Control::parse(kind, flags, bytes.slice(HEAD..)), Ok(frame));
        }

        #[test]
        fn any_bytes_are_a_frame_or_an_error(kind in 0u16..12, flags: u8, payload in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Control::parse(kind, flags, payload.into());
        }
    }

    #[test]
    fn a_head_says_what_comes() {
        assert_eq!(
            Head::parse(data_head(5, FIN, 70_000)),
            Ok(Head::Data {
                stream: 5,
                flags: FIN,
                length: 70_000
            })
        );
        assert_eq!(Head::parse([0x80, 2, 0, 1, 0, 0, 0, 0]), Err(FrameError::Version(2)));
        assert_eq!(Head::parse([0x80, 3, 0, 1, 0, 1, 0, 1]), Err(FrameError::Long(65_537)));
    }
}

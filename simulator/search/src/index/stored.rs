//! Stored fields of a document, and their encoding: strings (see [`STORED_STRINGS`]), times if there are any, source.

use crate::mapping::Times;

/// Number of stored strings: type, id, routing value, parent, identity of a nested object.
pub(super) const STORED_STRINGS: usize = 5;

/// Flag in the length of the last string: times follow.
const HAS_TIMES: u32 = 1 << 31;
/// Size of the times in bytes: two numbers.
const TIMES_LENGTH: usize = 16;
/// Encoding of an absent time.
const NO_TIME: i64 = i64::MIN;

/// Stored fields of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    bytes: Vec<u8>,
    ends: [usize; STORED_STRINGS],
    times: Times,
    /// Offset of the source.
    source: usize,
}

impl Stored {
    /// Encodes the stored fields of a document.
    pub(super) fn new(strings: [&str; STORED_STRINGS], times: Times, source: &[u8]) -> Stored {
        let length: usize = strings.iter().map(|string| string.len() + 4).sum();
        let mut bytes = Vec::with_capacity(source.len() + length + TIMES_LENGTH);
        let mut ends = [0; STORED_STRINGS];
        let has_times = times != Times::default();
        for (number, (string, end)) in strings.into_iter().zip(&mut ends).enumerate() {
            let length = u32::try_from(string.len()).unwrap_or(0);
            let flag = if has_times && number + 1 == STORED_STRINGS {
                HAS_TIMES
            } else {
                0
            };
            bytes.extend_from_slice(&(length | flag).to_le_bytes());
            bytes.extend_from_slice(string.as_bytes());
            *end = bytes.len();
        }
        if has_times {
            for time in [times.timestamp, times.expiry] {
                bytes.extend_from_slice(&time.unwrap_or(NO_TIME).to_le_bytes());
            }
        }
        let start = bytes.len();
        bytes.extend_from_slice(source);
        Stored {
            bytes,
            ends,
            times,
            source: start,
        }
    }

    /// The encoded fields.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Length of the encoded fields before the source.
    pub(super) fn head_length(&self) -> usize {
        self.source
    }

    /// Decodes the fields; `None` if they are damaged.
    pub(crate) fn decode(bytes: Vec<u8>) -> Option<Stored> {
        let mut ends = [0; STORED_STRINGS];
        let mut at = 0;
        let mut has_times = false;
        for end in &mut ends {
            let length: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
            let length = u32::from_le_bytes(length);
            has_times = length & HAS_TIMES != 0;
            at += 4 + (length & !HAS_TIMES) as usize;
            *end = at;
        }
        let mut times = Times::default();
        if has_times {
            let time = |at: usize| -> Option<i64> {
                let number: [u8; 8] = bytes.get(at..at + 8)?.try_into().ok()?;
                Some(i64::from_le_bytes(number))
            };
            times = Times {
                timestamp: Some(time(at)?).filter(|time| *time != NO_TIME),
                expiry: Some(time(at + 8)?).filter(|time| *time != NO_TIME),
            };
            at += TIMES_LENGTH;
        }
        (at <= bytes.len()).then_some(Stored {
            bytes,
            ends,
            times,
            source: at,
        })
    }

    fn string(&self, number: usize) -> &str {
        let end = |number: usize| self.ends.get(number).copied().unwrap_or(0);
        let start = number.checked_sub(1).map_or(0, end) + 4;
        self.bytes
            .get(start..end(number))
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or("")
    }

    pub(crate) fn type_name(&self) -> &str {
        self.string(0)
    }

    pub(crate) fn id(&self) -> &str {
        self.string(1)
    }

    /// Routing value of the write: the explicit one, else the parent's id.
    pub(crate) fn routing(&self) -> Option<&str> {
        Some(self.string(2)).filter(|routing| !routing.is_empty())
    }

    pub(crate) fn parent(&self) -> Option<&str> {
        Some(self.string(3)).filter(|parent| !parent.is_empty())
    }

    /// Position of a nested object in its root document, as the JSON of `_nested`.
    pub(crate) fn identity(&self) -> Option<&str> {
        Some(self.string(4)).filter(|identity| !identity.is_empty())
    }

    /// `_timestamp` and expiry.
    pub(crate) fn times(&self) -> Times {
        self.times
    }

    pub(crate) fn source(&self) -> &[u8] {
        self.bytes.get(self.source..).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_fields_round_trip() {
        let none = Times::default();
        let expiry = Times {
            timestamp: None,
            expiry: Some(7),
        };
        for times in [none, expiry] {
            let encoded = Stored::new(["t", "1", "", "", "{\"field\":\"a\"}"], times, b"{}");
            let decoded = Stored::decode(encoded.bytes().to_vec()).unwrap();
            for stored in [&encoded, &decoded] {
                assert_eq!(
                    (stored.times(), stored.identity(), stored.source()),
                    (times, Some("{\"field\":\"a\"}"), b"{}".as_slice())
                );
            }
            let (head, source) = encoded.bytes().split_at(encoded.head_length());
            assert_eq!(source, b"{}");
            assert!(Stored::decode(head[..head.len() - 1].to_vec()).is_none());
        }
        let stored = Stored::new(["fluentd", "AU1", "r", "", ""], none, b"{}");
        let stored = Stored::decode(stored.bytes().to_vec()).unwrap();
        assert_eq!(
            (
                stored.type_name(),
                stored.id(),
                stored.routing(),
                stored.parent(),
                stored.source()
            ),
            ("fluentd", "AU1", Some("r"), None, b"{}".as_slice())
        );
    }
}

//! Requests whose `Content-Length` is no number of 64 bits.
//!
//! The parser answers them with 400, as it does what is not HTTP. They are requests with a body that is too large: 413.
//!
//! Source: RFC 9110, sections 8.6 and 15.5.14.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

use crate::filtered::{Filter, Filtered};

/// The name of the field, with its colon.
const NAME: &[u8] = b"content-length:";

/// Digits that no number of 64 bits has, unless it begins with zeros.
const DIGITS: usize = 20;

/// Bytes that are kept to find a field that comes in pieces: the name, spaces, and digits.
const KEPT: usize = 64;

/// The parser's response to what it cannot read, and the one to a number that is too large.
const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\n";
const TOO_LARGE: &[u8] = b"HTTP/1.1 413 Over 2^64-1\r\n";

/// A connection on which a `Content-Length` beyond 64 bits is answered with 413.
pub type LengthCheck<T> = Filtered<T, Lengths>;

/// Finds a `Content-Length` beyond 64 bits, and replaces the parser's response to it.
#[derive(Debug, Default)]
pub struct Lengths {
    /// The last bytes that were read, unless they end a line.
    last: Vec<u8>,
    /// Whether such a number was read.
    found: bool,
}

impl Lengths {
    fn check(&mut self, bytes: &[u8]) {
        self.found = self.found || has_long_number(bytes);
        if !self.last.is_empty() {
            self.last
                .extend_from_slice(bytes.get(..bytes.len().min(KEPT)).unwrap_or_default());
            self.found = self.found || has_long_number(&self.last);
        }
        // A line that is complete does not go on.
        if bytes.last() == Some(&b'\n') {
            self.last.clear();
            return;
        }
        if bytes.len() >= KEPT || self.last.is_empty() {
            self.last.clear();
            let start = bytes.len().saturating_sub(KEPT);
            self.last.extend_from_slice(bytes.get(start..).unwrap_or_default());
        }
        self.last.drain(..self.last.len().saturating_sub(KEPT));
    }
}

impl Filter for Lengths {
    fn poll_read<T: AsyncRead + Unpin>(
        &mut self,
        io: &mut T,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(io).poll_read(context, buffer))?;
        self.check(buffer.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }

    fn replaced(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let rest = bytes.strip_prefix(BAD_REQUEST).filter(|_| self.found)?;
        Some([TOO_LARGE, rest].concat())
    }
}

/// Whether bytes have the field with a number of more than 64 bits. Looks at one in [`DIGITS`] bytes of what has none.
fn has_long_number(bytes: &[u8]) -> bool {
    let mut at = DIGITS - 1;
    while let Some(byte) = bytes.get(at) {
        if !byte.is_ascii_digit() {
            at += DIGITS;
            continue;
        }
        let (before, after) = bytes.split_at(at);
        let before = before
            .iter()
            .rposition(|byte| !byte.is_ascii_digit())
            .map_or(0, |last| last + 1);
        let after = at
            + after
                .iter()
                .position(|byte| !byte.is_ascii_digit())
                .unwrap_or(after.len());
        let digits = bytes.get(before..after).unwrap_or_default();
        let name = bytes.get(..before).unwrap_or_default().trim_ascii_end();
        let named = name.len().checked_sub(NAME.len()).and_then(|start| name.get(start..));
        if named.is_some_and(|name| name.eq_ignore_ascii_case(NAME)) && is_long(digits) {
            return true;
        }
        at = after + DIGITS;
    }
    false
}

fn is_long(digits: &[u8]) -> bool {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let digits = std::str::from_utf8(digits.get(zeros..).unwrap_or_default()).unwrap_or_default();
    digits.len() >= DIGITS && digits.parse::<u64>().is_err()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("18446744073709551615", false)]
    #[case("18446744073709551616", true)]
    #[case("99999999999999999999999999999999", true)]
    #[case("00000000000000000000000000000005", false)]
    #[case("x9999999999999999999999", false)]
    fn a_number_of_more_than_64_bits_is_found_however_it_is_cut(#[case] number: &str, #[case] expected: bool) {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\ncontent-Length:  {number}\r\n\r\n");
        for size in [1, 2, 19, 20, 21, 33, 1000] {
            let mut check = Lengths::default();
            request.as_bytes().chunks(size).for_each(|piece| check.check(piece));
            assert_eq!(check.found, expected, "in pieces of {size}");
        }
        assert_eq!(TOO_LARGE.len(), BAD_REQUEST.len());
    }

    #[test]
    fn other_numbers_are_not_lengths() {
        let mut check = Lengths::default();
        check.check(format!("GET /{} HTTP/1.1\r\nx: {}\r\n\r\n", "9".repeat(200), "8".repeat(64)).as_bytes());
        assert!(!check.found && check.replaced(BAD_REQUEST).is_none());
    }
}

//! Requests whose `Content-Length` exceeds 64 bits.
//!
//! They have a body that is too large: 413. The parser would respond with 400, as to malformed requests, and with 431
//! to the two largest 64-bit numbers, which it reserves.
//!
//! Source: RFC 9110, sections 8.6 and 15.5.14.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

use crate::filtered::{Filter, Filtered};

/// Name of the field, with its colon.
const NAME: &[u8] = b"content-length:";

/// Largest length that the parser accepts.
const MAX_LENGTH: u64 = u64::MAX - 2;

/// Minimum number of digits of a larger number.
const MIN_DIGITS: usize = 20;

/// Number of bytes kept to find a field that arrives in pieces: name, spaces and digits.
const MAX_KEPT_BYTES: usize = 64;

/// The parser's responses to a number that is too large.
const PARSER_RESPONSES: [&[u8]; 2] = [
    b"HTTP/1.1 400 Bad Request\r\n",
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n",
];

/// Start of the response that replaces them. Its reason is padded with spaces to the same length.
const TOO_LARGE: &str = "HTTP/1.1 413 Over 2^64-3";

/// A connection on which the response to a `Content-Length` beyond 64 bits is 413.
pub type LengthCheck<T> = Filtered<T, Lengths>;

/// Finds a `Content-Length` beyond 64 bits, and replaces the parser's response to it.
#[derive(Debug, Default)]
pub struct Lengths {
    /// The last bytes read, unless they end a line.
    last: Vec<u8>,
    /// Whether such a number was read.
    found: bool,
}

impl Lengths {
    fn check(&mut self, bytes: &[u8]) {
        self.found = self.found || has_long_number(bytes);
        if !self.last.is_empty() {
            self.last
                .extend_from_slice(bytes.get(..bytes.len().min(MAX_KEPT_BYTES)).unwrap_or_default());
            self.found = self.found || has_long_number(&self.last);
        }
        // A complete line does not continue in the next piece.
        if bytes.last() == Some(&b'\n') {
            self.last.clear();
            return;
        }
        if bytes.len() >= MAX_KEPT_BYTES || self.last.is_empty() {
            self.last.clear();
            let start = bytes.len().saturating_sub(MAX_KEPT_BYTES);
            self.last.extend_from_slice(bytes.get(start..).unwrap_or_default());
        }
        self.last.drain(..self.last.len().saturating_sub(MAX_KEPT_BYTES));
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
        let response = PARSER_RESPONSES
            .iter()
            .find(|response| self.found && bytes.starts_with(response))?;
        let (response, rest) = bytes.split_at_checked(response.len())?;
        let start = format!("{TOO_LARGE:width$}\r\n", width = response.len() - 2);
        Some([start.as_bytes(), rest].concat())
    }
}

/// Whether bytes contain the field with a number beyond [`MAX_LENGTH`]. Without such a field it reads only one in
/// [`MIN_DIGITS`] bytes.
fn has_long_number(bytes: &[u8]) -> bool {
    let mut at = MIN_DIGITS - 1;
    while let Some(byte) = bytes.get(at) {
        if !byte.is_ascii_digit() {
            at += MIN_DIGITS;
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
        at = after + MIN_DIGITS;
    }
    false
}

fn is_long(digits: &[u8]) -> bool {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let digits = std::str::from_utf8(digits.get(zeros..).unwrap_or_default()).unwrap_or_default();
    digits.len() >= MIN_DIGITS && digits.parse().map_or(true, |length: u64| length > MAX_LENGTH)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("18446744073709551613", false)]
    #[case("18446744073709551614", true)]
    #[case("18446744073709551616", true)]
    #[case("99999999999999999999999999999999", true)]
    #[case("00000000000000000000000000000005", false)]
    #[case("x9999999999999999999999", false)]
    fn a_number_that_is_too_large_is_found_in_pieces_of_any_size(#[case] number: &str, #[case] expected: bool) {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\ncontent-Length:  {number}\r\n\r\n");
        for size in [1, 2, 19, 20, 21, 33, 1000] {
            let mut check = Lengths::default();
            request.as_bytes().chunks(size).for_each(|piece| check.check(piece));
            assert_eq!(check.found, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn both_responses_of_the_parser_are_replaced_at_the_same_length() {
        let mut check = Lengths::default();
        check.check(b"POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n");
        for response in PARSER_RESPONSES {
            let sent = check.replaced(&[response, b"date: x\r\n"].concat()).unwrap();
            assert_eq!(sent.len(), response.len() + "date: x\r\n".len());
            assert!(sent.starts_with(b"HTTP/1.1 413 ") && sent.ends_with(b"\r\ndate: x\r\n"));
        }
        assert_eq!(check.replaced(b"HTTP/1.1 200 OK\r\n"), None);
    }

    #[test]
    fn numbers_of_other_fields_are_ignored() {
        let mut check = Lengths::default();
        check.check(format!("GET /{} HTTP/1.1\r\nx: {}\r\n\r\n", "9".repeat(200), "8".repeat(64)).as_bytes());
        assert!(!check.found && check.replaced(PARSER_RESPONSES[0]).is_none());
    }
}

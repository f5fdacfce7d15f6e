//! A piece of JSON as it is read.

use memchr::memchr2;
use std::iter::Peekable;
use std::ops::Range;
use std::vec::IntoIter;

/// A search for the end of a shorter string takes longer to begin than to look at each byte.
const SHORT: usize = 16;

/// A piece of the input.
pub(super) struct Input<'a> {
    pub(super) bytes: &'a [u8],
    /// As much of it as is known to be text.
    pub(super) text: &'a str,
    /// Where what begins that was not copied yet.
    pub(super) begin: usize,
    /// The places of known secrets, in order and apart from each other.
    found: Peekable<IntoIter<Range<usize>>>,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8], found: Vec<Range<usize>>) -> Self {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let sound = bytes.get(..error.valid_up_to()).unwrap_or_default();
                std::str::from_utf8(sound).unwrap_or_default()
            }
        };
        Self {
            bytes,
            text,
            begin: 0,
            found: found.into_iter().peekable(),
        }
    }

    /// Whether a known secret, or a part of one, is at a place behind those that were looked at before.
    pub(super) fn has_secret(&mut self, place: &Range<usize>) -> bool {
        while self.found.next_if(|found| found.end <= place.start).is_some() {}
        self.found.peek().is_some_and(|found| found.start < place.end)
    }
}

/// The input is not JSON from here on.
#[derive(Debug)]
pub(super) struct Broken {
    /// What was not taken.
    pub(super) rest: Vec<u8>,
}

/// The length of a string up to its quote; none if there is an escape in it or no quote.
pub(super) fn plain_length(bytes: &[u8]) -> Option<usize> {
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\\');
    let (head, rest) = bytes.split_at(bytes.len().min(SHORT));
    // Most strings are short.
    let end = match head.iter().position(is_end) {
        Some(end) => end,
        None => SHORT + memchr2(b'"', b'\\', rest)?,
    };
    (bytes.get(end) == Some(&b'"')).then_some(end)
}

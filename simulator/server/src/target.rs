//! Percent-encoding of request targets with characters that are invalid in a URI.
//!
//! Clients that build URIs by hand send `"`, `<`, `>`, `{`, `}`, `|`, `^`, backslashes, backquotes and non-ASCII
//! bytes; Netty and Go accept them. [`Escaped`] percent-encodes them before the parser reads them.
//!
//! - Only the target of a request line changes; headers, bodies and upgraded connections are unchanged.
//!
//! Source: RFC 3986, section 2; RFC 9112, sections 3 and 6.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

use crate::filtered::{Filter, Filtered};

/// Number of bytes read at a time.
const READ_BYTES: usize = 16 << 10;

/// The position of the reader in the stream of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the method, before the target.
    Method,
    Target,
    /// In the rest of the request line.
    Version,
    /// In the header fields.
    Fields,
    /// In a body with this many bytes left.
    Body(u64),
    /// In the line with the size of a chunk.
    ChunkSize,
    /// In a chunk with this many bytes left, including its line end.
    Chunk(u64),
    /// In the trailer fields after the last chunk.
    Trailer,
    /// After a protocol upgrade.
    Opaque,
}

/// Encoder of the request targets of a connection.
#[derive(Debug)]
struct Requests {
    state: State,
    /// The current line: a method, a header field, or the size of a chunk.
    line: Vec<u8>,
    length: u64,
    chunked: bool,
    upgrade: bool,
}

/// Maximum number of bytes of a method that are kept.
const MAX_METHOD_BYTES: usize = 32;

/// Maximum length of a line that is parsed.
const MAX_LINE_BYTES: usize = 64 << 10;

impl Default for Requests {
    fn default() -> Self {
        Self {
            state: State::Method,
            line: Vec::new(),
            length: 0,
            chunked: false,
            upgrade: false,
        }
    }
}

impl Requests {
    /// Copies `bytes` to `out`, with encoded targets.
    fn encode(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while let Some((&byte, rest)) = bytes.split_first() {
            let copied = match self.state {
                State::Opaque => Some(bytes.len()),
                State::Body(left) | State::Chunk(left) => {
                    Some(usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len()))
                }
                _ => None,
            };
            if let Some(length) = copied {
                let (own, rest) = bytes.split_at(length);
                out.extend_from_slice(own);
                self.skipped(length as u64);
                bytes = rest;
                continue;
            }
            bytes = rest;
            self.byte(byte, out);
        }
    }

    fn skipped(&mut self, length: u64) {
        self.state = match self.state {
            State::Body(left) if left == length => State::Method,
            State::Body(left) => State::Body(left - length),
            State::Chunk(left) if left == length => State::ChunkSize,
            State::Chunk(left) => State::Chunk(left - length),
            other => other,
        };
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        match (self.state, byte) {
            (State::Method, b' ') => {
                self.line.clear();
                self.state = State::Target;
            }
            // An empty line before a request.
            (State::Method, b'\n') if self.line.trim_ascii().is_empty() => self.line.clear(),
            (State::Method, _) if self.line.len() < MAX_METHOD_BYTES && byte != b'\n' => self.line.push(byte),
            (State::Target, b' ') => self.state = State::Version,
            (State::Method | State::Target | State::Version, b'\n') => self.state = State::Fields,
            (State::Target, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0x80..) => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or(b'0');
                out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
                return;
            }
            (State::Fields | State::ChunkSize | State::Trailer, b'\n') => self.line_end(),
            (State::Fields | State::ChunkSize | State::Trailer, _) if self.line.len() < MAX_LINE_BYTES => {
                self.line.push(byte);
            }
            _ => {}
        }
        out.push(byte);
    }

    /// Handles the end of a header field, or of the size of a chunk.
    fn line_end(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        match self.state {
            State::Fields if line.is_empty() => self.state = self.after_head(),
            State::Trailer if line.is_empty() => self.state = State::Method,
            State::Fields => self.field(line),
            State::ChunkSize => {
                let digits = line.split(|byte| *byte == b';').next().unwrap_or(b"").trim_ascii();
                let size = std::str::from_utf8(digits)
                    .ok()
                    .and_then(|digits| u64::from_str_radix(digits, 16).ok());
                self.state = match size {
                    Some(0) => State::Trailer,
                    Some(size) => State::Chunk(size.saturating_add(2)),
                    None => State::Opaque,
                };
            }
            _ => {}
        }
    }

    fn field(&mut self, line: &[u8]) {
        let Some(at) = line.iter().position(|byte| *byte == b':') else {
            return;
        };
        let (name, value) = line.split_at(at);
        let value = value.get(1..).unwrap_or(b"").trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            let digits = std::str::from_utf8(value).ok();
            self.length = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.chunked = true;
        } else if name.eq_ignore_ascii_case(b"upgrade") {
            self.upgrade = true;
        }
    }

    fn after_head(&mut self) -> State {
        let length = std::mem::take(&mut self.length);
        let (chunked, upgrade) = (std::mem::take(&mut self.chunked), std::mem::take(&mut self.upgrade));
        match length {
            _ if upgrade => State::Opaque,
            _ if chunked => State::ChunkSize,
            0 => State::Method,
            length => State::Body(length),
        }
    }
}

/// A connection whose request targets are percent-encoded.
pub(crate) type Escaped<T> = Filtered<T, TargetEncoder>;

/// A filter that percent-encodes the targets of requests.
#[derive(Debug, Default)]
pub(crate) struct TargetEncoder {
    requests: Requests,
    /// Bytes that have been encoded but not yet returned to the reader.
    ready: Vec<u8>,
    at: usize,
}

impl Filter for TargetEncoder {
    fn poll_read<T: AsyncRead + Unpin>(
        &mut self,
        io: &mut T,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.at == self.ready.len() {
            let mut chunk = [0; READ_BYTES];
            let mut read = ReadBuf::new(&mut chunk);
            ready!(Pin::new(io).poll_read(context, &mut read))?;
            self.ready.clear();
            self.at = 0;
            self.requests.encode(read.filled(), &mut self.ready);
        }
        let rest = self.ready.get(self.at..).unwrap_or(&[]);
        let length = rest.len().min(buffer.remaining());
        buffer.put_slice(rest.get(..length).unwrap_or(&[]));
        self.at += length;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn encoded(bytes: &[u8], size: usize) -> String {
        let mut requests = Requests::default();
        let mut out = Vec::new();
        bytes.chunks(size).for_each(|chunk| requests.encode(chunk, &mut out));
        String::from_utf8(out).unwrap()
    }

    #[rstest]
    #[case(
        "GET /a?q=n:>3 HTTP/1.1\r\nHost: <a>\r\n\r\n",
        "GET /a?q=n:%3E3 HTTP/1.1\r\nHost: <a>\r\n\r\n"
    )]
    #[case("GET /{\"é\"} HTTP/1.1\r\n\r\n", "GET /%7B%22%C3%A9%22%7D HTTP/1.1\r\n\r\n")]
    #[case(
        "POST /<a> HTTP/1.1\r\nContent-Length: 9\r\n\r\nGET /<> \nGET /<b> HTTP/1.1\r\n\r\n",
        "POST /%3Ca%3E HTTP/1.1\r\nContent-Length: 9\r\n\r\nGET /<> \nGET /%3Cb%3E HTTP/1.1\r\n\r\n"
    )]
    #[case(
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3;x\r\n </\r\n0\r\nT: 1\r\n\r\nGET /> HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3;x\r\n </\r\n0\r\nT: 1\r\n\r\nGET /%3E HTTP/1.1\r\n\r\n"
    )]
    #[case("\r\nGET /<> HTTP/1.1\r\n\r\n", "\r\nGET /%3C%3E HTTP/1.1\r\n\r\n")]
    #[case(
        "GET / HTTP/1.1\r\nUpgrade: x\r\n\r\nGET /< HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nUpgrade: x\r\n\r\nGET /< HTTP/1.1\r\n\r\n"
    )]
    fn only_targets_are_encoded(#[case] sent: &str, #[case] expected: &str, #[values(1, 7, 4096)] size: usize) {
        assert_eq!(encoded(sent.as_bytes(), size), expected);
    }
}

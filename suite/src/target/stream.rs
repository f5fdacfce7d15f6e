//! A response whose body is streamed.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::client::reason;
use super::{MAX_BODY_BYTES, Socket, TargetError};
use crate::check::Answer;

/// A response whose head has been read.
#[derive(Debug)]
pub struct Stream {
    /// The status code.
    pub status: u16,
    /// The Content-Type header.
    pub content_type: Option<String>,
    /// All headers.
    pub headers: HeaderMap,
    source: Source,
    request: String,
    unread: BytesMut,
    lines: Lines,
}

/// Tracks whether each value of a body is one line.
#[derive(Debug, Clone, Copy, Default)]
struct Lines {
    /// Whether a value has been read.
    begun: bool,
    /// Whether a value had several lines, or shared a line.
    broken: bool,
}

impl Lines {
    /// Records a value, with the whitespace before it.
    fn read(&mut self, bytes: &[u8]) {
        let value = bytes.trim_ascii_start();
        let before = &bytes[..bytes.len() - value.len()];
        self.broken |= value.contains(&b'\n') || self.begun && !before.contains(&b'\n');
        self.begun = true;
    }
}

/// Source of the rest of a body.
#[derive(Debug)]
enum Source {
    Body(reqwest::Response),
    Socket(Box<Socket>),
    /// The body is already complete.
    Read,
}

impl Stream {
    pub(super) fn of(response: reqwest::Response, request: String) -> Self {
        let content_type = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|v| v.to_str().ok())
            .map(str::to_owned);
        let headers = response.headers().clone();
        Self {
            status: response.status().as_u16(),
            content_type,
            headers,
            source: Source::Body(response),
            request,
            unread: BytesMut::new(),
            lines: Lines::default(),
        }
    }

    /// Returns a stream of the messages of a WebSocket.
    pub(super) fn over(socket: Socket, request: String) -> Self {
        Self {
            status: socket.answer.status,
            content_type: None,
            headers: socket.answer.headers.clone(),
            source: Source::Socket(Box::new(socket)),
            request,
            unread: BytesMut::new(),
            lines: Lines::default(),
        }
    }

    /// Returns a stream of a complete response.
    pub(super) fn whole_answer(answer: Answer, request: String) -> Self {
        Self {
            status: answer.status,
            content_type: answer.content_type,
            headers: answer.headers,
            source: Source::Read,
            request,
            unread: BytesMut::from(answer.body),
            lines: Lines::default(),
        }
    }

    /// Whether each value so far is one line of the body.
    pub fn is_of_lines(&self) -> bool {
        !self.lines.broken
    }

    /// Reads the complete response.
    pub(super) async fn whole(mut self) -> Result<Answer, TargetError> {
        let mut body = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            if body.len() + chunk.len() > MAX_BODY_BYTES {
                return Err(TargetError::TooLarge(self.request));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer {
            status: self.status,
            content_type: self.content_type,
            headers: self.headers,
            body: body.freeze(),
        })
    }

    /// Reads the next chunk of the body; `None` at the end.
    async fn chunk(&mut self) -> Result<Option<Bytes>, TargetError> {
        let broken_off = |error: reqwest::Error| TargetError::BrokenOff {
            request: self.request.clone(),
            reason: reason(&error),
        };
        match &mut self.source {
            Source::Body(response) => response.chunk().await.map_err(broken_off),
            Source::Socket(_) | Source::Read => Ok(None),
        }
    }

    /// Reads at least this many bytes of the body, or all of it. Returns the response with these bytes. Waits without a
    /// time limit.
    ///
    /// # Errors
    /// If the connection closes before the end of the body.
    pub async fn beginning(&mut self, length: usize) -> Result<Answer, TargetError> {
        let mut body = BytesMut::new();
        while body.len() < length
            && let Some(chunk) = self.chunk().await?
        {
            body.extend_from_slice(&chunk);
        }
        Ok(Answer {
            status: self.status,
            content_type: self.content_type.clone(),
            headers: self.headers.clone(),
            body: body.freeze(),
        })
    }

    /// Waits for the end of the body.
    ///
    /// # Errors
    /// If the connection closes before the end of the body.
    pub async fn end(&mut self) -> Result<(), TargetError> {
        while self.chunk().await?.is_some() {}
        Ok(())
    }

    /// Reads the next JSON value of the body; `None` at the end. Waits without a time limit.
    ///
    /// # Errors
    /// If the connection closes before the end of the body, the body is not a sequence of JSON values, or a value is
    /// too large.
    pub async fn next(&mut self) -> Result<Option<Value>, TargetError> {
        if let Source::Socket(socket) = &mut self.source {
            return socket.next().await;
        }
        loop {
            if let Some(value) = self.buffered()? {
                return Ok(Some(value));
            }
            match self.chunk().await? {
                Some(chunk) if self.unread.len() + chunk.len() > MAX_BODY_BYTES => {
                    return Err(TargetError::TooLarge(self.request.clone()));
                }
                Some(chunk) => self.unread.extend_from_slice(&chunk),
                None if self.unread.iter().all(u8::is_ascii_whitespace) => return Ok(None),
                None => {
                    let reason = "it ends inside a value".to_owned();
                    return Err(TargetError::Stream {
                        request: self.request.clone(),
                        reason,
                    });
                }
            }
        }
    }

    /// Returns the next complete value of the bytes read so far.
    fn buffered(&mut self) -> Result<Option<Value>, TargetError> {
        let mut values = serde_json::Deserializer::from_slice(&self.unread).into_iter::<Value>();
        match values.next() {
            None => Ok(None),
            Some(Ok(value)) => {
                let read = values.byte_offset();
                self.lines.read(&self.unread.split_to(read));
                Ok(Some(value))
            }
            Some(Err(error)) if error.is_eof() => Ok(None),
            Some(Err(error)) => Err(TargetError::Stream {
                request: self.request.clone(),
                reason: error.to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::lines("{\"a\":1}\n{\"a\":2}\n", true)]
    #[case::one_line("{\"a\":1}{\"a\":2}\n", false)]
    #[case::several_lines("{\n  \"a\": 1\n}\n", false)]
    #[tokio::test]
    async fn values_are_lines_or_not(#[case] body: &'static str, #[case] lines: bool) {
        let answer = Answer {
            body: Bytes::from(body),
            ..Answer::default()
        };
        let mut stream = Stream::whole_answer(answer, String::new());
        while stream.next().await.expect("invalid JSON value").is_some() {}
        assert_eq!(stream.is_of_lines(), lines);
    }
}

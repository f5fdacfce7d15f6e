//! Messages of an upgraded connection without their secrets, also those that are cut by the bounds of messages.
//!
//! A message waits while it may end with the beginning of a secret; order, number and, where placeholders allow it,
//! lengths of messages stay.
//! Limits: at most [`MOST`] messages and [`LONGEST`] bytes wait; frames of SPDY within the bytes are not told apart.
//! Source: the API's subprotocols for WebSocket, in which the first byte of a message is its channel.

use super::Redactor;
use super::text::{self, Knowledge};
use crate::interaction::{Data, Headers, Message, Sender};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::VecDeque;

/// How many messages wait.
const MOST: usize = 256;

/// How many bytes wait.
const LONGEST: usize = 256 << 10;

/// Both directions of an upgraded connection.
#[derive(Debug)]
pub(crate) struct Conversation {
    /// Whether messages begin with a channel.
    channels: bool,
    /// Whether what follows the channel is base64.
    encoded: bool,
    waiting: VecDeque<Message>,
}

/// One direction, and one channel of it.
type Flow = (Sender, Option<u8>);

impl Conversation {
    /// The connection that a response with these headers begins.
    pub(crate) fn new(headers: &Headers) -> Self {
        let protocol = headers.get("sec-websocket-protocol").unwrap_or_default();
        Self {
            channels: protocol.ends_with("channel.k8s.io"),
            encoded: protocol.starts_with("base64."),
            waiting: VecDeque::new(),
        }
    }

    /// One more message; returns those that are ready, in their order.
    pub(crate) fn push(&mut self, redactor: &Redactor, message: &Message) -> Vec<Message> {
        if redactor.is_off() {
            return vec![message.clone()];
        }
        self.waiting.push_back(message.clone());
        let size: usize = self.waiting.iter().map(|message| content(&message.data).len()).sum();
        if self.waiting.len() > MOST || size > LONGEST {
            return self.finish(redactor);
        }
        redactor.with(|knowledge| {
            let mut ready = self.waiting.len();
            for (n, message) in self.waiting.iter().enumerate() {
                let flow = self.flow(message);
                if self.is_unfinished(flow, knowledge) {
                    ready = n;
                    break;
                }
            }
            self.released(ready, knowledge)
        })
    }

    /// The end; returns the messages that waited.
    pub(crate) fn finish(&mut self, redactor: &Redactor) -> Vec<Message> {
        redactor.with(|knowledge| self.released(self.waiting.len(), knowledge))
    }

    fn flow(&self, message: &Message) -> Flow {
        let channel = content(&message.data).first().copied().filter(|_| self.channels);
        (message.from, channel)
    }

    /// What a message carries, beyond its channel.
    fn payload(&self, data: &Data) -> Vec<u8> {
        let all = content(data);
        let payload = if self.channels {
            all.get(1..).unwrap_or_default()
        } else {
            all
        };
        match self.encoded {
            true => STANDARD.decode(payload).unwrap_or_else(|_| payload.to_vec()),
            false => payload.to_vec(),
        }
    }

    /// Whether what waits in a flow may end with the beginning of a secret.
    fn is_unfinished(&self, flow: Flow, knowledge: &Knowledge<'_>) -> bool {
        let of_flow = self.waiting.iter().filter(|message| self.flow(message) == flow);
        let all: Vec<u8> = of_flow.flat_map(|message| self.payload(&message.data)).collect();
        let is_document = || serde_json::from_slice::<serde::de::IgnoredAny>(&all).is_ok();
        text::unfinished(&all, knowledge) > 0 && !is_document()
    }

    /// Releases the first messages.
    fn released(&mut self, count: usize, knowledge: &mut Knowledge<'_>) -> Vec<Message> {
        let mut ready: Vec<Message> = self.waiting.drain(..count).collect();
        let mut flows: Vec<Flow> = Vec::new();
        for message in &ready {
            let flow = self.flow(message);
            if !flows.contains(&flow) {
                flows.push(flow);
            }
        }
        for flow in flows {
            let places: Vec<usize> = (0..ready.len())
                .filter(|n| ready.get(*n).is_some_and(|message| self.flow(message) == flow))
                .collect();
            let payloads: Vec<Vec<u8>> = places
                .iter()
                .filter_map(|n| Some(self.payload(&ready.get(*n)?.data)))
                .collect();
            let Some(found) = text::redact_bytes(&payloads.concat(), knowledge) else {
                continue;
            };
            let (mut rest, last) = (found.as_slice(), places.len() - 1);
            for (n, (place, payload)) in places.iter().zip(&payloads).enumerate() {
                let length = if n == last {
                    rest.len()
                } else {
                    payload.len().min(rest.len())
                };
                let (part, after) = rest.split_at(length);
                rest = after;
                if let Some(message) = ready.get_mut(*place).filter(|_| part != payload.as_slice()) {
                    message.data = self.with_payload(&message.data, part);
                }
            }
        }
        ready
    }

    fn with_payload(&self, data: &Data, payload: &[u8]) -> Data {
        let mut all: Vec<u8> = content(data)
            .first()
            .copied()
            .filter(|_| self.channels)
            .into_iter()
            .collect();
        match self.encoded {
            true => all.extend_from_slice(STANDARD.encode(payload).as_bytes()),
            false => all.extend_from_slice(payload),
        }
        match data {
            Data::Text(_) => Data::Text(String::from_utf8_lossy(&all).into_owned()),
            Data::Binary(_) => Data::Binary(all.into()),
            Data::Ping(_) => Data::Ping(all.into()),
            Data::Pong(_) => Data::Pong(all.into()),
            Data::Close(close) => {
                let reason = String::from_utf8_lossy(payload).into_owned();
                Data::Close(close.as_ref().map(|(code, _)| (*code, reason)))
            }
        }
    }
}

/// The bytes of a message.
fn content(data: &Data) -> &[u8] {
    match data {
        Data::Text(text) => text.as_bytes(),
        Data::Binary(bytes) | Data::Ping(bytes) | Data::Pong(bytes) => bytes,
        Data::Close(Some((_, reason))) => reason.as_bytes(),
        Data::Close(None) => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redactor::Redaction;
    use bytes::Bytes;
    use rstest::rstest;
    use std::time::Duration;

    const SECRET: &str = "pl4nted/S3cret+value";

    fn binary(from: Sender, bytes: Vec<u8>) -> Message {
        Message {
            at: Duration::ZERO,
            from,
            data: Data::Binary(Bytes::from(bytes)),
        }
    }

    #[rstest]
    #[case::plain("", false)]
    #[case::channels("v4.channel.k8s.io", false)]
    #[case::encoded("base64.channel.k8s.io", true)]
    fn a_secret_is_found_across_messages(#[case] protocol: &str, #[case] encoded: bool) {
        let text = format!("export TOKEN={SECRET}\necho done\n");
        for size in [1, 2, 5, 9, 100] {
            let redactor = Redactor::new(Redaction::default());
            let headers = Headers(vec![("Sec-WebSocket-Protocol".into(), protocol.into())]);
            let mut conversation = Conversation::new(&headers);
            let mut messages = Vec::new();
            let sent: Vec<Message> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|part| {
                    let part = if encoded {
                        STANDARD.encode(part).into_bytes()
                    } else {
                        part.to_vec()
                    };
                    let channel = if protocol.is_empty() { vec![] } else { vec![b'0'] };
                    [
                        binary(Sender::Client, [channel.clone(), part.clone()].concat()),
                        binary(Sender::Server, [channel, part].concat()),
                    ]
                })
                .collect();
            for message in &sent {
                messages.extend(conversation.push(&redactor, message));
            }
            messages.extend(conversation.finish(&redactor));
            assert_eq!(messages.len(), sent.len());
            for from in [Sender::Client, Sender::Server] {
                let of = messages.iter().filter(|message| message.from == from);
                let all: Vec<u8> = of.flat_map(|message| conversation.payload(&message.data)).collect();
                let all = String::from_utf8(all).expect("text");
                assert_eq!(
                    all,
                    format!("export TOKEN=redacted-1{}\necho done\n", "~".repeat(10)),
                    "in {size}"
                );
            }
        }
    }

    #[test]
    fn a_message_that_is_complete_does_not_wait() {
        let redactor = Redactor::new(Redaction::default());
        let mut conversation = Conversation::new(&Headers::default());
        for text in ["{\"kind\":\"Pod\"}", "a line: of a log\n"] {
            let message = binary(Sender::Server, text.into());
            assert_eq!(conversation.push(&redactor, &message), [message]);
        }
    }
}

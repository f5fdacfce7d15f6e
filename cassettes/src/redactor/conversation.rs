//! Redaction of messages of an upgraded connection, including secrets that are split across messages.
//!
//! Guarantees:
//! - Each direction of a channel or stream is searched as one text, however it is split into messages.
//! - The order and number of messages does not change, nor their lengths if placeholders fit.
//! - A message after which nothing is held back, such as one with a whole JSON value, has all of its text.
//!
//! Limits:
//! - Messages are held back while one of them may end with the beginning of a secret. If more than
//!   [`MAX_HELD_MESSAGES`] messages or [`MAX_HELD_BYTES`] are held back, the incomplete text is moved to a later
//!   message.
//! - Held back bytes of a stream that is not among the last [`MAX_FLOWS`] are dropped.
//!
//! Source: the API's subprotocols for WebSocket, in which the first byte of a message is its channel; SPDY/3.1 data
//! frames.

use super::Redactor;
use super::body::BodyRedactor;
use crate::interaction::{Data, Headers, Message, Sender};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::{HashMap, VecDeque};

/// Maximum number of messages held back.
const MAX_HELD_MESSAGES: usize = 16 << 10;

/// Maximum number of bytes held back.
const MAX_HELD_BYTES: usize = 4 << 20;

/// Maximum number of channels and streams that are searched at the same time, in both directions together. A SPDY
/// connection can have as many streams as frames.
const MAX_FLOWS: usize = 256;

/// Length of a SPDY frame header.
const SPDY_HEADER_LENGTH: usize = 8;

/// Redactor of both directions of an upgraded connection.
#[derive(Debug)]
pub(crate) struct Conversation {
    framing: Framing,
    /// Whether the content after the channel is base64.
    encoded: bool,
    waiting: VecDeque<Waiting>,
    size: usize,
    flows: HashMap<Flow, ChannelRedactor>,
    /// Number of messages so far.
    count: u64,
}

/// A message that is held back.
#[derive(Debug)]
struct Waiting {
    message: Message,
    /// Number of redacted bytes of its flow up to its end. None if the end was held back when it arrived.
    end: Option<u64>,
}

/// Prefix of messages before the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Bare,
    /// A channel byte.
    Channels,
    /// A SPDY frame header. Each message is a frame.
    Spdy,
}

/// One direction, and one channel or stream of it.
type Flow = (Sender, Option<u32>);

/// Redactor of one direction of a channel.
#[derive(Debug)]
struct ChannelRedactor {
    body: BodyRedactor,
    /// Redacted bytes that are not in a message yet.
    ready: VecDeque<u8>,
    /// Number of redacted bytes that were released with messages.
    released: u64,
    /// Number of its messages that are held back.
    waiting: usize,
    /// The number of its last message.
    last: u64,
}

impl Conversation {
    /// A redactor for the connection that was upgraded by a response with these headers to a request for this path.
    pub(crate) fn new(headers: &Headers, path: &str) -> Self {
        let protocol = headers.get("sec-websocket-protocol").unwrap_or_default();
        let upgrade = headers.get("upgrade").unwrap_or_default();
        let last = path.rsplit('/').next().unwrap_or_default();
        // Without a subprotocol these paths use the first one.
        let channels = protocol.ends_with("channel.k8s.io")
            || (protocol.is_empty() && matches!(last, "exec" | "attach" | "portforward"));
        Self {
            framing: match () {
                () if upgrade.to_ascii_lowercase().starts_with("spdy/") => Framing::Spdy,
                () if channels => Framing::Channels,
                () => Framing::Bare,
            },
            encoded: protocol.starts_with("base64."),
            waiting: VecDeque::new(),
            size: 0,
            flows: HashMap::new(),
            count: 0,
        }
    }

    /// Adds a message. Returns the messages that are ready, in order.
    pub(crate) fn push(&mut self, redactor: &Redactor, message: &Message) -> Vec<Message> {
        if redactor.is_off() {
            return vec![message.clone()];
        }
        let (flow, payload) = (self.flow(message), self.payload(&message.data));
        let mut released = match self.flows.contains_key(&flow) {
            true => Vec::new(),
            false => self.evict(),
        };
        self.count += 1;
        let searched = self.flows.entry(flow).or_insert_with(|| ChannelRedactor {
            body: BodyRedactor::of_connection(redactor),
            ready: VecDeque::new(),
            released: 0,
            waiting: 0,
            last: 0,
        });
        searched.last = self.count;
        searched.ready.extend(searched.body.push(redactor, &payload));
        let end = searched
            .body
            .is_released()
            .then(|| searched.released + searched.ready.len() as u64);
        searched.waiting += 1;
        self.size += payload.len();
        let message = message.clone();
        self.waiting.push_back(Waiting { message, end });
        while let Some((length, there)) = self.first_lengths() {
            let crowded = self.waiting.len() > MAX_HELD_MESSAGES || self.size > MAX_HELD_BYTES;
            if there < length && !crowded {
                break;
            }
            released.extend(self.release_searched());
        }
        released
    }

    /// Drops the least recently used channel or stream if there are too many. Returns the messages that cannot be held
    /// back any longer.
    fn evict(&mut self) -> Vec<Message> {
        let mut released = Vec::new();
        while self.flows.len() >= MAX_FLOWS {
            let idle = self.flows.iter().filter(|(_, searched)| searched.waiting == 0);
            match idle.min_by_key(|(_, searched)| searched.last).map(|(flow, _)| *flow) {
                Some(flow) => drop(self.flows.remove(&flow)),
                None => released.extend(self.release_searched()),
            }
        }
        released
    }

    /// Releases the first message with its redacted bytes.
    fn release_searched(&mut self) -> Option<Message> {
        let (length, there) = self.first_lengths()?;
        self.release(length.min(there))
    }

    /// The length of the first message after redaction, and the number of redacted bytes of its flow that are ready.
    fn first_lengths(&self) -> Option<(usize, usize)> {
        let Waiting { message, end } = self.waiting.front()?;
        let searched = self.flows.get(&self.flow(message));
        let (released, there) = searched.map_or((0, 0), |searched| (searched.released, searched.ready.len()));
        let length = match end {
            Some(end) => usize::try_from(end.saturating_sub(released)).unwrap_or(usize::MAX),
            None => self.payload(&message.data).len(),
        };
        Some((length, there))
    }

    /// Ends the connection. Returns the messages that were held back.
    pub(crate) fn finish(&mut self, redactor: &Redactor) -> Vec<Message> {
        for searched in self.flows.values_mut() {
            let body = std::mem::replace(&mut searched.body, BodyRedactor::of_connection(redactor));
            searched.ready.extend(body.finish(redactor));
        }
        let mut released = Vec::with_capacity(self.waiting.len());
        while let (Some(first), Some((length, there))) = (self.waiting.front(), self.first_lengths()) {
            let flow = self.flow(&first.message);
            let is_last = self.flows.get(&flow).is_some_and(|searched| searched.waiting == 1);
            released.extend(self.release(if is_last { there } else { length.min(there) }));
        }
        released
    }

    /// Releases the first message with this many redacted bytes.
    fn release(&mut self, length: usize) -> Option<Message> {
        let mut message = self.waiting.pop_front()?.message;
        let payload = self.payload(&message.data);
        self.size -= payload.len();
        let flow = self.flow(&message);
        let searched = self.flows.get_mut(&flow)?;
        searched.waiting -= 1;
        let found: Vec<u8> = searched.ready.drain(..length.min(searched.ready.len())).collect();
        searched.released += found.len() as u64;
        if found != payload {
            message.data = self.with_payload(&message.data, &found);
        }
        Some(message)
    }

    fn flow(&self, message: &Message) -> Flow {
        let all = content(&message.data);
        let of = match self.framing {
            Framing::Bare => None,
            Framing::Channels => all.first().map(|channel| u32::from(*channel)),
            // Control frames have no text.
            Framing::Spdy => all.first_chunk().map(|head| u32::from_be_bytes(*head)),
        };
        (message.from, of)
    }

    /// Length of the prefix before the payload.
    fn prefix_length(&self, all: &[u8]) -> usize {
        match self.framing {
            Framing::Bare => 0,
            Framing::Channels => all.len().min(1),
            Framing::Spdy if all.first().is_some_and(|first| first & 0x80 != 0) => all.len(),
            Framing::Spdy => all.len().min(SPDY_HEADER_LENGTH),
        }
    }

    /// The payload of a message, decoded.
    fn payload(&self, data: &Data) -> Vec<u8> {
        let all = content(data);
        let payload = all.get(self.prefix_length(all)..).unwrap_or_default();
        match self.encoded {
            true => STANDARD.decode(payload).unwrap_or_else(|_| payload.to_vec()),
            false => payload.to_vec(),
        }
    }

    fn with_payload(&self, data: &Data, payload: &[u8]) -> Data {
        let of = content(data);
        let mut all = of.get(..self.prefix_length(of)).unwrap_or_default().to_vec();
        if let (Framing::Spdy, Some(length)) = (self.framing, all.get_mut(5..SPDY_HEADER_LENGTH)) {
            let bytes = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
            length.copy_from_slice(bytes.get(1..).unwrap_or_default());
        }
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
                let reason = String::from_utf8_lossy(&all).into_owned();
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
    use crate::redactor::tests::{is_clean, planted};
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
            let mut conversation = Conversation::new(&headers, "/");
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
    fn a_connection_of_many_streams_is_searched_in_bounded_memory() {
        let redactor = Redactor::new(Redaction::default());
        let headers = Headers(vec![("upgrade".into(), "SPDY/3.1".into())]);
        let mut conversation = Conversation::new(&headers, "/");
        let frame = |stream: u32, text: &str| {
            let length = u32::try_from(text.len()).expect("a length").to_be_bytes();
            let head = [&stream.to_be_bytes()[..], &[0], &length[1..]].concat();
            binary(Sender::Client, [&head, text.as_bytes()].concat())
        };
        let mut messages = Vec::new();
        // The last text of each stream may continue, so its message is held back.
        for stream in 0..2_000 {
            for text in [format!("TOKEN={SECRET}\n"), "TOKEN=".to_owned()] {
                messages.extend(conversation.push(&redactor, &frame(stream, &text)));
                assert!(conversation.flows.len() <= MAX_FLOWS);
            }
        }
        messages.extend(conversation.finish(&redactor));
        assert_eq!(messages.len(), 4_000);
        let all: Vec<u8> = messages
            .iter()
            .flat_map(|message| conversation.payload(&message.data))
            .collect();
        let all = String::from_utf8(all).expect("text");
        assert_eq!(
            (all.matches("redacted-1~").count(), all.contains(SECRET)),
            (2_000, false)
        );
    }

    #[test]
    fn a_json_value_stays_in_its_message_if_its_placeholder_is_longer() {
        let redactor = Redactor::new(Redaction::default());
        let mut conversation = Conversation::new(&Headers::default(), "/");
        let event = |data: &str| format!(r#"{{"type":"ADDED","object":{{"kind":"Secret","data":{{"a":"{data}"}}}}}}"#);
        for (n, secret) in ["czNj", "czNjcjN0", "YQ==", "czNj"].into_iter().enumerate() {
            let number = [1, 2, 3, 1].get(n).expect("a number");
            let expected = STANDARD.encode(format!("redacted-{number}"));
            assert_eq!(
                conversation.push(&redactor, &binary(Sender::Server, event(secret).into())),
                [binary(Sender::Server, event(&expected).into())]
            );
        }
        assert_eq!(conversation.finish(&redactor), []);
    }

    #[test]
    fn a_complete_message_is_not_held_back() {
        let redactor = Redactor::new(Redaction::default());
        let mut conversation = Conversation::new(&Headers::default(), "/");
        for text in ["{\"kind\":\"Pod\"}", "a line: of a log\n"] {
            let message = binary(Sender::Server, text.into());
            assert_eq!(conversation.push(&redactor, &message), [message]);
        }
    }

    #[test]
    fn no_secret_remains_wherever_a_connection_ends() {
        let code = STANDARD.encode(SECRET);
        let mut texts = vec![
            format!("export TOKEN={SECRET}\n"),
            format!("$ curl https://user:{}@example.com\n", SECRET.replace('/', "_")),
            format!("$ kubectl get secret x -o yaml\napiVersion: v1\ndata:\n  a: {code}\nkind: Secret\n"),
        ];
        for document in planted() {
            texts.extend([format!("{document}\n$ \n"), format!("{document:#}\n$ \n")]);
        }
        for text in &texts {
            for (length, size) in (0..=text.len()).flat_map(|length| [1, 1000].map(|size| (length, size))) {
                let redactor = Redactor::new(Redaction::default());
                let mut conversation = Conversation::new(&Headers::default(), "/");
                let mut messages = Vec::new();
                for part in text.as_bytes()[..length].chunks(size) {
                    messages.extend(conversation.push(&redactor, &binary(Sender::Client, part.to_vec())));
                }
                messages.extend(conversation.finish(&redactor));
                let all: Vec<u8> = messages
                    .iter()
                    .flat_map(|message| conversation.payload(&message.data))
                    .collect();
                let all = String::from_utf8(all).expect("text");
                assert!(is_clean(&all), "{length} bytes in {size}: {all}");
            }
        }
    }
}

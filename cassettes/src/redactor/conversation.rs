//! Messages of an upgraded connection without their secrets, also those that are cut by the bounds of messages.
//!
//! Promises: what each side sends on a channel or stream is searched as one text, however it is cut; order and number of
//! messages stay, and their lengths where placeholders allow it.
//! Limits: messages wait while one of them may end with the beginning of a secret; when more than [`MOST`] messages or
//! [`LONGEST`] bytes wait, the bytes that are held back go with a later message; those of a stream that is not among the
//! last [`FLOWS`] are left out.
//! Source: the API's subprotocols for WebSocket, in which the first byte of a message is its channel; SPDY/3.1 data
//! frames.

use super::Redactor;
use super::body::BodyRedactor;
use crate::interaction::{Data, Headers, Message, Sender};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::{HashMap, VecDeque};

/// How many messages wait.
const MOST: usize = 16 << 10;

/// How many bytes wait.
const LONGEST: usize = 4 << 20;

/// How many channels and streams are searched at a time, in both directions together. A connection of SPDY can have as
/// many stream numbers as it has frames.
const FLOWS: usize = 256;

/// The length of the head of a SPDY frame.
const HEAD: usize = 8;

/// Both directions of an upgraded connection.
#[derive(Debug)]
pub(crate) struct Conversation {
    framing: Framing,
    /// Whether what follows the channel is base64.
    encoded: bool,
    waiting: VecDeque<Message>,
    size: usize,
    flows: HashMap<Flow, ChannelRedactor>,
    /// How many messages there were.
    count: u64,
}

/// What messages begin with, before their payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Bare,
    /// A channel.
    Channels,
    /// The head of a SPDY frame; each message is one.
    Spdy,
}

/// One direction, and one channel or stream of it.
type Flow = (Sender, Option<u32>);

/// What one side sends on a channel.
#[derive(Debug)]
struct ChannelRedactor {
    body: BodyRedactor,
    /// What was searched and is not in a message yet.
    ready: VecDeque<u8>,
    /// How many messages of it wait.
    waiting: usize,
    /// The number of its last message.
    last: u64,
}

impl Conversation {
    /// The connection that a response with these headers to a request for this path begins.
    pub(crate) fn new(headers: &Headers, path: &str) -> Self {
        let protocol = headers.get("sec-websocket-protocol").unwrap_or_default();
        let upgrade = headers.get("upgrade").unwrap_or_default();
        let last = path.rsplit('/').next().unwrap_or_default();
        // Without a subprotocol, these have the first one.
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

    /// One more message; returns those that are ready, in their order.
    pub(crate) fn push(&mut self, redactor: &Redactor, message: &Message) -> Vec<Message> {
        if redactor.is_off() {
            return vec![message.clone()];
        }
        let (flow, payload) = (self.flow(message), self.payload(&message.data));
        let mut released = match self.flows.contains_key(&flow) {
            true => Vec::new(),
            false => self.make_room(),
        };
        self.count += 1;
        let searched = self.flows.entry(flow).or_insert_with(|| ChannelRedactor {
            body: BodyRedactor::running(redactor),
            ready: VecDeque::new(),
            waiting: 0,
            last: 0,
        });
        searched.last = self.count;
        searched.ready.extend(searched.body.push(redactor, &payload));
        searched.waiting += 1;
        self.size += payload.len();
        self.waiting.push_back(message.clone());
        while let Some(first) = self.waiting.front() {
            let (flow, length) = (self.flow(first), self.payload(&first.data).len());
            let there = self.flows.get(&flow).map_or(0, |searched| searched.ready.len());
            let crowded = self.waiting.len() > MOST || self.size > LONGEST;
            if there < length && !crowded {
                break;
            }
            released.extend(self.release_searched());
        }
        released
    }

    /// Forgets the channel or stream that was used least recently if there are too many. Returns the messages that
    /// cannot wait any longer.
    fn make_room(&mut self) -> Vec<Message> {
        let mut released = Vec::new();
        while self.flows.len() >= FLOWS {
            let idle = self.flows.iter().filter(|(_, searched)| searched.waiting == 0);
            match idle.min_by_key(|(_, searched)| searched.last).map(|(flow, _)| *flow) {
                Some(flow) => drop(self.flows.remove(&flow)),
                None => released.extend(self.release_searched()),
            }
        }
        released
    }

    /// Takes the first message that waits, with what was searched of it.
    fn release_searched(&mut self) -> Option<Message> {
        let first = self.waiting.front()?;
        let (flow, length) = (self.flow(first), self.payload(&first.data).len());
        let there = self.flows.get(&flow).map_or(0, |searched| searched.ready.len());
        self.release(length.min(there))
    }

    /// The end; returns the messages that waited.
    pub(crate) fn finish(&mut self, redactor: &Redactor) -> Vec<Message> {
        for searched in self.flows.values_mut() {
            let body = std::mem::replace(&mut searched.body, BodyRedactor::running(redactor));
            searched.ready.extend(body.finish(redactor));
        }
        let mut released = Vec::with_capacity(self.waiting.len());
        while let Some(first) = self.waiting.front() {
            let (flow, length) = (self.flow(first), self.payload(&first.data).len());
            let (there, last) = self
                .flows
                .get(&flow)
                .map_or((0, false), |searched| (searched.ready.len(), searched.waiting == 1));
            released.extend(self.release(if last { there } else { length.min(there) }));
        }
        released
    }

    /// Takes the first message that waits, with so many of the bytes that were searched.
    fn release(&mut self, length: usize) -> Option<Message> {
        let mut message = self.waiting.pop_front()?;
        let payload = self.payload(&message.data);
        self.size -= payload.len();
        let flow = self.flow(&message);
        let searched = self.flows.get_mut(&flow)?;
        searched.waiting -= 1;
        let found: Vec<u8> = searched.ready.drain(..length.min(searched.ready.len())).collect();
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
            // A control frame has no text.
            Framing::Spdy => all.first_chunk().map(|head| u32::from_be_bytes(*head)),
        };
        (message.from, of)
    }

    /// How much of a message comes before its payload.
    fn head(&self, all: &[u8]) -> usize {
        match self.framing {
            Framing::Bare => 0,
            Framing::Channels => all.len().min(1),
            Framing::Spdy if all.first().is_some_and(|first| first & 0x80 != 0) => all.len(),
            Framing::Spdy => all.len().min(HEAD),
        }
    }

    /// What a message carries.
    fn payload(&self, data: &Data) -> Vec<u8> {
        let all = content(data);
        let payload = all.get(self.head(all)..).unwrap_or_default();
        match self.encoded {
            true => STANDARD.decode(payload).unwrap_or_else(|_| payload.to_vec()),
            false => payload.to_vec(),
        }
    }

    fn with_payload(&self, data: &Data, payload: &[u8]) -> Data {
        let of = content(data);
        let mut all = of.get(..self.head(of)).unwrap_or_default().to_vec();
        if let (Framing::Spdy, Some(length)) = (self.framing, all.get_mut(5..HEAD)) {
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
        // The last text of each stream may go on: its message waits.
        for stream in 0..2_000 {
            for text in [format!("TOKEN={SECRET}\n"), "TOKEN=".to_owned()] {
                messages.extend(conversation.push(&redactor, &frame(stream, &text)));
                assert!(conversation.flows.len() <= FLOWS);
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
    fn a_message_that_is_complete_does_not_wait() {
        let redactor = Redactor::new(Redaction::default());
        let mut conversation = Conversation::new(&Headers::default(), "/");
        for text in ["{\"kind\":\"Pod\"}", "a line: of a log\n"] {
            let message = binary(Sender::Server, text.into());
            assert_eq!(conversation.push(&redactor, &message), [message]);
        }
    }
}

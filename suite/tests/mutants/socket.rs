//! Alterations of WebSocket messages.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use crate::{
    answer::replaced,
    mutant::Mutant,
    proxy::ProxyError,
    stream::{Seen, altered_item},
};

/// Changes of the messages of a WebSocket or the data of SPDY.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Messages {
    /// Only messages from the server on this channel are altered.
    pub(crate) channel: Option<u8>,
    /// Only those after the first n of them that are not empty.
    pub(crate) after: usize,
    pub(crate) drop: bool,
    pub(crate) repeat: bool,
    /// The channel on which they are sent instead.
    pub(crate) to: Option<u8>,
    /// Number of bytes removed at the end.
    pub(crate) shorten: usize,
    /// Texts replaced in them.
    pub(crate) replace: BTreeMap<String, String>,
    /// Whether bytes that are not UTF-8 are replaced.
    pub(crate) as_text: bool,
    /// Whether text messages become binary, and binary ones text.
    pub(crate) other_type: bool,
    /// Whether each is split in two messages.
    pub(crate) halves: bool,
    /// Whether two are joined into one message.
    pub(crate) joined: bool,
    /// Whether messages of the client are dropped.
    pub(crate) deaf: bool,
    /// Number of messages of the client after which further ones are dropped.
    pub(crate) deaf_after: Option<usize>,
    /// Whether the end of a client stream is dropped (SPDY).
    pub(crate) unended: bool,
    /// Whether messages of the client are sent twice.
    pub(crate) echoes: bool,
    /// Whether the connection stays open after the server has closed it.
    pub(crate) endless: bool,
    /// Number of messages after which the connection is closed.
    pub(crate) cut: Option<usize>,
}

impl Messages {
    /// Whether the client's message with this number is dropped.
    pub(crate) fn is_lost(&self, number: usize) -> bool {
        self.deaf || self.deaf_after.is_some_and(|after| number > after)
    }
}

/// Time for which a client's data is read after the end.
pub(crate) const REST: Duration = Duration::from_secs(2);

/// Relays the messages of a WebSocket, altered on the way to the client.
pub(crate) async fn pass(
    client: hyper::upgrade::OnUpgrade,
    server: reqwest::Upgraded,
    mutant: Mutant,
    base64: bool,
) -> Result<(), ProxyError> {
    let client = WebSocketStream::from_raw_socket(TokioIo::new(client.await?), Role::Server, None).await;
    let server = WebSocketStream::from_raw_socket(server, Role::Client, None).await;
    let ((mut to_client, mut from_client), (mut to_server, mut from_server)) = (client.split(), server.split());
    let messages = &mutant.messages;
    let inwards = async {
        let mut count = 0;
        while let Some(Ok(message)) = from_client.next().await {
            count += 1;
            let lost = messages.is_lost(count) && !message.is_close();
            for _ in 0..if lost { 0 } else { 1 + usize::from(messages.echoes) } {
                if to_server.send(message.clone()).await.is_err() {
                    // Data that the server sent before it closed is still to be relayed.
                    std::future::pending::<()>().await;
                }
            }
        }
        to_server.close().await
    };
    let outwards = async {
        let mut altering = Altering {
            mutant: &mutant,
            base64,
            seen: Seen::default(),
            count: 0,
            held: None,
        };
        let mut sent = 0;
        while let Some(Ok(message)) = from_server.next().await {
            if message.is_close() {
                break;
            }
            for message in altering.altered(message) {
                if messages.cut.is_some_and(|cut| sent >= cut) {
                    return to_client.close().await;
                }
                to_client.send(message).await?;
                sent += 1;
            }
        }
        if messages.endless {
            std::future::pending::<()>().await;
        }
        to_client.close().await
    };
    tokio::select! {
        ended = inwards => ended?,
        ended = outwards => ended?,
    }
    // Closing while the client sends could reset the connection and lose unread data.
    let rest = async { while let Some(Ok(_)) = from_client.next().await {} };
    let _ = tokio::time::timeout(REST, rest).await;
    Ok(())
}

/// State of the alteration of messages.
struct Altering<'a> {
    mutant: &'a Mutant,
    base64: bool,
    seen: Seen,
    count: usize,
    held: Option<Bytes>,
}

impl Altering<'_> {
    fn altered(&mut self, message: Message) -> Vec<Message> {
        let (bytes, is_text) = match message {
            Message::Text(text) => (Bytes::from(text), true),
            Message::Binary(bytes) => (bytes, false),
            other => return vec![other],
        };
        let altered = &self.mutant.messages;
        let channel = bytes
            .first()
            .map(|first| if self.base64 { first - b'0' } else { *first });
        let empty = bytes.len() == 1;
        let whole = |bytes: Bytes, is_text: bool| match (is_text, std::str::from_utf8(&bytes)) {
            (true, Ok(text)) => Message::text(text),
            _ => Message::Binary(bytes),
        };
        if empty || altered.channel.is_some_and(|one| Some(one) != channel) {
            return vec![whole(bytes, is_text)];
        }
        self.count += 1;
        if self.count <= altered.after {
            return vec![whole(bytes, is_text)];
        }
        if altered.drop {
            return Vec::new();
        }
        let mut bytes = bytes;
        if let Some(to) = altered.to {
            bytes = [&[to], bytes.get(1..).unwrap_or_default()].concat().into();
        }
        bytes.truncate(bytes.len().saturating_sub(altered.shorten).max(1));
        if altered.as_text || !altered.replace.is_empty() {
            bytes = replaced(&bytes, &altered.replace);
        }
        let is_text = is_text != altered.other_type;
        let mut all = match serde_json::from_slice(&bytes) {
            Ok(item) if is_text && channel == Some(b'{') => altered_item(item, &self.mutant.stream, &mut self.seen)
                .into_iter()
                .map(|item| item.to_string().into())
                .collect(),
            _ => vec![bytes],
        };
        if altered.joined {
            match self.held.take() {
                None => {
                    self.held = all.pop();
                    return Vec::new();
                }
                Some(first) => all = vec![[first, all.concat().into()].concat().into()],
            }
        }
        if altered.halves {
            let half = |bytes: &Bytes| [bytes.slice(..bytes.len() / 2), bytes.slice(bytes.len() / 2..)];
            all = all.iter().flat_map(half).collect();
        }
        if altered.repeat {
            all = all.iter().flat_map(|bytes| [bytes.clone(), bytes.clone()]).collect();
        }
        all.into_iter().map(|bytes| whole(bytes, is_text)).collect()
    }
}

//! A trial of an exchange of messages over an upgraded connection.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::environment::Environment;
use super::environment_error::EnvironmentError;
use super::verify;
use crate::catalog::profile::ExpectedStatus;
use crate::catalog::{Level, Message, Profile, Socket as Wanted};
use crate::check::{self, Answer, Mismatch};
use crate::request::Request;
use crate::target::{Received, Socket, protocol_header};

/// Time limit for an expected message.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection must stay open after all expected messages.
const OPEN_DURATION: Duration = Duration::from_millis(500);
/// Maximum number of messages that are kept.
const MAX_MESSAGES: usize = 10_000;

/// Opens the connection, sends and receives messages, and compares those that arrive.
pub(super) async fn exchange(
    environment: &Environment<'_>,
    profile: Profile,
    wanted: &Wanted,
    request: &Request,
) -> Result<(Vec<Mismatch>, Answer), EnvironmentError> {
    let asked = Instant::now();
    let case = environment.case();
    let expected = verify::expected_status(case, profile)?;
    let mut socket = match environment.target().upgrade(request, wanted).await? {
        Ok(socket) => socket,
        Err(answer) => {
            return Ok((verify::answer(environment, profile, request, &answer)?, answer));
        }
    };
    let answer = socket.answer.clone();
    if expected != ExpectedStatus::Code(101) {
        return Ok((vec![verify::status(expected, &answer)], answer));
    }
    let agreed = answer.header(protocol_header(wanted).as_str());
    let mut found = Vec::new();
    if agreed != wanted.protocol {
        let shown = |protocol: &Option<String>| protocol.clone().unwrap_or_else(|| "none".to_owned());
        found.push(Mismatch::new("sub-protocol", shown(&wanted.protocol), shown(&agreed)));
    }
    let mut exchange = Exchange {
        wanted: filled(environment, &wanted.receive)?,
        silent: filled(environment, &wanted.silent)?,
        exact: wanted.exact,
        received: Vec::new(),
    };
    for message in filled(environment, &wanted.send)? {
        socket.send(message.channel, message.text.as_deref()).await?;
    }
    let seconds = case.data.query.get("timeoutSeconds").and_then(|text| text.parse().ok());
    let timeout = seconds.map(Duration::from_secs).unwrap_or_default();
    found.extend(
        exchange
            .listen(environment, &mut socket, wanted.ends, asked, timeout)
            .await,
    );
    socket.close().await;
    Ok((found, answer))
}

fn filled(environment: &Environment<'_>, messages: &[Message]) -> Result<Vec<Message>, EnvironmentError> {
    let bindings = environment.bindings();
    let fill = |message: &Message| {
        let text = message.text.as_deref().map(|text| bindings.fill(text)).transpose()?;
        let contains = message
            .contains
            .as_ref()
            .map(|value| bindings.fill_value(value))
            .transpose()?;
        Ok(Message {
            channel: message.channel,
            text,
            bytes: message.bytes.clone(),
            contains,
        })
    };
    messages.iter().map(fill).collect()
}

struct Exchange {
    wanted: Vec<Message>,
    silent: Vec<Message>,
    exact: bool,
    received: Vec<Received>,
}

impl Exchange {
    /// Receives until every expected message has arrived, and the connection has ended or stayed open as expected.
    async fn listen(
        &mut self,
        environment: &Environment<'_>,
        socket: &mut Socket,
        ends: Option<bool>,
        asked: Instant,
        seconds: Duration,
    ) -> Vec<Mismatch> {
        let mut deadline = tokio::time::Instant::now() + seconds + MESSAGE_TIMEOUT;
        let (mut stays, mut extended) = (false, false);
        let over = loop {
            let complete = self.missing().is_none();
            if ends.is_none() && complete || self.received.len() > MAX_MESSAGES {
                return self.unwanted().into_iter().chain(self.mistyped()).collect();
            }
            if ends == Some(false) && complete && !stays {
                stays = true;
                deadline = tokio::time::Instant::now() + seconds + OPEN_DURATION;
            }
            match tokio::time::timeout_at(deadline, socket.receive()).await {
                Ok(Some(received)) => self.received.push(received),
                Ok(None) => break true,
                Err(_) => match environment.extra_wait_once(&mut extended).await {
                    Some(extra) => deadline = tokio::time::Instant::now() + extra,
                    None => break false,
                },
            }
        };
        let lasted = asked.elapsed();
        let early = over && lasted + Duration::from_millis(100) < seconds;
        let end = match (ends, over) {
            (Some(true), false) => Some(Mismatch::new(
                "exchange",
                "to be closed by the server",
                format!("still open after {} s", lasted.as_secs()),
            )),
            (Some(false), true) => Some(Mismatch::new(
                "exchange",
                "to stay open",
                format!("closed after {} ms", lasted.as_millis()),
            )),
            (Some(true), true) if early => Some(Mismatch::new(
                "exchange",
                format!("to stay open for {} s", seconds.as_secs()),
                format!("closed after {} ms", lasted.as_millis()),
            )),
            _ => None,
        };
        let missing = self.missing().or_else(|| self.inexact());
        let others = self.unwanted().into_iter().chain(self.mistyped());
        missing.into_iter().chain(others).chain(end).collect()
    }

    /// Checks that messages are text or binary as the sub-protocol requires.
    fn mistyped(&self) -> Option<Mismatch> {
        let expected = "text or binary messages, as the sub-protocol requires";
        let mistyped = self.received.iter().any(|received| !received.typed);
        mistyped.then(|| Mismatch::new("type of the messages", expected, "the other type").at(Level::Should))
    }

    /// Checks that each channel has received exactly the expected texts.
    fn inexact(&self) -> Option<Mismatch> {
        let channels: BTreeSet<Option<u8>> = self.wanted.iter().map(|wanted| wanted.channel).collect();
        channels.into_iter().filter(|_| self.exact).find_map(|channel| {
            let of_channel = self.wanted.iter().filter(|wanted| wanted.channel == channel);
            let expected: String = of_channel.filter_map(|wanted| wanted.text.clone()).collect();
            let actual = self.text_on(channel);
            let about = channel.map_or_else(
                || "messages".to_owned(),
                |channel| format!("messages on channel {channel}"),
            );
            (!expected.is_empty() && expected != actual).then(|| Mismatch::new(about, expected, actual))
        })
    }

    /// Returns all bytes that have arrived on a channel.
    fn bytes_on(&self, channel: Option<u8>) -> Vec<u8> {
        let on_channel = self.received.iter().filter(|received| received.channel == channel);
        on_channel.flat_map(|received| received.bytes.clone()).collect()
    }

    /// Returns all text that has arrived on a channel.
    fn text_on(&self, channel: Option<u8>) -> String {
        String::from_utf8_lossy(&self.bytes_on(channel)).into_owned()
    }

    /// Checks that no forbidden message has arrived.
    fn unwanted(&self) -> Option<Mismatch> {
        let message = self.silent.iter().find(|message| self.was_received(message))?;
        let expected = match (&message.text, message.channel) {
            (None, Some(channel)) => format!("none on channel {channel}"),
            (text, _) => format!("none that contains {:?}", text.clone().unwrap_or_default()),
        };
        let actual = self.text_on(message.channel);
        Some(Mismatch::new("messages", expected, actual))
    }

    /// Checks that all expected messages have arrived. Reports the first missing one.
    fn missing(&self) -> Option<Mismatch> {
        let missing = self.wanted.iter().find(|wanted| !self.was_received(wanted))?;
        let channel = missing
            .channel
            .map(|channel| format!(" on channel {channel}"))
            .unwrap_or_default();
        let wanted = missing
            .text
            .clone()
            .or_else(|| missing.contains.as_ref().map(check::pretty))
            .or_else(|| missing.bytes.as_ref().map(|bytes| format!("the bytes {bytes:?}")))
            .unwrap_or_default();
        let received = self.received.iter().map(|received| format!("{}\n", shown(received)));
        Some(Mismatch::new(
            format!("messages{channel}"),
            wanted,
            received.collect::<String>(),
        ))
    }

    fn was_received(&self, wanted: &Message) -> bool {
        let on_channel = || {
            self.received
                .iter()
                .filter(|received| received.channel == wanted.channel)
        };
        if wanted.text.is_none() && wanted.contains.is_none() && wanted.bytes.is_none() {
            return on_channel().any(|received| !received.bytes.is_empty());
        }
        let text = wanted
            .text
            .as_ref()
            .is_none_or(|text| self.text_on(wanted.channel).contains(text.as_str()));
        let bytes = wanted.bytes.as_ref().is_none_or(|bytes| {
            let arrived = self.bytes_on(wanted.channel);
            arrived.windows(bytes.len().max(1)).any(|part| part == bytes)
        });
        let value = wanted.contains.as_ref().is_none_or(|value| {
            on_channel()
                .filter_map(|received| serde_json::from_slice::<Value>(&received.bytes).ok())
                .any(|received| check::contains("", value, &received).is_none())
        });
        text && bytes && value
    }
}

/// Returns a message as a report shows it. Text is shown only on channels, because a container of the trial wrote it.
fn shown(received: &Received) -> String {
    match serde_json::from_slice::<Value>(&received.bytes) {
        Ok(value) => check::confined(&value).to_string(),
        Err(_) if received.channel.is_some() => String::from_utf8_lossy(&received.bytes).into_owned(),
        Err(_) => format!("({} bytes that are not JSON)", received.bytes.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn exchange(wanted: Message) -> Exchange {
        let received = |channel, text: &str| Received {
            channel: Some(channel),
            bytes: text.as_bytes().to_vec(),
            typed: channel != 2,
        };
        Exchange {
            wanted: vec![wanted],
            silent: Vec::new(),
            exact: true,
            received: vec![
                received(1, "hel"),
                received(2, "x"),
                received(1, "lo"),
                received(1, r#"{"a": 1, "b": 2}"#),
            ],
        }
    }

    #[test]
    fn a_text_may_come_in_pieces_on_its_channel() {
        let on = |channel| Message {
            channel: Some(channel),
            text: Some("hello".to_owned()),
            ..Message::default()
        };
        assert_eq!(exchange(on(1)).missing(), None);
        assert!(exchange(on(2)).missing().is_some());
    }

    #[test]
    fn bytes_may_come_in_pieces_on_their_channel() {
        let on = |bytes: &[u8]| Message {
            channel: Some(1),
            bytes: Some(bytes.to_vec()),
            ..Message::default()
        };
        assert_eq!(exchange(on(b"llo")).missing(), None);
        assert!(exchange(on(b"llx")).missing().is_some());
    }

    #[test]
    fn an_exact_exchange_has_nothing_else() {
        let on = |channel, text: &str| Message {
            channel: Some(channel),
            text: Some(text.to_owned()),
            ..Message::default()
        };
        assert_eq!(exchange(on(2, "x")).inexact(), None);
        assert!(exchange(on(1, "hello")).inexact().is_some());
    }

    #[test]
    fn a_message_without_content_is_any_on_its_channel() {
        let any = |channel| Message {
            channel: Some(channel),
            ..Message::default()
        };
        assert_eq!(exchange(any(2)).missing(), None);
        assert!(exchange(any(3)).missing().is_some());
    }

    #[test]
    fn a_message_of_the_other_type_is_a_mismatch() {
        assert!(exchange(Message::default()).mistyped().is_some());
    }

    #[test]
    fn a_value_is_contained_in_a_message() {
        let with = |value| Message {
            channel: Some(1),
            contains: Some(value),
            ..Message::default()
        };
        assert_eq!(exchange(with(json!({"a": 1}))).missing(), None);
        assert!(exchange(with(json!({"a": 2}))).missing().is_some());
    }
}

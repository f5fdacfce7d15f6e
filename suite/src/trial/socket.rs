//! A trial of a talk over WebSocket.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::verify;
use super::environment::{Environment, EnvironmentError};
use crate::catalog::{Message, Profile, Case, Socket as Wanted};
use crate::check::{self, Answer, Mismatch};
use crate::request::Request;
use crate::target::{Received, Socket};

/// How long what is due may take to be received.
const EVENT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a talk is watched that is to go on, beyond the time at which it might end.
const STAYING: Duration = Duration::from_millis(500);
/// How much is kept of what is received, in messages.
const KEPT: usize = 10_000;

/// Talks, and judges what is received.
pub(super) async fn talk(
    environment: &Environment<'_>,
    case: &Case,
    profile: Profile,
    wanted: &Wanted,
    request: &Request,
) -> Result<(Vec<Mismatch>, Answer), EnvironmentError> {
    let asked = Instant::now();
    let code = verify::expected_status(case, profile)?;
    let mut socket = match environment.target().upgrade(request, wanted).await? {
        Ok(socket) => socket,
        Err(answer) => {
            return Ok((verify::answer(environment, case, profile, &answer)?, answer));
        }
    };
    let answer = socket.answer.clone();
    if code != 101 {
        return Ok((vec![verify::status(code, &answer)], answer));
    }
    let agreed = answer.header("sec-websocket-protocol");
    let mut found = Vec::new();
    if agreed != wanted.protocol {
        let shown = |protocol: &Option<String>| protocol.clone().unwrap_or_else(|| "none".to_owned());
        found.push(Mismatch::new("sub-protocol", shown(&wanted.protocol), shown(&agreed)));
    }
    let mut hearing = Hearing {
        wanted: filled(environment, &wanted.receive)?,
        received: Vec::new(),
    };
    for message in filled(environment, &wanted.send)? {
        socket
            .send_message(message.channel, message.text.as_deref().unwrap_or_default())
            .await?;
    }
    let seconds = case
        .data
        .query
        .get("timeoutSeconds")
        .and_then(|text| text.parse().ok())
        .map(Duration::from_secs)
        .unwrap_or_default();
    found.extend(hearing.listen(&mut socket, wanted.ends, asked, seconds).await);
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
            contains,
        })
    };
    messages.iter().map(fill).collect()
}

struct Hearing {
    wanted: Vec<Message>,
    received: Vec<Received>,
}

impl Hearing {
    /// Listens until everything was received, and the end has come or stayed away as it should.
    async fn listen(
        &mut self,
        socket: &mut Socket,
        ends: Option<bool>,
        asked: Instant,
        seconds: Duration,
    ) -> Vec<Mismatch> {
        let watched = if ends == Some(false) { STAYING } else { EVENT_TIMEOUT };
        let deadline = tokio::time::Instant::from_std(asked) + seconds + watched;
        let over = loop {
            if ends.is_none() && self.missing().is_none() || self.received.len() > KEPT {
                return Vec::new();
            }
            match tokio::time::timeout_at(deadline, socket.receive()).await {
                Ok(Some(received)) => self.received.push(received),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let lasted = asked.elapsed();
        let early = over && lasted + Duration::from_millis(100) < seconds;
        let end = match (ends, over) {
            (Some(true), false) => Some(Mismatch::new(
                "talk",
                "to end by itself",
                format!("it goes on after {} s", lasted.as_secs()),
            )),
            (Some(false), true) => Some(Mismatch::new(
                "talk",
                "to go on",
                format!("it ended after {} ms", lasted.as_millis()),
            )),
            (Some(true), true) if early => Some(Mismatch::new(
                "talk",
                format!("to last {} s", seconds.as_secs()),
                format!("it lasted {} ms", lasted.as_millis()),
            )),
            _ => None,
        };
        self.missing().into_iter().chain(end).collect()
    }

    /// The first that has not been received.
    fn missing(&self) -> Option<Mismatch> {
        let missing = self.wanted.iter().find(|wanted| !self.was_heard(wanted))?;
        let channel = missing
            .channel
            .map(|channel| format!(" on channel {channel}"))
            .unwrap_or_default();
        let wanted = missing
            .text
            .clone()
            .or_else(|| missing.contains.as_ref().map(check::pretty))
            .unwrap_or_default();
        let received = self
            .received
            .iter()
            .map(|received| format!("{}\n", String::from_utf8_lossy(&received.bytes)));
        Some(Mismatch::new(
            format!("what is received{channel}"),
            wanted,
            received.collect::<String>(),
        ))
    }

    fn was_heard(&self, wanted: &Message) -> bool {
        let on_channel = || self.received.iter().filter(|received| received.channel == wanted.channel);
        let text = wanted.text.as_ref().is_none_or(|text| {
            let all: Vec<u8> = on_channel().flat_map(|received| received.bytes.clone()).collect();
            String::from_utf8_lossy(&all).contains(text.as_str())
        });
        let value = wanted.contains.as_ref().is_none_or(|value| {
            on_channel()
                .filter_map(|received| serde_json::from_slice::<Value>(&received.bytes).ok())
                .any(|received| check::contains("", value, &received).is_none())
        });
        text && value
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hearing(wanted: Message) -> Hearing {
        let received = |channel, text: &str| Received {
            channel: Some(channel),
            bytes: text.as_bytes().to_vec(),
        };
        Hearing {
            wanted: vec![wanted],
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
            contains: None,
        };
        assert_eq!(hearing(on(1)).missing(), None);
        assert!(hearing(on(2)).missing().is_some());
    }

    #[test]
    fn a_value_is_contained_in_a_message() {
        let with = |value| Message {
            channel: Some(1),
            text: None,
            contains: Some(value),
        };
        assert_eq!(hearing(with(json!({"a": 1}))).missing(), None);
        assert!(hearing(with(json!({"a": 2}))).missing().is_some());
    }
}

//! What a case needs around its request: something of the target, steps before it, who asks, and a talk over WebSocket.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Body;

/// What a target has to offer for a case to be played on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// A server of the suite's own that the target's proxy reaches.
    Backend,
    /// A pod that is said to run has a container that does.
    Container,
    /// The log search add-on.
    LogSearch,
    /// The log lines of the fixtures in it.
    LogLines,
    /// A clock that shows the time at which the log queries were asked.
    Clock,
}

/// Who asks, where it is not whom the target was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Credential {
    /// Nobody: no credentials.
    Nobody,
    /// A user with the password.
    Basic,
    /// The user with another password.
    BasicWrong,
    /// A token.
    Bearer,
    /// A token that nobody gave out.
    BearerWrong,
    /// A client certificate.
    Certificate,
}

/// A request that is made before the case's own, and has to succeed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// `METHOD path`, with names in it.
    pub request: String,
    /// What is sent.
    pub body: Option<Body>,
}

/// A connection that is upgraded to WebSocket, and what is said on it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Socket {
    /// The sub-protocol that is offered, and is to be agreed on.
    pub protocol: Option<String>,
    /// The Origin header.
    pub origin: Option<String>,
    /// What is said, in this order.
    #[serde(default)]
    pub send: Vec<Message>,
    /// What is to be received, in any order and between whatever else.
    #[serde(default)]
    pub receive: Vec<Message>,
    /// Whether it is to end by itself; not looked at unless said.
    pub ends: Option<bool>,
}

/// Something said or received on a WebSocket.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The channel, where the sub-protocol has channels.
    pub channel: Option<u8>,
    /// The text; of what is received, a part of all that came on the channel.
    pub text: Option<String>,
    /// What a message of JSON contains.
    pub contains: Option<Value>,
}

/// What the headers of an answer are to be: a value with names in it, or `none`.
pub type Headers = BTreeMap<String, String>;

//! What a case needs around its request: offers of the target, set-up steps, credentials, a WebSocket conversation.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Body;

/// Something that a target must offer for a case to be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// The target's proxy reaches the suite's backend.
    Backend,
    /// A pod bound to a node runs a container.
    Container,
    /// Objects of the whole cluster may be created, such as nodes.
    ClusterObjects,
    /// The log search add-on.
    LogSearch,
    /// The log lines of the fixtures are in the log search add-on.
    LogLines,
    /// Nodes run pods and controllers act, on a clock that moves.
    LivingCluster,
    /// Containers of a living cluster run processes.
    Processes,
    /// The proxy to the nodes of a living cluster reaches their kubelets.
    Kubelets,
    /// The clock shows the time at which the log queries were recorded.
    Clock,
}

/// Credential that a request presents, if it is not the target's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Credential {
    /// No credentials.
    Nobody,
    /// User name and password.
    Basic,
    /// The user name with a wrong password.
    BasicWrong,
    /// Bearer token.
    Bearer,
    /// Unknown bearer token.
    BearerWrong,
    /// Client certificate.
    Certificate,
}

/// A request before the case's own. It must succeed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// `METHOD path`, a template.
    pub request: String,
    /// Request body.
    pub body: Option<Body>,
    /// Names to bind to values of the response, by JSON pointer.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// What the response contains in the end; a GET is repeated until it does.
    pub until: Option<Value>,
}

/// A WebSocket conversation.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Socket {
    /// Sub-protocol to offer, which the server must select.
    pub protocol: Option<String>,
    /// Whether the handshake has an Origin header: the origin of the target. Default: no.
    #[serde(default)]
    pub origin: bool,
    /// Messages to send, in order.
    #[serde(default)]
    pub send: Vec<Message>,
    /// Messages that must arrive, in any order, among others.
    #[serde(default)]
    pub receive: Vec<Message>,
    /// Messages that must not arrive before the others have. One without content stands for any on its channel.
    #[serde(default)]
    pub silent: Vec<Message>,
    /// Whether the texts of `receive` are all that arrives on their channels. Default: no.
    #[serde(default)]
    pub exact: bool,
    /// Whether the server closes the connection. Default: not checked.
    pub ends: Option<bool>,
}

/// A message of a WebSocket.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Channel, for a sub-protocol that has channels.
    pub channel: Option<u8>,
    /// Text to send, or a part of all text that arrives on the channel.
    pub text: Option<String>,
    /// Content of a JSON message.
    pub contains: Option<Value>,
}

/// Expected headers: a template of the value, `none` for a missing header, `any` for a present one, a final `*` for
/// any rest.
pub type Headers = BTreeMap<String, String>;

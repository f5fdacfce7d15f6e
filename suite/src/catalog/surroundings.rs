//! What a case needs around its request: offers of the target, set-up steps, credentials, a conversation.

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
    /// The other group that has the kind's objects.
    OtherGroup,
    /// Limit ranges and quotas are enforced.
    Admission,
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
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    /// `METHOD path`, a template.
    pub request: String,
    /// Request body.
    pub body: Option<Body>,
    /// Media type of the body. Default: JSON, for a patch a merge patch.
    pub content_type: Option<String>,
    /// Names to bind to values of the response, by JSON pointer.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// What the response contains in the end; a GET is repeated until it does.
    pub until: Option<Value>,
    /// Path of a collection without which the step is left out, a template.
    #[serde(skip)]
    pub if_served: Option<String>,
}

/// The type of a stream of a SPDY connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamType {
    /// Errors, and the end of a command.
    Error,
    /// Input.
    Stdin,
    /// Output.
    Stdout,
    /// Error output.
    Stderr,
    /// Both directions of a connection to a port.
    Data,
}

impl StreamType {
    /// The value of the header `streamtype`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Stdin => "stdin",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Data => "data",
        }
    }

    /// The channel on which the client sends.
    pub fn sent_on(self) -> Option<u8> {
        matches!(self, Self::Stdin | Self::Data).then_some(0)
    }

    /// The channel on which the client receives.
    pub fn received_on(self) -> Option<u8> {
        match self {
            Self::Stdin => None,
            Self::Stdout | Self::Data => Some(1),
            Self::Stderr => Some(2),
            Self::Error => Some(3),
        }
    }
}

/// A conversation over WebSocket or SPDY.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Socket {
    /// Sub-protocol to offer, which the server must select.
    pub protocol: Option<String>,
    /// Whether the handshake has an Origin header: the origin of the target. Default: no.
    #[serde(default)]
    pub origin: bool,
    /// Types of the streams to open over SPDY. Default: none; the conversation is over WebSocket.
    #[serde(default)]
    pub spdy: Vec<StreamType>,
    /// Port that the streams forward.
    pub port: Option<u16>,
    /// Messages to send, in order. Over SPDY one without text ends its stream.
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

/// A message of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Channel, for a sub-protocol that has channels.
    pub channel: Option<u8>,
    /// Text to send, or a part of all text that arrives on the channel.
    pub text: Option<String>,
    /// Bytes instead of a text.
    pub bytes: Option<Vec<u8>>,
    /// Content of a JSON message.
    pub contains: Option<Value>,
}

/// Expected headers: a template of the value, `none` for a missing header, `any` for a present one, a final `*` for
/// any rest.
pub type Headers = BTreeMap<String, String>;

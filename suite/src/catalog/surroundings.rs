//! Context of the request of a case: features of the target, setup steps, credentials, a conversation.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Body;

/// A feature that the target must have for a case to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// The target's proxy reaches the suite's backend.
    Backend,
    /// A pod bound to a node runs a container.
    Container,
    /// Cluster-wide objects, such as nodes, may be created.
    ClusterObjects,
    /// The target has the log search add-on.
    LogSearch,
    /// The log lines of the fixtures are in the log search add-on.
    LogLines,
    /// The target serves the other group with the objects of the kind.
    OtherGroup,
    /// Limit ranges and quotas are enforced.
    Admission,
    /// Nodes run pods and controllers act, on a running clock.
    LivingCluster,
    /// Containers of a full cluster run processes.
    Processes,
    /// The node proxy of a full cluster reaches the kubelets.
    Kubelets,
    /// The clock shows the time at which the log queries were recorded.
    Clock,
}

/// Credential of a request, if it is not that of the target.
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

/// A request before that of the case. It must succeed.
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
    /// Values that the response contains at last. A GET is repeated until it does.
    pub until: Option<Value>,
    /// Path of a collection, a template. Without this collection the step is left out.
    #[serde(skip)]
    pub if_served: Option<String>,
}

/// Type of a stream of a SPDY connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamType {
    /// Errors, and the exit status of a command.
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
    /// Returns the value of the header `streamtype`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Stdin => "stdin",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Data => "data",
        }
    }

    /// Returns the channel on which the client sends.
    pub fn sent_on(self) -> Option<u8> {
        matches!(self, Self::Stdin | Self::Data).then_some(0)
    }

    /// Returns the channel on which the client receives.
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
    /// Whether the handshake has an Origin header with the origin of the target. Default: no.
    #[serde(default)]
    pub origin: bool,
    /// Types of the streams to open over SPDY. Default: none; the conversation is over WebSocket.
    #[serde(default)]
    pub spdy: Vec<StreamType>,
    /// Port that the streams forward.
    pub port: Option<u16>,
    /// Messages to send, in order. Over SPDY a message without text ends its stream.
    #[serde(default)]
    pub send: Vec<Message>,
    /// Messages that must arrive, in any order. Others may arrive, too.
    #[serde(default)]
    pub receive: Vec<Message>,
    /// Messages that must not arrive before those of `receive`. One without content matches any on its channel.
    #[serde(default)]
    pub silent: Vec<Message>,
    /// Whether nothing but the texts of `receive` arrives on their channels. Default: no.
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
    /// Text to send, or part of the text that arrives on the channel.
    pub text: Option<String>,
    /// Bytes, instead of a text.
    pub bytes: Option<Vec<u8>>,
    /// Content of a JSON message.
    pub contains: Option<Value>,
}

/// Expected headers: a template of the value, `none` for a missing header, `any` for a present one, a final `*` for any
/// suffix.
pub type Headers = BTreeMap<String, String>;

//! The two profiles, and every difference between them in one table.
//!
//! Source: the table "Two profiles" of the design; each method is a row of it. Nothing else in the crate asks which profile it is.

use std::{fmt, str::FromStr};

use crate::api::{Reason, Status};

/// Whose word counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The documents' word, and v1.2's where they are silent.
    #[default]
    Documented,
    /// The recorded v1.2 server's word, everywhere.
    Kubernetes12,
}

impl Profile {
    /// Both profiles.
    pub const ALL: [Self; 2] = [Self::Documented, Self::Kubernetes12];

    fn recorded(self) -> bool {
        self == Self::Kubernetes12
    }

    /// The status code of a request that created an object.
    pub fn created_code(self) -> u16 {
        if self.recorded() { 201 } else { 200 }
    }

    /// Whether POST of a binding answers the Binding (else a Status).
    pub fn binding_answers_itself(self) -> bool {
        !self.recorded()
    }

    /// Whether a body is read as the JSON or YAML that it is (else as Content-Type says, and 415 where that is neither).
    pub fn any_media_type(self) -> bool {
        !self.recorded()
    }

    /// Whether DELETE may answer with what was deleted (else always a Status).
    pub fn delete_answers_objects(self) -> bool {
        self.recorded()
    }

    /// Whether a watch from no version, or 0, starts with the present objects (else with the beginning of history).
    pub fn watch_starts_from_present(self) -> bool {
        self.recorded()
    }

    /// Whether a watch of `resource` from version N repeats N's own change. (Events do not go through the cache that does so.)
    pub fn watch_repeats_start(self, resource: &str) -> bool {
        self.recorded() && resource != "events"
    }

    /// How many changes of `resource` a watch can start back in.
    pub fn history(self, resource: &str) -> usize {
        match (self, resource) {
            (Self::Documented, _) => 10_000,
            (Self::Kubernetes12, "pods" | "nodes" | "endpoints" | "events") => 1_000,
            (Self::Kubernetes12, _) => 100,
        }
    }

    /// The media type of a watch; `None`: no Content-Type header.
    pub fn watch_media_type(self) -> Option<&'static str> {
        if self.recorded() {
            None
        } else {
            Some("application/json")
        }
    }

    /// Whether timeoutSeconds ends a watch over WebSocket, and none is refused for want of an Origin.
    pub fn websocket_is_lenient(self) -> bool {
        !self.recorded()
    }

    /// Whether the query parameter `path` at a service proxy's root is the path to ask for.
    pub fn proxy_path_parameter(self) -> bool {
        !self.recorded()
    }

    /// Whether what clients newer than v1.2 ask for is there: OpenAPI, and `fieldValidation`.
    pub fn speaks_to_newer_clients(self) -> bool {
        !self.recorded()
    }

    /// Whether JSON patch is all of RFC 6902 (else the recorded subset).
    pub fn full_json_patch(self) -> bool {
        !self.recorded()
    }

    /// Whether merge patch is RFC 7386 (else as v1.2's library has it: nulls inside lists are dropped, a list as a patch is taken for the whole object).
    pub fn full_merge_patch(self) -> bool {
        !self.recorded()
    }

    /// Whether replacing a service takes the node ports that it gives up for kept and those that it keeps for given up (else the other way around).
    pub fn mistakes_node_ports(self) -> bool {
        self.recorded()
    }

    /// Whether a watch of one object sees nothing of the kinds whose name is no field.
    pub fn forgets_names(self) -> bool {
        self.recorded()
    }

    /// Whether a query value that is no boolean is refused (else it counts as true).
    pub fn strict_booleans(self) -> bool {
        !self.recorded()
    }

    /// A client's mistake that the recorded server calls a 500 without a reason; by the documents it has the code `documented`. The text is the same.
    pub fn mistake(self, documented: u16, text: impl Into<String>) -> Status {
        let reason = match documented {
            404 => Reason::NotFound,
            422 => Reason::Invalid,
            _ => Reason::BadRequest,
        };
        if self.recorded() {
            Status::unexplained(500, text)
        } else {
            Status::new(reason, text)
        }
    }

    /// The status code and the `Status` that answer a rollback: the recorded server rolls back and then fails to say so.
    pub fn rollback(self) -> (u16, Status) {
        if self.recorded() {
            (201, Status::unexplained(500, "expected pointer, but got invalid kind"))
        } else {
            (200, Status::success())
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Kubernetes12 => "kubernetes-1.2",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|p| p.name() == name)
            .ok_or_else(|| format!("no profile {name:?}: the profiles are documented and kubernetes-1.2"))
    }
}

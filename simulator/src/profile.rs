//! The two profiles, and every difference between them in one table.
//!
//! Each method is one difference. Nothing else in the crate matches on a profile.

use std::{fmt, str::FromStr};

use crate::api::{Reason, Status};

/// Behaviour profile. Default: [`Profile::Documented`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Follows the API documentation, and Kubernetes v1.2 where that is silent.
    #[default]
    Documented,
    /// Follows the recorded Kubernetes v1.2 server everywhere.
    Kubernetes12,
}

impl Profile {
    /// Both profiles.
    pub const ALL: [Self; 2] = [Self::Documented, Self::Kubernetes12];

    fn is_kubernetes_1_2(self) -> bool {
        self == Self::Kubernetes12
    }

    /// The status code of a request that created an object.
    pub(crate) fn created_code(self) -> u16 {
        if self.is_kubernetes_1_2() { 201 } else { 200 }
    }

    /// Whether POST of a binding returns the Binding (else a Status).
    pub(crate) fn returns_binding(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether a body is parsed as JSON or YAML whatever its Content-Type (else by Content-Type, and 415 for other types).
    pub(crate) fn any_media_type(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether DELETE may return the deleted object or list (else always a Status).
    pub(crate) fn delete_returns_object(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether empty lists of some kinds come without `items` (else every list has them).
    pub(crate) fn omits_empty_items(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether the label selector of a list of component statuses is ignored.
    pub(crate) fn ignores_component_labels(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch from no version, or 0, starts with the present objects (else with the start of the history).
    pub(crate) fn watch_starts_from_present(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch of a kind that v1.2 caches includes, from version N, N's own change.
    pub(crate) fn watch_repeats_start(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch from version N shows changes before N that a lagging watch cache sees late.
    pub(crate) fn watch_shows_late_changes(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a cluster's nodes are named by their addresses, as kubelets without host names are (else `node-1`, `node-2`, ...).
    pub(crate) fn names_nodes_by_address(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a namespace with pods stays for half their longest grace period and a second (else until the pods are gone).
    pub(crate) fn namespace_waits_for_grace_periods(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether pods are given the service account `default` and the token of their account, where controllers make tokens.
    pub(crate) fn mounts_tokens(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Number of changes of a kind that the history keeps; `cached` is the size of v1.2's cache where it is not 100.
    pub(crate) fn history(self, cached: Option<usize>) -> usize {
        match self {
            Self::Documented => 10_000,
            Self::Kubernetes12 => cached.unwrap_or(100),
        }
    }

    /// The media type of a watch; `None`: no Content-Type header.
    pub(crate) fn watch_media_type(self) -> Option<&'static str> {
        if self.is_kubernetes_1_2() {
            None
        } else {
            Some("application/json")
        }
    }

    /// Whether timeoutSeconds ends a watch over WebSocket, and no Origin is required.
    pub(crate) fn websocket_is_lenient(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether the query parameter `path` at a service proxy's root is the path to request.
    pub(crate) fn proxy_path_parameter(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether the proxy passes `Authorization` and `Cookie` on to pods, services and nodes.
    pub(crate) fn proxy_passes_credentials(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether the server has what clients newer than v1.2 use: OpenAPI, `fieldValidation`, aggregated discovery, protobuf bodies, `limit` and
    /// `continue`, `gracePeriodSeconds` in the query of a DELETE without a body, bookmarks, `sendInitialEvents`, `SelfSubjectAccessReview`, `/readyz`, `/livez`.
    pub(crate) fn supports_newer_clients(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether JSON patch is all of RFC 6902 (else the recorded subset).
    pub(crate) fn full_json_patch(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether merge patch is RFC 7386 (else v1.2's: nulls inside lists are dropped, and a list as a patch replaces the whole object).
    pub(crate) fn full_merge_patch(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether the update of a service keeps the node ports that it gives up, and frees those that it keeps.
    pub(crate) fn has_node_port_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether POST of a name that exists is answered as if the name had been generated, if there is a prefix for that, too.
    pub(crate) fn has_name_conflict_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch of one object has no events for kinds whose `metadata.name` is not selectable.
    pub(crate) fn has_name_field_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a query value that is no boolean is an error (else it is true).
    pub(crate) fn strict_booleans(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// A client error that Kubernetes v1.2 reports as 500 without a reason, and the documented profile as `documented`.
    pub(crate) fn client_error(self, documented: u16, text: impl Into<String>) -> Status {
        let reason = match documented {
            404 => Reason::NotFound,
            422 => Reason::Invalid,
            _ => Reason::BadRequest,
        };
        if self.is_kubernetes_1_2() {
            Status::unexplained(500, text)
        } else {
            Status::new(reason, text)
        }
    }

    /// A request that Kubernetes v1.2 answers with a panic, and the documented profile as `documented`, with a text that says what is wrong.
    pub(crate) fn panic(self, documented: u16, text: impl Into<String>) -> Status {
        if self.is_kubernetes_1_2() {
            let text = "an error on the server has prevented the request from succeeding";
            Status {
                details: Some(Box::default()),
                ..Status::internal(text)
            }
        } else {
            self.client_error(documented, text)
        }
    }

    /// Whether a delete in the groups `batch` and `autoscaling` refuses options of the same group.
    pub(crate) fn has_delete_options_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch of a namespace, or a list of it from the watch cache, has the objects of all namespaces whose names begin with its name.
    pub(crate) fn has_namespace_prefix_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether admission drops the labels, annotations and generateName of the quotas that it charges.
    pub(crate) fn has_quota_metadata_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch that begins with the present events shows those that were updated as MODIFIED.
    pub(crate) fn has_event_watch_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a patch that conflicts is compared as an object of the version that its kind is stored in.
    pub(crate) fn has_patch_conflict_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a patch that leaves no `apiVersion` is read as v1.2's internal version, in which some fields have other names and nothing is defaulted.
    pub(crate) fn has_internal_version_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether the generateName `-` makes validation panic.
    pub(crate) fn has_generate_name_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// The code and the `Status` of a rollback. v1.2 rolls back, then fails to encode the result.
    pub(crate) fn rollback_response(self) -> (u16, Status) {
        if self.is_kubernetes_1_2() {
            (201, Status::unexplained(500, "expected pointer, but got invalid kind"))
        } else {
            (200, Status::success())
        }
    }

    /// The profile's name on the command line.
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

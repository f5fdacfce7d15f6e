//! The two profiles, and a method for each difference between them.
//!
//! Nothing else in the crate matches on a profile.

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

    /// Status code of a request that created an object.
    pub(crate) fn created_code(self) -> u16 {
        if self.is_kubernetes_1_2() { 201 } else { 200 }
    }

    /// Whether POST of a binding returns the Binding (else a Status).
    pub(crate) fn returns_binding(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether the Content-Type of a body is ignored (otherwise unsupported types are an error, 415).
    pub(crate) fn any_media_type(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether DELETE may return the deleted object or list (else always a Status).
    pub(crate) fn delete_returns_object(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether empty lists of some kinds have no `items` (otherwise every list has them).
    pub(crate) fn omits_empty_items(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether the label selector of a list of component statuses is ignored.
    pub(crate) fn ignores_component_labels(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch without a version, or from 0, starts with the current objects (otherwise with the start of the
    /// history).
    pub(crate) fn watch_starts_from_present(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch from version N of a kind that v1.2 caches includes the change with version N.
    pub(crate) fn watch_repeats_start(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch from version N includes earlier changes that a lagging watch cache receives late.
    pub(crate) fn watch_shows_late_changes(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether nodes are named by their addresses, as kubelets without host names are (otherwise `node-1`, `node-2`,
    /// ...).
    pub(crate) fn names_nodes_by_address(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a namespace with pods remains for half their longest grace period plus one second (otherwise until the
    /// pods are gone).
    pub(crate) fn namespace_waits_for_grace_periods(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether pods get the service account `default` and a token of their account, if the token controller runs.
    pub(crate) fn mounts_tokens(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Number of changes of a kind kept in the history; `cached` is the size of v1.2's watch cache if it is not 100.
    pub(crate) fn history(self, cached: Option<usize>) -> usize {
        match self {
            Self::Documented => 10_000,
            Self::Kubernetes12 => cached.unwrap_or(100),
        }
    }

    /// Media type of a watch response; `None` for no Content-Type header.
    pub(crate) fn watch_media_type(self) -> Option<&'static str> {
        if self.is_kubernetes_1_2() {
            None
        } else {
            Some("application/json")
        }
    }

    /// Whether timeoutSeconds ends a watch over WebSocket, and the Origin header is optional.
    pub(crate) fn websocket_is_lenient(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether the query parameter `path` at a service proxy's root is the path of the request.
    pub(crate) fn proxy_path_parameter(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether the proxy forwards `Authorization` and `Cookie` to pods, services and nodes.
    pub(crate) fn proxy_passes_credentials(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether the server supports features of clients newer than v1.2: OpenAPI, `fieldValidation`, aggregated
    /// discovery, protobuf bodies, `limit` and `continue`, `gracePeriodSeconds` in the query of a DELETE without a
    /// body, bookmarks, `sendInitialEvents`, `SelfSubjectAccessReview`, `/readyz`, `/livez`.
    pub(crate) fn supports_newer_clients(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether JSON patch is the complete RFC 6902 (otherwise the recorded subset).
    pub(crate) fn full_json_patch(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether merge patch is RFC 7386 (otherwise v1.2's: nulls inside lists are dropped, and a list as the patch
    /// replaces the whole object).
    pub(crate) fn full_merge_patch(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Whether an update of a service keeps the node ports that it removes, and releases those that it keeps.
    pub(crate) fn has_node_port_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether POST of an existing name returns the error of a generated name if the object has a `generateName` as
    /// well.
    pub(crate) fn has_name_conflict_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch of one object returns no events for kinds whose `metadata.name` is not selectable.
    pub(crate) fn has_name_field_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a query value that is not a boolean is an error (otherwise it is true).
    pub(crate) fn strict_booleans(self) -> bool {
        !self.is_kubernetes_1_2()
    }

    /// Returns a client error that Kubernetes v1.2 reports as 500 without a reason, and the documented profile as
    /// `documented`.
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

    /// Returns the error of a request at which Kubernetes v1.2 panics. The documented profile reports it as
    /// `documented` with a text that describes it.
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

    /// Whether a delete in the groups `batch` and `autoscaling` rejects options of the same group.
    pub(crate) fn has_delete_options_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch of a namespace, or a list of it from the watch cache, includes the objects of all namespaces
    /// with that name prefix.
    pub(crate) fn has_namespace_prefix_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether admission drops the labels, annotations and generateName of the quotas that it updates.
    pub(crate) fn has_quota_metadata_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a watch that starts with the current events returns those that were updated as MODIFIED.
    pub(crate) fn has_event_watch_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a conflicting patch is compared in the storage version of its kind.
    pub(crate) fn has_patch_conflict_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether a patch that removes `apiVersion` is decoded as v1.2's internal version, in which some fields have
    /// other names and there are no defaults.
    pub(crate) fn has_internal_version_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Whether the generateName `-` makes validation panic.
    pub(crate) fn has_generate_name_bug(self) -> bool {
        self.is_kubernetes_1_2()
    }

    /// Returns the status code and `Status` of a rollback. v1.2 rolls back, then fails to encode the result.
    pub(crate) fn rollback_response(self) -> (u16, Status) {
        if self.is_kubernetes_1_2() {
            (201, Status::unexplained(500, "expected pointer, but got invalid kind"))
        } else {
            (200, Status::success())
        }
    }

    /// Name of the profile on the command line.
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
            .ok_or_else(|| format!("unknown profile {name:?}: the profiles are documented and kubernetes-1.2"))
    }
}

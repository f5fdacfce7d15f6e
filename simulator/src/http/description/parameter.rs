//! Parameters of operations.

/// Location of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    Path,
    Query,
}

/// A parameter other than the body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) location: Location,
    /// `string`, `boolean` or `integer`.
    pub(super) kind: &'static str,
    pub(super) description: &'static str,
    /// Whether only clients newer than v1.2 send it. Such parameters are omitted from Swagger 1.2.
    pub(super) newer: bool,
}

const fn query(name: &'static str, kind: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        location: Location::Query,
        kind,
        description,
        newer: false,
    }
}

/// Returns a query parameter that only newer clients send.
const fn newer(name: &'static str, kind: &'static str, description: &'static str) -> Parameter {
    Parameter {
        newer: true,
        ..query(name, kind, description)
    }
}

const fn segment(name: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        location: Location::Path,
        kind: "string",
        description,
        newer: false,
    }
}

pub(super) const PRETTY: Parameter = query("pretty", "string", "If 'true', then the output is pretty printed.");
pub(super) const VALIDATION: Parameter = newer(
    "fieldValidation",
    "string",
    "Handling of unknown fields: Ignore (the default), Warn, or Strict, which rejects them.",
);
pub(super) const LIST: [Parameter; 11] = [
    PRETTY,
    query(
        "labelSelector",
        "string",
        "A selector to restrict the list of returned objects by their labels. Defaults to everything.",
    ),
    query(
        "fieldSelector",
        "string",
        "A selector to restrict the list of returned objects by their fields. Defaults to everything.",
    ),
    query(
        "watch",
        "boolean",
        "Watch for changes to the described resources and return them as a stream of add, update, and remove \
            notifications.",
    ),
    query(
        "resourceVersion",
        "string",
        "With watch, shows changes that occur after that version of a resource. Defaults to changes from the \
            beginning of history.",
    ),
    query(
        "timeoutSeconds",
        "integer",
        "Timeout for the list or watch call, in seconds.",
    ),
    newer(
        "limit",
        "integer",
        "Maximum number of objects in the response. Use continue to read the rest.",
    ),
    newer(
        "continue",
        "string",
        "The continue token of the previous response, which had a limit.",
    ),
    newer(
        "allowWatchBookmarks",
        "boolean",
        "Sends BOOKMARK events, which have a resourceVersion and no change.",
    ),
    newer(
        "sendInitialEvents",
        "boolean",
        "Begins a watch with the current objects as ADDED events, followed by a BOOKMARK.",
    ),
    newer(
        "resourceVersionMatch",
        "string",
        "How resourceVersion applies. NotOlderThan is required with sendInitialEvents.",
    ),
];
pub(super) const READ: [Parameter; 3] = [
    PRETTY,
    query("export", "boolean", "Removes the fields that a user cannot specify."),
    query(
        "exact",
        "boolean",
        "With export, keeps fields that belong to this cluster, such as the namespace.",
    ),
];
pub(super) const ATTACH: [Parameter; 5] = [
    query(
        "stdin",
        "boolean",
        "Redirects the container's standard input. Defaults to false.",
    ),
    query(
        "stdout",
        "boolean",
        "Redirects the container's standard output. Defaults to true.",
    ),
    query(
        "stderr",
        "boolean",
        "Redirects the container's standard error. Defaults to true.",
    ),
    query(
        "tty",
        "boolean",
        "Allocates a terminal for the call. Defaults to false.",
    ),
    query("container", "string", "The container. Required if the pod has several."),
];
pub(super) const COMMAND: Parameter = query("command", "string", "The command: one parameter for each argument.");
pub(super) const LOG: [Parameter; 9] = [
    PRETTY,
    query("container", "string", "The container. Required if the pod has several."),
    query(
        "follow",
        "boolean",
        "Follows the log as it is written. Defaults to false.",
    ),
    query(
        "previous",
        "boolean",
        "Returns the log of the previous container. Defaults to false.",
    ),
    query(
        "sinceSeconds",
        "integer",
        "Returns lines of the last seconds. Only one of sinceSeconds and sinceTime may be set.",
    ),
    query(
        "sinceTime",
        "string",
        "Returns lines from this time on, RFC 3339. Only one of sinceSeconds and sinceTime may be set.",
    ),
    query(
        "timestamps",
        "boolean",
        "Prefixes each line with its time. Defaults to false.",
    ),
    query("tailLines", "integer", "Number of lines from the end."),
    query("limitBytes", "integer", "Maximum number of bytes of the response."),
];
pub(super) const PROXIED: Parameter = query("path", "string", "The path and query of the proxied request.");
pub(super) const NAMESPACE: Parameter = segment("namespace", "Name of the namespace.");
pub(super) const NAME: Parameter = segment("name", "Name of the object.");
pub(super) const PATH: Parameter = segment("path", "Path to the resource.");

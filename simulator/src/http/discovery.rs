//! Discovery documents: versions, groups, group versions with their resources, the server's version, the list of
//! paths.
//!
//! - Encoded once per scheme.
//! - Quirks are those of the recorded server (`discovery.har`): documents of the core group and of `extensions` have
//!   no `apiVersion`, and a single group has no server address.
//!
//! Source: Kubernetes v1.2 (`pkg/apiserver` and `unversioned` types), as recorded.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::route::{GroupVersion, Table};

/// Version of the simulated server: that of the recorded one.
const VERSION: &str = r#"{
  "major": "1",
  "minor": "2+",
  "gitVersion": "v1.2.0-beta.1+0e4e78e",
  "gitCommit": "0e4e78e1e590888936100fc0a7a491c5532ddd8b",
  "gitTreeState": "not a git tree"
}"#;

/// Listed paths without a discovery document.
const PAGES: [&str; 9] = [
    "/healthz",
    "/healthz/ping",
    "/logs/",
    "/metrics",
    "/resetMetrics",
    "/swagger-ui/",
    "/swaggerapi/",
    "/ui/",
    "/version",
];

/// The encoded documents.
pub(crate) struct Discovery {
    /// `/api`, compact.
    pub(crate) versions: Bytes,
    /// `/apis`, compact.
    pub(crate) groups: Bytes,
    /// `/apis/GROUP`, compact, in the order of [`Table::groups`].
    pub(crate) group: Vec<Bytes>,
    /// `/api/v1` and `/apis/GROUP/VERSION`, compact, in the order of [`Table::versions`].
    pub(crate) resources: Vec<Bytes>,
    /// `/`, indented.
    pub(crate) paths: Bytes,
    /// `/version`, indented.
    pub(crate) version: Bytes,
}

impl Discovery {
    /// Encodes the documents of a server at `address`, `HOST:PORT`.
    pub(crate) fn new(table: &Table, address: &str) -> Self {
        let addresses = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]);
        let core: Vec<&str> = table
            .versions()
            .iter()
            .filter(|v| v.group.is_empty())
            .map(|v| v.version.as_str())
            .collect();
        let versions = json!({"kind": "APIVersions", "versions": core, "serverAddressByClientCIDRs": addresses});
        let listed: Vec<Value> = table
            .groups()
            .iter()
            .map(|group| Value::Object(describe(table, group, Map::new(), addresses.clone())))
            .collect();
        let groups = json!({"kind": "APIGroupList", "groups": listed});
        let group = table
            .groups()
            .iter()
            .map(|group| {
                bytes(&Value::Object(describe(
                    table,
                    group,
                    head("APIGroup", group),
                    Value::Null,
                )))
            })
            .collect();
        Self {
            versions: bytes(&versions),
            groups: bytes(&groups),
            group,
            resources: table.versions().iter().map(|version| bytes(&list(version))).collect(),
            paths: Bytes::from(format!("{:#}", json!({"paths": paths(table)}))),
            version: Bytes::from_static(VERSION.as_bytes()),
        }
    }
}

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

fn name(version: &GroupVersion) -> String {
    if version.group.is_empty() {
        version.version.to_owned()
    } else {
        format!("{}/{}", version.group, version.version)
    }
}

/// Returns kind and apiVersion of a document; no apiVersion if the recorded server omits it for old clients.
fn head(kind: &str, group: &str) -> Map<String, Value> {
    let mut out = Map::from_iter([("kind".to_owned(), kind.into())]);
    if !matches!(group, "" | "extensions") {
        out.insert("apiVersion".to_owned(), "v1".into());
    }
    out
}

/// Adds a group's name, versions and preferred version.
fn describe(table: &Table, group: &str, mut out: Map<String, Value>, addresses: Value) -> Map<String, Value> {
    let versions: Vec<Value> = table
        .versions()
        .iter()
        .filter(|v| v.group == group)
        .map(|v| json!({"groupVersion": name(v), "version": v.version}))
        .collect();
    out.insert("name".to_owned(), group.into());
    out.insert(
        "preferredVersion".to_owned(),
        versions.first().cloned().unwrap_or_default(),
    );
    out.insert("versions".to_owned(), versions.into());
    out.insert("serverAddressByClientCIDRs".to_owned(), addresses);
    out
}

fn list(version: &GroupVersion) -> Value {
    let mut items = Vec::new();
    for resource in version.resources() {
        let item = |name: String, kind: &str| json!({"name": name, "namespaced": resource.namespaced, "kind": kind});
        items.push(item(resource.plural.clone(), &resource.kind));
        items.extend(
            resource
                .subresources
                .iter()
                .map(|(part, kind)| item(format!("{}/{part}", resource.plural), kind)),
        );
    }
    let mut out = head("APIResourceList", &version.group);
    out.insert("groupVersion".to_owned(), name(version).into());
    out.insert("resources".to_owned(), items.into());
    Value::Object(out)
}

/// Returns all paths of the index, in order.
fn paths(table: &Table) -> Vec<String> {
    let mut paths: Vec<String> = PAGES.iter().map(|&page| page.to_owned()).collect();
    paths.extend(["/api".to_owned(), "/apis".to_owned()]);
    paths.extend(table.groups().iter().map(|group| format!("/apis/{group}")));
    paths.extend(
        table
            .versions()
            .iter()
            .map(|v| format!("/{}/{}", if v.group.is_empty() { "api" } else { "apis" }, name(v))),
    );
    paths.sort();
    paths
}

//! `stuntdouble snapshot save`: writes all objects of a cluster to a file, for `serve --snapshot`.
//!
//! Guarantees:
//! - The file is written completely or not at all.
//! - The file has every object once, even if several groups serve it.
//!
//! Limits:
//! - Each list has at most [`MAX_LIST_BYTES`].
//! - A resource that the credentials may not list is an error.
//!
//! Source: the discovery documents of Kubernetes v1.2 and newer.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bytes::Bytes;
use clap::{Args, Subcommand};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde_json::{Map, Value};
use stuntdouble_cassettes::transport::{Client, full};
use stuntdouble_simulator::Snapshot;

use super::access::Access;
use super::{CommandError, exit};

/// Maximum size of a list.
const MAX_LIST_BYTES: usize = 1 << 30;

const EXAMPLES: &str = "Examples:
  stuntdouble snapshot save cluster.yaml --from http://127.0.0.1:8080
  stuntdouble serve --snapshot cluster.yaml

Exit codes:
  0  the file is written
  2  usage
  3  the server could not be reached, or refused a request";

/// Arguments of `stuntdouble snapshot`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write all objects of a cluster to a file of YAML documents.
    Save(Box<Save>),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct Save {
    /// File to write
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Server [default: that of the kubeconfig, else http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    from: Option<String>,

    #[command(flatten)]
    access: Access,
}

/// Runs the command.
pub(super) async fn snapshot(arguments: Arguments) -> Result<u8, CommandError> {
    let Action::Save(save) = arguments.action;
    let named = save.from.clone().or(save.access.credentials()?.0);
    let (server, client) = save
        .access
        .client(Some(named.as_deref().unwrap_or("http://127.0.0.1:8080")))?;
    let snapshot = objects(&server, &client).await?;
    let part = save.file.with_extension("part");
    let failed = |error: std::io::Error| CommandError::usage(format!("{}: {error}", save.file.display()));
    std::fs::write(&part, snapshot.to_string()).map_err(failed)?;
    std::fs::rename(&part, &save.file).map_err(failed)?;
    Ok(exit::OK)
}

/// Fetches the objects of every listable resource.
async fn objects(server: &str, client: &Client) -> Result<Snapshot, CommandError> {
    let mut snapshot = Snapshot::default();
    let mut seen = BTreeSet::new();
    for prefix in groups(server, client).await? {
        let resources = get(server, client, &prefix).await?;
        for plural in resources["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(stored_resource)
        {
            let path = format!("{prefix}/{plural}");
            let mut list = get(server, client, &path).await?;
            let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) else {
                continue;
            };
            let of = |field: &str| list[field].as_str().unwrap_or_default().to_owned();
            let (kind, version) = (of("kind"), of("apiVersion"));
            for item in items {
                let Value::Object(mut item) = item else { continue };
                let uid = item.get("metadata").and_then(|metadata| metadata["uid"].as_str());
                if uid.is_some_and(|uid| !seen.insert(uid.to_owned())) {
                    continue;
                }
                complete(&mut item, &kind, &version);
                let failed = |problem| CommandError::unreachable(format!("{server}{path}: {problem}"));
                snapshot.add(item).map_err(failed)?;
            }
        }
    }
    Ok(snapshot)
}

/// Fetches the paths of the API groups, each in the server's preferred version.
async fn groups(server: &str, client: &Client) -> Result<Vec<String>, CommandError> {
    let mut paths = vec!["/api/v1".to_owned()];
    let list = get(server, client, "/apis").await?;
    for group in list["groups"].as_array().into_iter().flatten() {
        if let Some(version) = group["preferredVersion"]["groupVersion"].as_str() {
            paths.push(format!("/apis/{version}"));
        }
    }
    Ok(paths)
}

/// Returns the plural of a resource whose objects are stored: no subresource, not computed, not create-only.
fn stored_resource(resource: &Value) -> Option<&str> {
    let name = resource["name"].as_str()?;
    let verbs = resource["verbs"].as_array();
    let is_listed = verbs.is_none_or(|verbs| ["list", "create"].iter().all(|verb| verbs.contains(&(*verb).into())));
    (is_listed && !name.contains('/') && !matches!(name, "bindings" | "componentstatuses")).then_some(name)
}

/// Sets the kind and version of an item from those of its list.
fn complete(item: &mut Map<String, Value>, list: &str, version: &str) {
    let kind = list.strip_suffix("List").unwrap_or(list);
    item.shift_insert(0, "kind".to_owned(), kind.into());
    item.shift_insert(1, "apiVersion".to_owned(), version.into());
    if let Some(Value::Object(metadata)) = item.get_mut("metadata") {
        metadata.shift_remove("selfLink");
    }
}

/// Fetches the document at a path. 404 and 405 give null: v1.2 discovers resources that only have subresources.
async fn get(server: &str, client: &Client, path: &str) -> Result<Value, CommandError> {
    let failed = |why: String| CommandError::unreachable(format!("{server}{path}: {why}"));
    let request = Request::get(path)
        .body(full(Bytes::new()))
        .map_err(CommandError::usage)?;
    let response = client.send(request).await.map_err(|failure| failed(failure.text))?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_LIST_BYTES).collect().await;
    let body = body.map_err(|error| failed(error.to_string()))?.to_bytes();
    match status {
        StatusCode::OK => {
            serde_json::from_slice(&body).map_err(|error| failed(format!("the response is not JSON: {error}")))
        }
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND => Ok(Value::Null),
        _ => Err(failed(format!("{status}: {}", String::from_utf8_lossy(&body).trim()))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_stored_resources_are_fetched() {
        for (resource, is_listed) in [
            (json!({"name": "pods"}), true),
            (json!({"name": "pods/status"}), false),
            (json!({"name": "componentstatuses"}), false),
            (json!({"name": "leases", "verbs": ["create", "list"]}), true),
            (json!({"name": "tokenreviews", "verbs": ["create"]}), false),
        ] {
            assert_eq!(stored_resource(&resource).is_some(), is_listed, "{resource}");
        }
    }
}

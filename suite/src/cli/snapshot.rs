//! `stuntdouble snapshot save`: all objects of a cluster in a file, for `serve --snapshot`.
//!
//! Promises: the file is written whole or not at all; every object is in it once, whichever groups serve it.
//!
//! Limits: each list has at most [`LONGEST`] bytes; what the credentials may not list is an error.
//!
//! Source of its semantics: the discovery documents of the server, of v1.2 or newer.

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
use super::{Trouble, exit};

/// How long a list may be, in bytes.
const LONGEST: usize = 1 << 30;

const EXAMPLES: &str = "Examples:
  stuntdouble snapshot save cluster.yaml --from http://127.0.0.1:8080
  stuntdouble serve --snapshot cluster.yaml

Exit codes:
  0  the file is written
  2  usage
  3  the server could not be reached, or refused";

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

    /// The server [default: the kubeconfig's, else http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    from: Option<String>,

    #[command(flatten)]
    access: Access,
}

/// Carries out the command.
pub(super) async fn snapshot(arguments: Arguments) -> Result<u8, Trouble> {
    let Action::Save(save) = arguments.action;
    let given = save.from.clone().or(save.access.credentials()?.0);
    let (server, client) = save
        .access
        .client(Some(given.as_deref().unwrap_or("http://127.0.0.1:8080")))?;
    let snapshot = objects(&server, &client).await?;
    let part = save.file.with_extension("part");
    let failed = |error: std::io::Error| Trouble::usage(format!("{}: {error}", save.file.display()));
    std::fs::write(&part, snapshot.to_string()).map_err(failed)?;
    std::fs::rename(&part, &save.file).map_err(failed)?;
    Ok(exit::OK)
}

/// The objects of every kind that the server lists.
async fn objects(server: &str, client: &Client) -> Result<Snapshot, Trouble> {
    let mut snapshot = Snapshot::default();
    let mut seen = BTreeSet::new();
    for prefix in groups(server, client).await? {
        let resources = get(server, client, &prefix).await?;
        for plural in resources["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(listed)
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
                let failed = |problem| Trouble::unreachable(format!("{server}{path}: {problem}"));
                snapshot.add(item).map_err(failed)?;
            }
        }
    }
    Ok(snapshot)
}

/// The paths of the groups and versions: each group in the version that the server prefers.
async fn groups(server: &str, client: &Client) -> Result<Vec<String>, Trouble> {
    let mut paths = vec!["/api/v1".to_owned()];
    let list = get(server, client, "/apis").await?;
    for group in list["groups"].as_array().into_iter().flatten() {
        if let Some(version) = group["preferredVersion"]["groupVersion"].as_str() {
            paths.push(format!("/apis/{version}"));
        }
    }
    Ok(paths)
}

/// The plural of a resource whose objects are stored: no subresource, nothing that is computed or only posted.
fn listed(resource: &Value) -> Option<&str> {
    let name = resource["name"].as_str()?;
    let verbs = resource["verbs"].as_array();
    let is_listed = verbs.is_none_or(|verbs| ["list", "create"].iter().all(|verb| verbs.contains(&(*verb).into())));
    (is_listed && !name.contains('/') && !matches!(name, "bindings" | "componentstatuses")).then_some(name)
}

/// Gives an item of a list the kind and version that the list says.
fn complete(item: &mut Map<String, Value>, list: &str, version: &str) {
    let kind = list.strip_suffix("List").unwrap_or(list);
    item.shift_insert(0, "kind".to_owned(), kind.into());
    item.shift_insert(1, "apiVersion".to_owned(), version.into());
    if let Some(Value::Object(metadata)) = item.get_mut("metadata") {
        metadata.shift_remove("selfLink");
    }
}

/// The document at a path; an empty one where there is none, as of v1.2's resources that only have subresources.
async fn get(server: &str, client: &Client, path: &str) -> Result<Value, Trouble> {
    let failed = |why: String| Trouble::unreachable(format!("{server}{path}: {why}"));
    let request = Request::get(path).body(full(Bytes::new())).map_err(Trouble::usage)?;
    let response = client.send(request).await.map_err(|failure| failed(failure.text))?;
    let status = response.status();
    let body = Limited::new(response.into_body(), LONGEST).collect().await;
    let body = body.map_err(|error| failed(error.to_string()))?.to_bytes();
    match status {
        StatusCode::OK => {
            serde_json::from_slice(&body).map_err(|error| failed(format!("the answer is no JSON: {error}")))
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
    fn what_is_stored_is_listed() {
        for (resource, is_listed) in [
            (json!({"name": "pods"}), true),
            (json!({"name": "pods/status"}), false),
            (json!({"name": "componentstatuses"}), false),
            (json!({"name": "leases", "verbs": ["create", "list"]}), true),
            (json!({"name": "tokenreviews", "verbs": ["create"]}), false),
        ] {
            assert_eq!(listed(&resource).is_some(), is_listed, "{resource}");
        }
    }
}

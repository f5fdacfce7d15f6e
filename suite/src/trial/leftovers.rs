//! Removal of the objects that earlier runs left behind, found by their label.

use serde_json::Value;

use super::run::{LABEL, Run, namespace_at, removed};
use crate::catalog::{Catalog, Profile};
use crate::request::Request;
use crate::target::{Target, TargetError};

/// Result of a clean-up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Paths of removed objects.
    pub removed: Vec<String>,
    /// Paths of objects that are still there.
    pub left: Vec<String>,
}

/// Removes every object that has the label of a run, or of any run if none is named.
///
/// # Errors
/// If the target does not respond.
pub async fn remove_leftovers(target: &Target, catalog: &Catalog, run: Option<&str>) -> Result<Leftovers, TargetError> {
    let selector = run.map_or_else(|| LABEL.to_owned(), |run| format!("{LABEL}={run}"));
    let mut collections: Vec<(String, bool)> = catalog
        .cases(Profile::Documented)
        .filter_map(|case| case.kind.path.clone())
        .map(|path| {
            (
                path.replace("/namespaces/{namespace}", ""),
                path.contains("{namespace}"),
            )
        })
        .collect();
    collections.sort();
    collections.dedup();
    // Namespaces are removed last: a server may refuse to delete objects from a namespace that is being removed.
    collections.sort_by_key(|(path, _)| path.ends_with("/namespaces"));
    let mut leftovers = Leftovers::default();
    for (collection, namespaced) in collections {
        for path in found(target, &collection, namespaced, &selector).await? {
            let gone = match namespace_at(&path) {
                Some(namespace) => Run::new("").remove_namespace(target, namespace).await.is_none(),
                None => removed(target, &path).await?,
            };
            if gone {
                leftovers.removed.push(path);
            } else {
                leftovers.left.push(path);
            }
        }
    }
    Ok(leftovers)
}

/// Returns the paths of the labelled objects of a collection. Empty if the collection cannot be listed.
async fn found(
    target: &Target,
    collection: &str,
    namespaced: bool,
    selector: &str,
) -> Result<Vec<String>, TargetError> {
    let mut request = Request::get(collection);
    request.query.push(("labelSelector".to_owned(), selector.to_owned()));
    let answer = target.send(&request).await?;
    let list: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let text = |item: &Value, pointer| item.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let path = |item: &Value| {
        // A server that ignores the selector also lists objects of other clients.
        item.pointer("/metadata/labels")?.get(LABEL)?;
        let name = text(item, "/metadata/name")?;
        if !namespaced {
            return Some(format!("{collection}/{name}"));
        }
        let namespace = text(item, "/metadata/namespace")?;
        let (prefix, plural) = collection.rsplit_once('/')?;
        Some(format!("{prefix}/namespaces/{namespace}/{plural}/{name}"))
    };
    let items = list.get("items").and_then(Value::as_array);
    Ok(items.into_iter().flatten().filter_map(path).collect())
}

//! Objects that runs left on a server.

use crate::server::client;
use serde_json::Value;

/// Prefix of the names of a run's objects, and their label.
const OURS: (&str, &str) = ("sd-", "stuntdouble-run");

pub(crate) async fn get(url: &str, path: &str) -> Value {
    let answer = client().get(format!("{url}{path}")).send().await.unwrap();
    answer.json().await.unwrap()
}

/// Returns the paths of all collections that discovery lists, across namespaces.
async fn collections(url: &str) -> Vec<String> {
    let mut versions = vec!["/api/v1".to_owned()];
    let groups = get(url, "/apis").await;
    for group in groups["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            versions.push(format!("/apis/{}", version["groupVersion"].as_str().unwrap()));
        }
    }
    let mut found = Vec::new();
    for version in versions {
        for resource in get(url, &version).await["resources"].as_array().unwrap() {
            let name = resource["name"].as_str().unwrap();
            if !name.contains('/') {
                found.push(format!("{version}/{name}"));
            }
        }
    }
    found
}

/// Returns the objects of runs on the server.
pub(crate) async fn left(url: &str) -> Vec<String> {
    let mut left = Vec::new();
    for collection in collections(url).await {
        let list = get(url, &collection).await;
        for item in list["items"].as_array().into_iter().flatten() {
            let name = item["metadata"]["name"].as_str().unwrap_or_default();
            if name.starts_with(OURS.0) || !item["metadata"]["labels"][OURS.1].is_null() {
                left.push(format!("{collection} {name}"));
            }
        }
    }
    left
}

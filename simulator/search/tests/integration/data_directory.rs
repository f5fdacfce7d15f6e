//! Data directories after restarts, crashes and damage.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{Backend, ask};
use rstest::rstest;
use serde_json::{Value, json};
use stuntdouble_search::SearchServer;
use tempfile::TempDir;

/// Copies a directory as a crash would leave it.
pub(crate) fn crashed(directory: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    copy_into(directory, copy.path());
    copy
}

fn copy_into(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_into(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else {
            found.push(entry);
        }
    }
    found.sort();
    found
}

fn error(directory: &Path) -> String {
    SearchServer::open(Default::default(), directory)
        .unwrap_err()
        .to_string()
}

/// Returns the content of a backend: cluster state, documents with versions, hits.
async fn contents(backend: &Backend) -> Vec<Value> {
    ask(backend, "POST", "/_refresh", Value::Null).await;
    let mut state = ask(backend, "GET", "/_cluster/state/metadata", Value::Null).await;
    // Not persistent: the version of the state, and transient settings.
    state.as_object_mut().unwrap().remove("version");
    let all = json!({
        "query": {"match_all": {}},
        "version": true,
        "size": 1000,
        "fields": ["_source", "_routing", "_parent"]
    });
    let some = json!({"query": {"match": {"log": "service 3"}}, "size": 1000});
    let mut found = Vec::new();
    for query in [all, some] {
        let answer = ask(backend, "POST", "/_search", query).await;
        let hits = answer["hits"]["hits"].as_array().unwrap();
        // Scores depend on deleted documents that are not merged away yet.
        let mut hits: Vec<String> = hits
            .iter()
            .map(|hit| {
                let mut hit = hit.clone();
                hit["_score"].take();
                hit.to_string()
            })
            .collect();
        hits.sort();
        found.push(json!(hits));
    }
    let warmers = ask(backend, "GET", "/_warmer", Value::Null).await;
    let settings = ask(backend, "GET", "/_cluster/settings", Value::Null).await;
    found.extend([state, warmers, settings["persistent"].clone()]);
    found
}

/// Writes documents of all kinds, with flushes, merges and deletions in between.
async fn write_content(backend: &Backend) {
    let template = json!({
        "template": "logs-*",
        "settings": {"number_of_shards": 3, "analysis": {"analyzer": {"own": {"tokenizer": "whitespace"}}}},
        "mappings": {"line": {"properties": {"code": {"type": "string", "analyzer": "own"}}}}
    });
    ask(backend, "PUT", "/_template/logs", template).await;
    ask(
        backend,
        "PUT",
        "/_cluster/settings",
        json!({
            "persistent": {"cluster.routing.allocation.enable": "all"},
            "transient": {"indices.ttl.interval": "1s"}
        }),
    )
    .await;
    ask(
        backend,
        "PUT",
        "/family",
        json!({"mappings": {"child": {"_parent": {"type": "mother"}}}}),
    )
    .await;
    ask(backend, "PUT", "/closed", json!({})).await;
    ask(backend, "POST", "/closed/_close", Value::Null).await;
    for n in 0..40 {
        let document = json!({
            "log": format!("service {n} answered"),
            "code": format!("A-{n}"),
            "size": n,
            "at": "2015-06-26T12:00:00Z",
            "list": [{"a": n}, {"a": n + 1}]
        });
        ask(backend, "PUT", &format!("/logs-1/line/{}", n % 25), document).await;
        if n % 7 == 0 {
            ask(backend, "POST", "/_refresh", Value::Null).await;
        }
        if n == 20 {
            ask(backend, "POST", "/_flush", Value::Null).await;
            ask(
                backend,
                "PUT",
                "/logs-1/_mapping/note",
                json!({"properties": {"inner": {"type": "nested"}}}),
            )
            .await;
        }
        if n == 30 {
            backend.post("/_optimize?flush=false&max_num_segments=1", "").await;
        }
    }
    for n in [3, 24] {
        ask(backend, "DELETE", &format!("/logs-1/line/{n}"), Value::Null).await;
    }
    ask(
        backend,
        "PUT",
        "/logs-1/line/ext?version=70&version_type=external",
        json!({"log": "given"}),
    )
    .await;
    ask(
        backend,
        "PUT",
        "/logs-1/line/gone?version=80&version_type=external",
        json!({"log": "given"}),
    )
    .await;
    ask(
        backend,
        "DELETE",
        "/logs-1/line/gone?version=90&version_type=external",
        Value::Null,
    )
    .await;
    ask(backend, "PUT", "/logs-1/note/1", json!({"inner": [{"x": 1}, {"x": 2}]})).await;
    ask(backend, "PUT", "/family/mother/m", json!({"name": "m"})).await;
    ask(backend, "PUT", "/family/child/c?parent=m", json!({"name": "c"})).await;
    ask(
        backend,
        "PUT",
        "/logs-1/_alias/recent",
        json!({"filter": {"term": {"size": 3}}, "routing": "r"}),
    )
    .await;
    ask(backend, "PUT", "/logs-1/_warmer/w", json!({"query": {"match_all": {}}})).await;
    ask(backend, "PUT", "/logs-1/_settings", json!({"refresh_interval": "7s"})).await;
    ask(backend, "POST", "/logs-1/line", json!({"log": "an id is given"})).await;
    ask(backend, "PUT", "/removed/t/1", json!({})).await;
    ask(backend, "DELETE", "/removed", Value::Null).await;
}

#[rstest]
#[case::closed(true)]
#[case::killed(false)]
#[tokio::test]
async fn a_restart_has_the_same_state_documents_and_versions(#[case] is_closed: bool) {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    write_content(&backend).await;
    let before = contents(&backend).await;
    let directory = if is_closed {
        backend.server.close().unwrap();
        directory
    } else {
        backend.step(Duration::from_secs(5));
        ask(&backend, "GET", "/_count", Value::Null).await;
        crashed(directory.path())
    };
    let summary = SearchServer::check(directory.path()).unwrap();
    assert_eq!((summary.indices, summary.operations == 0), (3, is_closed));
    let again = Backend::open(directory.path());
    assert_eq!(contents(&again).await, before);
    // Generated ids are new even if the clock has not advanced.
    let given = ask(&again, "POST", "/logs-1/line", json!({})).await;
    assert_eq!(
        (given["_version"].as_u64(), given["created"].as_bool()),
        (Some(1), Some(true))
    );
    // Versions continue, including those of deleted documents.
    let next = ask(&again, "PUT", "/logs-1/line/4", json!({})).await;
    assert_eq!(next["_version"], 3);
    let response = again
        .send("PUT", "/logs-1/line/gone?version=85&version_type=external", "{}")
        .await;
    assert_eq!(response.status, 409, "{}", response.text);
    let closed = again.get("/closed/_search").await;
    assert_eq!(closed.status, 403, "{}", closed.text);
}

/// Removes the positions of fields from the state of an index, as in the format from before types had fields of their
/// own.
fn remove_places(path: &Path) {
    let content = fs::read_to_string(path).unwrap();
    let (_, json) = content.split_once('\n').unwrap();
    let mut state: Value = serde_json::from_str(json).unwrap();
    let mapping = state["mapping"].as_object_mut().unwrap();
    assert!(mapping.remove("places").is_some());
    for field in mapping["fields"].as_array_mut().unwrap() {
        assert_eq!(field[3], Value::Null);
        field.as_array_mut().unwrap().truncate(2);
    }
    let json = state.to_string();
    let header = format!("crc32 {:08x}\n", crc32fast::hash(json.as_bytes()));
    fs::write(path, header + &json).unwrap();
}

#[tokio::test]
async fn the_old_format_of_fields_is_read() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    write_content(&backend).await;
    let before = contents(&backend).await;
    backend.server.close().unwrap();
    let states = files(directory.path());
    let states: Vec<_> = states.iter().filter(|path| path.ends_with("index.json")).collect();
    assert_eq!(states.len(), 3);
    states.into_iter().for_each(|path| remove_places(path));
    let again = Backend::open(directory.path());
    assert_eq!(contents(&again).await, before);
    // New fields come after the existing ones.
    ask(
        &again,
        "PUT",
        "/logs-1/line/new?refresh",
        json!({"fresh": "x", "code": "A-3"}),
    )
    .await;
    for (query, count) in [("fresh:x", 1), ("code:A-3", 1), ("log:answered", 23)] {
        let found = ask(&again, "GET", &format!("/logs-1/_count?q={query}"), Value::Null).await;
        assert_eq!(found["count"], count, "{query}");
    }
}

#[tokio::test]
async fn documents_stay_when_their_segment_cannot_be_written() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    ask(&backend, "PUT", "/i", json!({"settings": {"number_of_shards": 1}})).await;
    ask(&backend, "PUT", "/i/t/1", json!({"a": 1})).await;
    let found = files(directory.path());
    let shard = found.iter().find(|path| path.to_string_lossy().contains("translog"));
    let shard = shard.and_then(|translog| translog.parent()).unwrap();
    let aside = shard.with_extension("aside");
    fs::rename(shard, &aside).unwrap();
    for action in ["_refresh", "_flush", "_optimize"] {
        let response = backend.post(&format!("/i/{action}"), "").await;
        assert_eq!(response.status, 500, "{action}: {}", response.text);
    }
    assert_eq!(ask(&backend, "GET", "/i/_count", Value::Null).await["count"], 0);
    assert_eq!(ask(&backend, "GET", "/i/t/1", Value::Null).await["_source"]["a"], 1);
    fs::rename(&aside, shard).unwrap();
    ask(&backend, "POST", "/i/_refresh", Value::Null).await;
    assert_eq!(ask(&backend, "GET", "/i/_count", Value::Null).await["count"], 1);
}

#[tokio::test]
async fn the_recovery_api_has_the_recovered_operations() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    ask(&backend, "PUT", "/i/t/1", json!({})).await;
    ask(&backend, "POST", "/_flush", Value::Null).await;
    ask(&backend, "PUT", "/i/t/2", json!({})).await;
    ask(&backend, "DELETE", "/i/t/1", Value::Null).await;
    backend.step(Duration::from_secs(5));
    ask(&backend, "GET", "/_search", Value::Null).await;
    let copy = crashed(directory.path());
    let again = Backend::open(copy.path());
    let shown = ask(&again, "GET", "/i/_recovery", Value::Null).await;
    let shard = &shown["i"]["shards"][0];
    assert_eq!(shard["translog"]["recovered"], 2);
    assert_eq!(shard["index"]["files"]["percent"], "100.0%");
    assert!(
        shard["index"]["size"]["reused_in_bytes"].as_u64().unwrap() > 0,
        "{shard}"
    );
    let cat = again.get("/_cat/recovery?h=files,translog&v=false").await.text;
    assert!(cat.lines().any(|line| line.trim().ends_with(" 2")), "{cat}");
}

#[tokio::test]
async fn unneeded_files_are_removed() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    let indices = || fs::read_dir(directory.path().join("indices")).unwrap().count();
    for n in 0..12 {
        ask(&backend, "PUT", &format!("/i/t/{n}?refresh=true"), json!({})).await;
    }
    ask(&backend, "POST", "/_flush", Value::Null).await;
    let segments = |directory: &Path| {
        let names = files(directory);
        names.iter().filter(|path| path.ends_with("segment")).count()
    };
    assert!(segments(directory.path()) < 12);
    ask(&backend, "POST", "/_optimize?max_num_segments=1", Value::Null).await;
    assert_eq!(segments(directory.path()), 1);
    assert_eq!(indices(), 1);
    ask(&backend, "DELETE", "/i", Value::Null).await;
    assert_eq!(indices(), 0);
}

#[tokio::test]
async fn a_directory_can_be_opened_only_once() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    assert!(error(directory.path()).contains("is in use"));
    assert!(SearchServer::check(directory.path()).is_err());
    backend.server.close().unwrap();
    SearchServer::check(directory.path()).unwrap();
    SearchServer::open(Default::default(), directory.path()).unwrap();
}

/// Replaces the state of the cluster.
fn write_cluster(directory: &Path, state: &Value) {
    let state = state.to_string();
    let file = format!("crc32 {:08x}\n{state}", crc32fast::hash(state.as_bytes()));
    fs::write(directory.join("cluster.json"), file).unwrap();
}

#[tokio::test]
async fn an_older_format_is_upgraded() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    ask(&backend, "PUT", "/i/t/1", json!({"a": 1})).await;
    backend.server.close().unwrap();
    drop(backend);
    let format = || {
        let file = fs::read_to_string(directory.path().join("cluster.json")).unwrap();
        serde_json::from_str::<Value>(file.split_once('\n').unwrap().1).unwrap()["format"].clone()
    };
    assert_eq!(format(), 4);
    // Documents without times and norms are the same in format 1.
    write_cluster(directory.path(), &json!({"format": 1}));
    let backend = Backend::open(directory.path());
    assert_eq!(
        ask(&backend, "GET", "/i/t/1", Value::Null).await["_source"],
        json!({"a": 1})
    );
    assert_eq!(format(), 4);
}

#[test]
fn newer_formats_and_foreign_files_are_errors() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("letter"), "dear").unwrap();
    assert!(error(directory.path()).contains("use an empty or a new directory"));
    assert_eq!(fs::read_to_string(directory.path().join("letter")).unwrap(), "dear");

    let directory = TempDir::new().unwrap();
    drop(SearchServer::open(Default::default(), directory.path()).unwrap());
    write_cluster(directory.path(), &json!({"format": 5}));
    assert!(error(directory.path()).contains("has format 5, and this version supports only formats up to 4"));
}

#[tokio::test]
async fn a_changed_or_missing_file_is_an_error() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    ask(&backend, "PUT", "/i/t/1", json!({"log": "one"})).await;
    ask(&backend, "POST", "/_flush", Value::Null).await;
    ask(&backend, "PUT", "/i/t/2", json!({"log": "two"})).await;
    backend.step(Duration::from_secs(5));
    ask(&backend, "GET", "/_search", Value::Null).await;
    let mut needed = files(directory.path());
    // Segments that no commit contains are not needed.
    needed.retain(|file| {
        let folder = file.parent().unwrap();
        let is_segment = folder
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("segment-"));
        !file.ends_with("lock") && (!is_segment || folder.join("segment").exists())
    });
    assert!(needed.len() > 10, "{needed:?}");
    for file in needed {
        let name = file.strip_prefix(directory.path()).unwrap();
        let copy = crashed(directory.path());
        fs::remove_file(copy.path().join(name)).unwrap();
        assert!(
            error(copy.path()).contains(" is damaged: "),
            "without {}",
            name.display()
        );
        let bytes = fs::read(&file).unwrap();
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let copy = crashed(directory.path());
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            fs::write(copy.path().join(name), changed).unwrap();
            let found = SearchServer::check(copy.path()).unwrap_err().to_string();
            assert!(
                found.contains(" is damaged: "),
                "byte {at} of {}: {found}",
                name.display()
            );
            assert!(error(copy.path()).contains("restore the data directory from a copy"));
        }
    }
}

//! Swagger 1.2: the list of documents, and one document per discovery path.
//!
//! Source: `/swaggerapi` of Kubernetes v1.2. kubectl 1.2 validates objects with it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    model::{Models, Style},
    operation::{OBJECTS, Operation, STREAM, base, operations},
    parameter::Location,
};
use crate::http::route::Table;

/// Returns the documents of a server at `address` (`HOST:PORT`), by path.
pub(super) fn documents(table: &Table, address: &str) -> Vec<(String, Value)> {
    let mut documents: BTreeMap<String, Value> = BTreeMap::new();
    let mut add = |path: &str, api_version: &str, apis: Vec<Value>, models: Map<String, Value>| {
        let document = json!({
            "swaggerVersion": "1.2",
            "apiVersion": api_version,
            "basePath": format!("https://{address}"),
            "resourcePath": path,
            "apis": apis,
            "models": models,
        });
        documents.insert(path.to_owned(), document);
    };
    for (path, nickname, media_types) in [
        ("/version", "getCodeVersion", STREAM),
        ("/api", "getAPIVersions", OBJECTS),
        ("/apis", "getAPIVersions", OBJECTS),
    ] {
        add(path, "", vec![discovery(path, nickname, media_types)], Map::new());
    }
    for group in table.groups() {
        let path = format!("/apis/{group}");
        add(&path, "", vec![discovery(&path, "getAPIGroup", OBJECTS)], Map::new());
    }
    for version in table.versions() {
        let path = base(version);
        let mut apis = apis(&operations(version));
        apis.push(discovery(&path, "getAPIResources", OBJECTS));
        let models = Models::of(table.scheme(), version, Style::Swagger).found;
        let api_version = path.trim_start_matches("/apis/").trim_start_matches("/api/");
        add(&path, api_version, apis, models.into_iter().collect());
    }
    let apis: Vec<Value> = documents
        .keys()
        .map(|path| json!({"path": path, "description": describe_path(path)}))
        .collect();
    let list =
        json!({"swaggerVersion": "1.2", "apis": apis, "apiVersion": "", "info": {"title": "", "description": ""}});
    let below = documents
        .into_iter()
        .map(|(path, document)| (format!("/swaggerapi{path}"), document));
    below.chain([("/swaggerapi".to_owned(), list)]).collect()
}

fn describe_path(path: &str) -> &'static str {
    match path.split('/').count() {
        2 if path == "/version" => "version of the server",
        2 => "list of API versions or groups",
        3 if path.starts_with("/apis/") => "information about a group",
        _ => "API at this version",
    }
}

/// Returns the GET operation of a discovery document.
fn discovery(path: &str, nickname: &str, media_types: &[&str]) -> Value {
    let operation = json!({
        "type": "void",
        "method": "GET",
        "summary": describe_path(path),
        "nickname": nickname,
        "parameters": [],
        "produces": media_types,
        "consumes": media_types,
    });
    json!({"path": path, "description": describe_path(path), "operations": [operation]})
}

/// Groups the operations by path.
fn apis(operations: &[Operation]) -> Vec<Value> {
    let mut apis: Vec<(String, Vec<Value>)> = Vec::new();
    for operation in operations {
        let described = describe(operation);
        match apis.iter_mut().find(|(path, _)| *path == operation.path) {
            Some((_, known)) => known.push(described),
            None => apis.push((operation.path.clone(), vec![described])),
        }
    }
    apis.into_iter()
        .map(|(path, operations)| json!({"path": path, "description": "API at this version", "operations": operations}))
        .collect()
}

fn describe(operation: &Operation) -> Value {
    let (path, query): (Vec<_>, Vec<_>) = operation
        .parameters
        .iter()
        .filter(|parameter| !parameter.newer)
        .map(|parameter| {
            let in_path = parameter.location == Location::Path;
            let described = json!({
                "type": parameter.kind,
                "paramType": if in_path { "path" } else { "query" },
                "name": parameter.name,
                "description": parameter.description,
                "required": in_path,
                "allowMultiple": parameter.name == "command",
            });
            (in_path, described)
        })
        .partition(|(in_path, _)| *in_path);
    let body = operation.body.as_ref().map(|body| {
        json!({"type": body, "paramType": "body", "name": "body", "description": "", "required": true,
            "allowMultiple": false})
    });
    let described = |all: Vec<(bool, Value)>| all.into_iter().map(|(_, parameter)| parameter);
    let parameters: Vec<Value> = described(query).chain(body).chain(described(path)).collect();
    json!({
        "type": operation.result,
        "method": operation.method,
        "summary": format!("{} {}", operation.action, operation.kind),
        "nickname": operation.nickname,
        "parameters": parameters,
        "responseMessages": [{"code": 200, "message": "OK", "responseModel": operation.result}],
        "produces": operation.produces,
        "consumes": operation.consumes,
    })
}

//! OpenAPI 2 in one document, and OpenAPI 3 in one document per group version.
//!
//! Source: OpenAPI 2.0 and 3.0, with the extensions of Kubernetes: the kind of an operation, and the merge strategy
//! of lists.

use serde_json::{Map, Value, json};

use super::{
    model::{Models, Style},
    operation::{Operation, base, operations},
    parameter::Location,
};
use crate::http::route::{GroupVersion, Table};

const TITLE: &str = "Stuntdouble";
const VERSION: &str = "v1.2.0";

/// Returns the documents by path.
pub(super) fn documents(table: &Table) -> Vec<(String, Value)> {
    let mut paths = Map::new();
    let mut documents = Vec::new();
    for version in table.versions() {
        let (name, document) = (base(version), openapi3(table, version));
        paths.insert(
            name.trim_start_matches('/').to_owned(),
            json!({"serverRelativeURL": format!("/openapi/v3{name}")}),
        );
        documents.push((format!("/openapi/v3{name}"), document));
    }
    documents.push(("/openapi/v3".to_owned(), json!({"paths": paths})));
    let second = openapi2(table);
    documents.push(("/swagger.json".to_owned(), second.clone()));
    documents.push(("/openapi/v2".to_owned(), second));
    documents
}

/// Returns OpenAPI 2.
pub(super) fn openapi2(table: &Table) -> Value {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for version in table.versions() {
        for operation in operations(version) {
            let mut described = describe(version, &operation);
            let mut parameters: Vec<Value> = operation
                .parameters
                .iter()
                .map(|p| parameter(p.name, p.location, p.description, json!({"type": p.kind}), true))
                .collect();
            if let Some(body) = &operation.body {
                parameters.push(json!({"name": "body", "in": "body", "required": true,
                    "schema": {"$ref": format!("#/definitions/{body}")}}));
            }
            described["consumes"] = json!(operation.consumes);
            described["produces"] = json!(operation.produces);
            described["parameters"] = parameters.into();
            described["responses"] =
                json!({"200": {"description": "OK", "schema": result(&operation, "#/definitions/")}});
            put(&mut paths, &operation, described);
        }
        definitions.extend(Models::of(table.scheme(), version, Style::OpenApi2).found);
    }
    json!({"swagger": "2.0", "info": {"title": TITLE, "version": VERSION}, "paths": paths, "definitions": definitions})
}

/// Returns OpenAPI 3 of a group version.
fn openapi3(table: &Table, version: &GroupVersion) -> Value {
    let style = Style::OpenApi3;
    let at = style.prefix();
    let mut paths = Map::new();
    for operation in operations(version) {
        let mut described = describe(version, &operation);
        let content = |media_types: &[&str], schema: Value| -> Value {
            media_types
                .iter()
                .map(|media_type| ((*media_type).to_owned(), json!({"schema": schema.clone()})))
                .collect::<Map<_, _>>()
                .into()
        };
        let parameters: Vec<Value> = operation
            .parameters
            .iter()
            .map(|p| parameter(p.name, p.location, p.description, json!({"type": p.kind}), false))
            .collect();
        described["parameters"] = parameters.into();
        if let Some(body) = &operation.body {
            let schema = json!({"$ref": format!("{at}{body}")});
            described["requestBody"] = json!({"required": true, "content": content(operation.consumes, schema)});
        }
        described["responses"] =
            json!({"200": {"description": "OK", "content": content(operation.produces, result(&operation, at))}});
        put(&mut paths, &operation, described);
    }
    let schemas = Models::of(table.scheme(), version, style).found;
    json!({"openapi": "3.0.0", "info": {"title": TITLE, "version": VERSION}, "paths": paths,
        "components": {"schemas": schemas}})
}

/// Returns the parts of an operation that are common to both versions.
fn describe(version: &GroupVersion, operation: &Operation) -> Value {
    let title = |text: &str| -> String {
        let mut letters = text.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase())
            .into_iter()
            .chain(letters)
            .collect()
    };
    let group = if version.group.is_empty() {
        "Core".to_owned()
    } else {
        title(&version.group)
    };
    json!({
        "operationId": format!("{}{group}{}{}", operation.verb, title(&version.version), operation.of),
        "description": format!("{} {}", operation.action, operation.kind),
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": version.group, "version": version.version, "kind": operation.kind},
    })
}

fn parameter(name: &str, location: Location, description: &str, schema: Value, flat: bool) -> Value {
    let path = location == Location::Path;
    let mut out =
        json!({"name": name, "in": if path { "path" } else { "query" }, "description": description, "required": path});
    match schema {
        Value::Object(fields) if flat => fields.into_iter().for_each(|(key, value)| out[key] = value),
        schema => out["schema"] = schema,
    }
    out
}

fn result(operation: &Operation, at: &str) -> Value {
    if operation.result == "string" {
        json!({"type": "string"})
    } else {
        json!({"$ref": format!("{at}{}", operation.result)})
    }
}

fn put(paths: &mut Map<String, Value>, operation: &Operation, described: Value) {
    let path = paths.entry(operation.path.clone()).or_insert_with(|| json!({}));
    path[operation.method.to_ascii_lowercase()] = described;
}

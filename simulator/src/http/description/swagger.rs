//! Swagger 1.2: the list of documents, and one for each group version.
//!
//! Source: `/swaggerapi` of Kubernetes v1.2, which its client tool validates objects with.

use serde_json::{Value, json};

use super::{
    operation::{Operation, Place, base, operations},
    schema::{Models, Style},
};
use crate::http::route::Table;

/// The documents, by path.
pub(super) fn documents(table: &Table) -> Vec<(String, Value)> {
    let apis: Vec<Value> = table
        .versions()
        .iter()
        .map(|version| json!({"path": base(version), "description": "API at this version"}))
        .collect();
    let mut documents = vec![(
        "/swaggerapi".to_owned(),
        json!({"swaggerVersion": "1.2", "apis": apis, "apiVersion": "", "info": {"title": "", "description": ""}}),
    )];
    for version in table.versions() {
        let path = base(version);
        let document = json!({
            "swaggerVersion": "1.2",
            "apiVersion": if version.group.is_empty() { version.version.to_owned() } else { format!("{}/{}", version.group, version.version) },
            "basePath": "",
            "resourcePath": path,
            "apis": apis_of(&operations(version)),
            "models": Models::of(table.scheme(), version, Style::Swagger).found,
        });
        documents.push((format!("/swaggerapi{path}"), document));
    }
    documents
}

/// The operations by path.
fn apis_of(operations: &[Operation]) -> Vec<Value> {
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
    let mut parameters: Vec<Value> = Vec::new();
    for parameter in &operation.parameters {
        let path = parameter.place == Place::Path;
        parameters.push(json!({
            "type": parameter.kind,
            "paramType": if path { "path" } else { "query" },
            "name": parameter.name,
            "description": parameter.description,
            "required": path,
            "allowMultiple": parameter.name == "command",
        }));
    }
    if let Some(body) = &operation.body {
        parameters.push(json!({"type": body, "paramType": "body", "name": "body", "description": "", "required": true, "allowMultiple": false}));
    }
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

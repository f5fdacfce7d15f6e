//! Swagger 1.2 compared with the facts of Kubernetes v1.2 in `swagger.txt`: documents, models with the types of their
//! fields, operations.
//!
//! In the facts, `!` marks required fields. They lack the additions of the recorded build to v1.2: `v1.Network`,
//! `v1.NUMAInfo` and the field `vms` of `v1.Node`.

use std::collections::BTreeSet;

use serde_json::Value;
use stuntdouble_simulator::Profile;

use crate::{get, start};

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn type_of(property: &Value) -> String {
    match (property["$ref"].as_str(), property["format"].as_str()) {
        (Some(model), _) => model.to_owned(),
        (None, Some(format)) => format!("{}/{format}", text(&property["type"])),
        (None, None) if property["type"] == "array" => format!("[{}]", type_of(&property["items"])),
        (None, None) => text(&property["type"]).to_owned(),
    }
}

fn required(is: bool) -> &'static str {
    if is { "!" } else { "" }
}

fn model(name: &str, model: &Value) -> String {
    assert_eq!(model["id"], name);
    let fields: Vec<String> = model["properties"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(field, property)| {
            let required = required(items(&model["required"]).contains(&Value::from(field.as_str())));
            format!("{field}{required} {}", type_of(property))
        })
        .collect();
    format!("model {name}: {}", fields.join(", "))
}

fn operation(path: &str, operation: &Value) -> String {
    let parameters: Vec<String> = items(&operation["parameters"])
        .iter()
        .map(|parameter| {
            let [place, name, kind] = ["paramType", "name", "type"].map(|field| text(&parameter[field]));
            format!("{place}:{name}:{kind}{}", required(parameter["required"] == true))
        })
        .collect();
    let media_types = |field| -> String {
        let short = items(&operation[field])
            .iter()
            .map(|media_type| text(media_type).replace("application/", ""));
        short.collect::<Vec<_>>().join(",")
    };
    format!(
        "operation {} {path} {}: {} -> {}, {} -> {}",
        text(&operation["method"]),
        text(&operation["nickname"]),
        parameters.join(" "),
        text(&operation["type"]),
        media_types("consumes"),
        media_types("produces")
    )
}

#[tokio::test]
async fn the_api_is_described_as_in_v1_2() {
    let facts: BTreeSet<String> = include_str!("swagger.txt").lines().map(str::to_owned).collect();
    for profile in Profile::ALL {
        let simulator = start(profile).await;
        let list: Value = serde_json::from_slice(&get(&simulator, "/swaggerapi").await.body).unwrap();
        let mut described = BTreeSet::new();
        for api in items(&list["apis"]) {
            let path = text(&api["path"]);
            let body = get(&simulator, &format!("/swaggerapi{path}")).await.body;
            let document: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(document["basePath"], "https://10.99.0.1:443");
            let models = document["models"].as_object().unwrap();
            let mut names: Vec<&str> = models.keys().map(String::as_str).collect();
            names.sort_unstable();
            let (of, names) = (text(&document["apiVersion"]), names.join(" "));
            described.insert(format!("document {path} of {of}: {names}"));
            described.extend(models.iter().map(|(name, schema)| model(name, schema)));
            for api in items(&document["apis"]) {
                let operations = items(&api["operations"]).iter();
                described.extend(operations.map(|one| operation(text(&api["path"]), one)));
            }
        }
        let missing: Vec<_> = facts.difference(&described).collect();
        let surplus: Vec<_> = described.difference(&facts).collect();
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "{profile}: missing {missing:#?}, surplus {surplus:#?}"
        );
    }
}

#[tokio::test]
async fn every_field_of_the_documented_kinds_has_a_description() {
    let simulator = start(Profile::Documented).await;
    let mut count = 0;
    for path in [
        "/api/v1",
        "/apis/extensions/v1beta1",
        "/apis/batch/v1",
        "/apis/autoscaling/v1",
    ] {
        let body = get(&simulator, &format!("/openapi/v3{path}")).await.body;
        let document: Value = serde_json::from_slice(&body).unwrap();
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            for (field, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{path} {name}.{field}");
                assert!(property["$ref"].is_null(), "{path} {name}.{field}");
                count += 1;
            }
        }
    }
    assert!(count > 500, "{count}");
}

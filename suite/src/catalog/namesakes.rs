//! Namesakes: objects of other kinds with the name of the first object of a trial.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use stuntdouble_fixtures::OPERATIONS;

use super::error::{CatalogError, malformed};
use super::files::{parse, yaml_files};
use super::{After, Body, CaseData, Kind, PartialState, Scope, Step};

/// File of the namesakes in `fixtures/operations`.
pub(super) const FILE: &str = "namesakes.yaml";

/// Template name of the version of the namespace before the request.
const NAMESPACE: &str = "namespace.version";
const LABELS: &str = "/metadata/labels";

/// A namesake.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Namesake {
    /// Path of its collection.
    path: String,
    /// Object, without its name.
    object: Value,
    /// Whether controllers of a cluster write to it.
    #[serde(default)]
    controlled: bool,
}

/// Namesakes by the plural of their kind.
pub(super) type Namesakes = BTreeMap<String, Namesake>;

/// Reads the file of the namesakes.
pub(super) fn namesakes() -> Result<Namesakes, CatalogError> {
    let files = yaml_files(&OPERATIONS);
    let text = files.get(FILE).ok_or_else(|| malformed(FILE, "no such file"))?;
    parse(FILE, text)
}

/// Adds the namesakes that a case asks for: the setup creates them, and they must be unchanged afterwards. Those whose
/// kind the target does not serve are left out.
pub(super) fn with_namesakes(kind: &Kind, mut case: CaseData, namesakes: &Namesakes) -> CaseData {
    let Some(letter) = case.given.keys().next().cloned() else {
        return case;
    };
    if !case.namesakes || kind.scope() == Scope::Cluster {
        return case;
    }
    for (plural, namesake) in namesakes.iter().filter(|(plural, _)| **plural != kind.plural) {
        let [uid, version, labels] = ["uid", "version", "labels"].map(|of| format!("{plural}.{of}"));
        let mut object = namesake.object.clone();
        object["metadata"] = serde_json::json!({"name": format!("${{{letter}.name}}")});
        case.setup.push(Step {
            request: format!("POST {}", namesake.path),
            body: Some(Body {
                json: Some(object),
                ..Body::default()
            }),
            save: [
                (uid.clone(), "/metadata/uid"),
                (version.clone(), "/metadata/resourceVersion"),
                (labels.clone(), LABELS),
            ]
            .map(|(name, pointer)| (name, pointer.to_owned()))
            .into(),
            if_served: Some(namesake.path.clone()),
            ..Step::default()
        });
        let mut metadata = serde_json::json!({"uid": format!("${{{uid}}}")});
        if !namesake.controlled {
            metadata["resourceVersion"] = format!("${{{version}}}").into();
        }
        case.after.push(After::Contains(PartialState {
            at: Some(format!("{}/${{{letter}.name}}", namesake.path)),
            contains: Some(serde_json::json!({"metadata": metadata})),
            equal: [(LABELS.to_owned(), format!("${{{labels}}}"))].into(),
            if_served: Some(namesake.path.clone()),
            ..PartialState::default()
        }));
    }
    // The collection is listed before the write, and the namespace must be unchanged after it.
    for (path, save) in [
        ("/api/v1/namespaces/${namespace}", Some("/metadata/resourceVersion")),
        ("${collection}", None),
    ] {
        case.setup.push(Step {
            request: format!("GET {path}"),
            save: save
                .map(|pointer| (NAMESPACE.to_owned(), pointer.to_owned()))
                .into_iter()
                .collect(),
            ..Step::default()
        });
    }
    let version = serde_json::json!({"resourceVersion": format!("${{{NAMESPACE}}}")});
    case.after.push(After::Contains(PartialState {
        at: Some("/api/v1/namespaces/${namespace}".to_owned()),
        contains: Some(serde_json::json!({"metadata": version})),
        ..PartialState::default()
    }));
    case
}

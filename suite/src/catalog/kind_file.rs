//! The file of a kind in `fixtures/operations`: its operations and their cases.

use std::collections::BTreeMap;

use http::Method;
use indexmap::IndexMap;
use serde::Deserialize;
use stuntdouble_fixtures::OPERATIONS;

use super::error::{CatalogError, malformed};
use super::files::{parse, yaml_files};
use super::namesakes::{Namesakes, with_namesakes};
use super::operation::ResultType;
use super::validate::validate;
use super::{CaseData, Kind, Need, Operation, Precondition, Step};

/// A file of `fixtures/operations`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct KindFile {
    pub(super) kind: String,
    pub(super) group: String,
    #[serde(default)]
    pub(super) plural: String,
    /// Whether the operations are additional, not documented ones.
    #[serde(default)]
    pub(super) beside: bool,
    pub(super) api_version: String,
    pub(super) path: Option<String>,
    pub(super) object: Option<String>,
    /// Path of its collection in another group with the same objects.
    pub(super) other_group: Option<String>,
    /// Whether objects of the kind belong to the whole cluster and can affect other clients.
    #[serde(default)]
    pub(super) disturbs: bool,
    /// Whether controllers of a cluster write to objects of the kind.
    #[serde(default)]
    pub(super) controlled: bool,
    /// Statements that every case of the kind also checks.
    #[serde(default)]
    pub(super) statements: Vec<String>,
    reached: Option<Reached>,
    pub(super) operations: Vec<OperationEntry>,
}

/// How requests reach the suite's backend through an object of the kind.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Reached {
    given: IndexMap<String, Precondition>,
    #[serde(default)]
    setup: Vec<Step>,
    name: Option<String>,
}

impl Reached {
    /// Returns the case with a path to the backend.
    fn behind(&self, mut case: CaseData) -> CaseData {
        case.needs.push(Need::Backend);
        case.given = self.given.clone();
        case.setup = self.setup.clone();
        case.name = case.name.or_else(|| self.name.clone());
        case
    }
}

/// An operation in a kind's file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct OperationEntry {
    #[serde(default)]
    id: String,
    request: String,
    result: Option<String>,
    result_version: Option<String>,
    source: String,
    /// Names of case sets.
    cases: Vec<String>,
    /// Cases of the sets to leave out.
    #[serde(default)]
    without: Vec<String>,
    /// Further cases.
    #[serde(default)]
    also: Vec<CaseData>,
    pending: Option<String>,
}

/// Cases that operations share, by the name of their set.
pub(super) type CaseSets = BTreeMap<String, Vec<CaseData>>;

/// Reads `fixtures/operations/cases`.
pub(super) fn case_sets() -> Result<CaseSets, CatalogError> {
    let mut sets = CaseSets::new();
    for (path, text) in yaml_files(&OPERATIONS) {
        if !path.starts_with("cases/") {
            continue;
        }
        for (name, cases) in parse::<CaseSets>(&path, &text)? {
            if sets.insert(name.clone(), cases).is_some() {
                return Err(malformed(&path, format!("duplicate case set {name:?}")));
            }
        }
    }
    Ok(sets)
}

impl KindFile {
    /// Returns the operations of the file, with their cases.
    pub(super) fn operations(
        &mut self,
        file: &str,
        kind: &Kind,
        sets: &CaseSets,
        namesakes: &Namesakes,
    ) -> Result<Vec<(Operation, Vec<CaseData>)>, CatalogError> {
        let reached = self.reached.clone();
        let documented = !self.beside;
        let disturbs = self.disturbs;
        std::mem::take(&mut self.operations)
            .into_iter()
            .map(|entry| {
                let (mut operation, mut cases) = entry.operation(file, kind, reached.as_ref(), sets, namesakes)?;
                operation.documented = documented;
                if disturbs {
                    for case in cases.iter_mut().filter(|case| !case.given.is_empty()) {
                        case.needs.push(Need::ClusterObjects);
                    }
                }
                Ok((operation, cases))
            })
            .collect()
    }
}

impl OperationEntry {
    fn operation(
        self,
        file: &str,
        kind: &Kind,
        reached: Option<&Reached>,
        sets: &CaseSets,
        namesakes: &Namesakes,
    ) -> Result<(Operation, Vec<CaseData>), CatalogError> {
        let not_a_request = || malformed(file, format!("{:?} is not METHOD PATH", self.request));
        let (method, path) = self.request.split_once(' ').ok_or_else(not_a_request)?;
        let method: Method = method.parse().map_err(|_| not_a_request())?;
        let mut cases = Vec::new();
        for set in &self.cases {
            let set = sets
                .get(set)
                .ok_or_else(|| malformed(file, format!("unknown case set {set:?}")))?;
            cases.extend(set.iter().filter(|case| !self.without.contains(&case.id)).cloned());
        }
        let in_sets = |id: &String| {
            self.cases
                .iter()
                .filter_map(|set| sets.get(set))
                .flatten()
                .any(|case| case.id == *id)
        };
        if let Some(unknown) = self.without.iter().find(|id| !in_sets(id)) {
            return Err(malformed(
                file,
                format!("{} has no case {unknown:?} to leave out", self.request),
            ));
        }
        cases.extend(self.also.iter().cloned());
        let behind = |case: CaseData| match reached {
            _ if !case.reached => Ok(case),
            Some(reached) => Ok(reached.behind(case)),
            None => Err(malformed(file, format!("`reached` is missing for {}", kind.name))),
        };
        let cases = cases.into_iter().map(behind).collect::<Result<Vec<_>, _>>()?;
        let cases: Vec<CaseData> = cases
            .into_iter()
            .map(|case| with_namesakes(kind, case, namesakes))
            .collect();
        for case in &cases {
            validate(kind, case).map_err(|reason| malformed(file, format!("case {}: {reason}", case.id)))?;
        }
        let streams = self.result.as_deref() == Some("json.WatchEvent");
        let result = self
            .result
            .as_deref()
            .and_then(|name| result_type(name, self.result_version.as_deref(), kind));
        let operation = Operation {
            path: path.to_owned(),
            id: self.id,
            method,
            result,
            streams,
            source: self.source,
            pending: self.pending,
            documented: true,
        };
        Ok((operation, cases))
    }
}

/// Parses a type of the documentation, such as `v1.ConfigMapList`, into kind and apiVersion.
fn result_type(name: &str, version: Option<&str>, kind: &Kind) -> Option<ResultType> {
    let (package, short) = name.rsplit_once('.').unwrap_or(("", name));
    let api_version = match (package, short) {
        ("json", _) | ("", "string") => return None,
        ("unversioned", _) => "v1",
        _ => version.unwrap_or(&kind.api_version),
    };
    Some(ResultType {
        kind: short.to_owned(),
        api_version: api_version.to_owned(),
    })
}

//! Reading the catalog: the files of `fixtures/operations` and `fixtures/objects`, which are part of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::Method;
use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use stuntdouble_fixtures::{Dir, OBJECTS, OPERATIONS};

use super::case::StatusWord;
use super::operation::ResultType;
use super::{Body, CaseData, Precondition, Kind, Level, Need, Operation, Profile, Sample, Step};

/// Why a catalog cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A file is not what its format says.
    #[error("{file}: {reason}")]
    Malformed {
        /// Its path within the fixtures.
        file: String,
        /// What is wrong.
        reason: String,
    },
}

pub(super) fn malformed(file: &str, reason: impl ToString) -> CatalogError {
    CatalogError::Malformed {
        file: file.to_owned(),
        reason: reason.to_string(),
    }
}

/// An operation and a case of it: what one trial judges.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its stable name, such as `core/v1/pods/create/already-exists`.
    pub id: String,
    /// The kind.
    pub kind: Arc<Kind>,
    /// The operation.
    pub operation: Arc<Operation>,
    /// The case.
    pub data: Arc<CaseData>,
    /// What is required, with the kind's name in it.
    pub requirement: String,
    /// The places in the texts that state operation and requirement.
    pub source: String,
}

impl Case {
    /// How binding it is.
    pub fn level(&self) -> Level {
        self.data.level
    }

    /// Why it does not count yet, if so.
    pub fn pending(&self) -> Option<&str> {
        self.operation.pending.as_deref()
    }
}

/// All cases.
#[derive(Debug, Clone)]
pub struct Catalog {
    cases: Vec<Case>,
    operations: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct KindFile {
    kind: String,
    group: String,
    #[serde(default)]
    plural: String,
    #[serde(default)]
    beside: bool,
    api_version: String,
    path: Option<String>,
    object: Option<String>,
    reached: Option<Reached>,
    operations: Vec<OperationEntry>,
}

/// How the backend is reached through an object of a kind.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Reached {
    given: IndexMap<String, Precondition>,
    #[serde(default)]
    setup: Vec<Step>,
    name: Option<String>,
}

impl Reached {
    /// The case, with the backend behind what it asks.
    fn behind(&self, mut data: CaseData) -> CaseData {
        data.needs.push(Need::Backend);
        data.given = self.given.clone();
        data.setup = self.setup.clone();
        data.name = data.name.or_else(|| self.name.clone());
        data
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct OperationEntry {
    #[serde(default)]
    id: String,
    request: String,
    result: Option<String>,
    result_version: Option<String>,
    source: String,
    cases: Vec<String>,
    #[serde(default)]
    without: Vec<String>,
    #[serde(default)]
    also: Vec<CaseData>,
    pending: Option<String>,
}

type CaseSets = BTreeMap<String, Vec<CaseData>>;

impl Catalog {
    /// The catalog that the program carries.
    ///
    /// # Errors
    /// If a fixture is malformed, which the tests of this crate exclude for those that it was built with.
    pub fn embedded() -> Result<Self, CatalogError> {
        let sets = case_sets()?;
        let mut catalog = Self {
            cases: Vec::new(),
            operations: 0,
        };
        let mut seen = BTreeSet::new();
        for (path, text) in files(&OPERATIONS) {
            if path.starts_with("cases/") || path == "texts.yaml" {
                continue;
            }
            let file: KindFile = parse(&path, text)?;
            catalog.add(&path, file, &sets, &mut seen)?;
        }
        catalog.add_log_queries()?;
        Ok(catalog)
    }

    /// The cases that are asked under a profile, in the order of the files.
    pub fn cases(&self, profile: Profile) -> impl Iterator<Item = &Case> {
        self.cases
            .iter()
            .filter(move |case| case.data.profile.is_none_or(|only| only == profile))
    }

    /// How many operations there are.
    pub fn operations(&self) -> usize {
        self.operations
    }

    fn add(
        &mut self,
        file: &str,
        kind: KindFile,
        sets: &CaseSets,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), CatalogError> {
        let sample = kind.object.as_deref().map(sample).transpose()?;
        let shared = Arc::new(Kind {
            name: kind.kind,
            group: kind.group,
            plural: kind.plural,
            api_version: kind.api_version,
            path: kind.path,
            sample,
        });
        for case in kind.operations {
            let operation = Arc::new(Operation {
                documented: !kind.beside,
                ..operation(file, &shared, case, kind.reached.as_ref(), sets)?
            });
            self.operations += usize::from(operation.documented);
            for data in &operation.cases {
                let words = [&shared.group, &shared.plural, &operation.id, &data.id];
                let id = words
                    .into_iter()
                    .filter(|word| !word.is_empty())
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join("/");
                if !seen.insert(id.clone()) {
                    return Err(malformed(file, format!("{id} is there twice")));
                }
                self.cases.push(Case {
                    id,
                    kind: Arc::clone(&shared),
                    operation: Arc::clone(&operation),
                    data: Arc::new(data.clone()),
                    requirement: data.requirement.replace("{kind}", &shared.name),
                    source: joined(&operation.source, &data.source),
                });
            }
        }
        Ok(())
    }
}

/// The operation by which log queries are asked.
const SEARCH: &str = "/api/v1/proxy/namespaces/{namespace}/services/{name}/{path}";

impl Catalog {
    /// A case for each log query.
    fn add_log_queries(&mut self) -> Result<(), CatalogError> {
        let source = "1: Logging add-on access";
        let kind = Kind {
            name: "LogQuery".to_owned(),
            group: "search".to_owned(),
            plural: "queries".to_owned(),
            api_version: "v1".to_owned(),
            path: None,
            sample: None,
        };
        let operation = Operation {
            id: String::new(),
            method: Method::GET,
            path: SEARCH.to_owned(),
            result: None,
            streams: false,
            source: source.to_owned(),
            pending: None,
            documented: false,
            cases: Vec::new(),
        };
        let (kind, operation) = (Arc::new(kind), Arc::new(operation));
        for (name, query) in super::logs::queries()? {
            let asked = query.query.first().map(|(_, q)| q.clone()).unwrap_or_default();
            let mut needs = vec![Need::LogSearch, Need::LogLines];
            if asked.split(|c: char| !c.is_alphanumeric()).any(|word| word == "now") {
                needs.push(Need::Clock);
            }
            let requirement = match query.found {
                Some(_) => format!("The query {asked} finds what it has to find, with its scores."),
                None => format!("The query {asked} is refused."),
            };
            let id = format!("search/queries/{name}");
            let data = CaseData::of_log_query(name, requirement.clone(), source.to_owned(), needs, query);
            let case = Case {
                id,
                kind: Arc::clone(&kind),
                operation: Arc::clone(&operation),
                data: Arc::new(data),
                requirement,
                source: source.to_owned(),
            };
            self.cases.push(case);
        }
        Ok(())
    }
}

/// The places of both, each once.
fn joined(operation: &str, data: &str) -> String {
    let mut places: Vec<&str> = Vec::new();
    for place in data.split("; ").chain(operation.split("; ")) {
        let said = places
            .iter()
            .any(|p| *p == place || place.starts_with(&format!("{p}, ")));
        if !said {
            places.push(place);
        }
    }
    places.join("; ")
}

fn operation(
    file: &str,
    kind: &Kind,
    case: OperationEntry,
    reached: Option<&Reached>,
    sets: &CaseSets,
) -> Result<Operation, CatalogError> {
    let (method, path) = case
        .request
        .split_once(' ')
        .ok_or_else(|| malformed(file, format!("{:?} is no request", case.request)))?;
    let method: Method = method
        .parse()
        .map_err(|_| malformed(file, format!("{method:?} is no method")))?;
    let mut cases = Vec::new();
    for set in &case.cases {
        let set = sets
            .get(set)
            .ok_or_else(|| malformed(file, format!("there are no cases {set:?}")))?;
        cases.extend(set.iter().filter(|data| !case.without.contains(&data.id)).cloned());
    }
    for left_out in &case.without {
        if !case
            .cases
            .iter()
            .filter_map(|set| sets.get(set))
            .flatten()
            .any(|data| data.id == *left_out)
        {
            return Err(malformed(
                file,
                format!("{} leaves out {left_out:?}, which it does not have", case.request),
            ));
        }
    }
    cases.extend(case.also);
    let behind = |data: CaseData| match reached {
        _ if !data.reached => Ok(data),
        Some(reached) => Ok(reached.behind(data)),
        None => Err(malformed(
            file,
            format!("it does not send_message how the backend is reached through a {}", kind.name),
        )),
    };
    let cases = cases.into_iter().map(behind).collect::<Result<Vec<_>, _>>()?;
    for data in &cases {
        check(file, kind, data)?;
    }
    let streams = case.result.as_deref() == Some("json.WatchEvent");
    let result = case
        .result
        .as_deref()
        .and_then(|name| result_type(name, case.result_version.as_deref(), kind));
    Ok(Operation {
        id: case.id,
        method,
        path: path.to_owned(),
        result,
        streams,
        source: case.source,
        pending: case.pending,
        documented: true,
        cases,
    })
}

/// What the texts call `v1.ConfigMapList`, as kind and apiVersion.
fn result_type(name: &str, version: Option<&str>, kind: &Kind) -> Option<ResultType> {
    let (package, short) = name.rsplit_once('.').unwrap_or(("", name));
    match (package, short) {
        ("json", _) | ("", "string") => None,
        ("unversioned", _) => Some(ResultType {
            kind: short.to_owned(),
            api_version: "v1".to_owned(),
        }),
        _ => Some(ResultType {
            kind: short.to_owned(),
            api_version: version.unwrap_or(&kind.api_version).to_owned(),
        }),
    }
}

/// Refuses a case that nobody could try.
fn check(file: &str, kind: &Kind, data: &CaseData) -> Result<(), CatalogError> {
    let fault = |what: String| Err(malformed(file, format!("data {}: {what}", data.id)));
    if data.requirement.is_empty() || data.source.is_empty() {
        return fault("it has no requirement or no source".to_owned());
    }
    if let Some(word @ StatusWord::Word(text)) = &data.expect.status
        && Profile::Documented.status(word).is_none()
    {
        return fault(format!("{text:?} stands for no status"));
    }
    if let Some(Body {
        sample,
        current,
        resource,
        patch,
        json,
        text,
        ..
    }) = &data.body
    {
        let kinds = [
            sample.is_some(),
            current.is_some(),
            *resource,
            patch.is_some(),
            json.is_some(),
            text.is_some(),
        ];
        if kinds.iter().filter(|given| **given).count() != 1 {
            return fault("its body is to be one of sample, current, resource, patch, json and text".to_owned());
        }
    }
    if !data.given.is_empty() && (kind.path.is_none() || kind.sample.is_none()) {
        return fault(format!("nobody can make a {}", kind.name));
    }
    if data.socket.is_some() && (data.body.is_some() || data.expect.events.is_some()) {
        return fault("a talk over WebSocket begins with no body, and tells no events".to_owned());
    }
    if let Some(step) = data.setup.iter().find(|step| {
        step.request
            .split_once(' ')
            .is_none_or(|(method, _)| method.parse::<Method>().is_err())
    }) {
        return fault(format!("{:?} is no request", step.request));
    }
    let acted_on = data.before.iter().chain(&data.during).map(super::Action::letter);
    if let Some(stranger) = acted_on.into_iter().find(|letter| !data.given.contains_key(*letter)) {
        return fault(format!("there is no object {stranger:?}"));
    }
    Ok(())
}

fn case_sets() -> Result<CaseSets, CatalogError> {
    let mut sets = CaseSets::new();
    for (path, text) in files(&OPERATIONS)
        .into_iter()
        .filter(|(path, _)| path.starts_with("cases/"))
    {
        for (name, cases) in parse::<CaseSets>(&path, text)? {
            if sets.insert(name.clone(), cases).is_some() {
                return Err(malformed(&path, format!("the cases {name:?} are there twice")));
            }
        }
    }
    Ok(sets)
}

fn sample(name: &str) -> Result<Sample, CatalogError> {
    let path = format!("{name}.yaml");
    let text = OBJECTS.get_file(&path).and_then(|file| file.contents_utf8());
    parse(&path, text.ok_or_else(|| malformed(&path, "there is no such sample"))?)
}

fn parse<T: DeserializeOwned>(path: &str, text: &str) -> Result<T, CatalogError> {
    serde_saphyr::from_str(text).map_err(|error| malformed(path, error))
}

/// Every YAML file below a folder, by its path, sorted.
fn files(dir: &Dir<'static>) -> BTreeMap<String, &'static str> {
    let mut found = BTreeMap::new();
    for entry in dir.entries() {
        if let Some(below) = entry.as_dir() {
            found.extend(files(below));
        } else if let Some(file) = entry.as_file()
            && let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8())
            && path.ends_with(".yaml")
        {
            found.insert(path.replace('\\', "/"), text);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        Catalog::embedded().unwrap()
    }

    #[test]
    fn there_are_264_operations_and_each_is_there_once() {
        let catalog = catalog();
        let documented = |case: &&Case| case.operation.documented;
        let distinct: BTreeSet<String> = Profile::ALL
            .iter()
            .flat_map(|p| catalog.cases(*p))
            .filter(documented)
            .map(|case| case.operation.request())
            .collect();
        assert_eq!(distinct.len(), 264);
        assert_eq!(catalog.operations(), 264);
    }

    #[test]
    fn no_operation_is_pending() {
        let catalog = catalog();
        let pending: Vec<String> = catalog
            .cases
            .iter()
            .filter(|case| case.pending().is_some())
            .map(|case| case.operation.request())
            .collect();
        assert!(pending.is_empty(), "{pending:?}");
    }

    #[test]
    fn every_operation_has_a_row_under_each_profile() {
        let catalog = catalog();
        for profile in Profile::ALL {
            let asked: BTreeSet<String> = catalog
                .cases(profile)
                .filter(|case| case.operation.documented)
                .map(|case| case.operation.request())
                .collect();
            assert_eq!(asked.len(), 264, "{profile}");
        }
    }

    #[test]
    fn every_row_gives_its_source_by_a_heading_of_the_texts() {
        let text = OPERATIONS
            .get_file("texts.yaml")
            .and_then(|f| f.contents_utf8())
            .unwrap();
        let headings: BTreeMap<String, Vec<String>> = serde_saphyr::from_str(text).unwrap();
        for case in catalog().cases {
            for place in case.source.split("; ") {
                let known = headings.iter().any(|(number, headings)| {
                    headings.iter().any(|heading| {
                        place
                            .strip_prefix(&format!("{number}: {heading}"))
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
                    })
                });
                assert!(known, "{}: {place}", case.id);
            }
        }
    }

    #[test]
    fn ids_are_lower_case_words_joined_by_slashes() {
        for case in catalog().cases {
            assert!(
                case.id
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "/-.".contains(c)),
                "{}",
                case.id
            );
        }
    }

    #[test]
    fn a_place_is_named_once() {
        assert_eq!(
            joined("2: Watch paths; 1: Events, 2", "1: Events, 2"),
            "1: Events, 2; 2: Watch paths"
        );
    }
}

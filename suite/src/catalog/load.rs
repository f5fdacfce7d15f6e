//! Loads the catalog from the embedded files.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::Method;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use stuntdouble_fixtures::{Dir, OBJECTS, OPERATIONS, QUERIES, STATEMENTS};

use super::error::{CatalogError, malformed};
use super::files::{parse, yaml_files};
use super::kind_file::{CaseSets, KindFile, case_sets};
use super::namesakes::{self, Namesakes};
use super::statement::{Statements, statements};
use super::{Case, CaseData, Document, Kind, Need, Operation, Profile, Sample, Statement};

/// File of the pod spec with every field in `fixtures/objects`.
const POD_SPEC: &str = "pod-spec.yaml";

/// Hashes the names and contents of the YAML files in folders.
fn digest(folders: &[&Dir<'static>]) -> String {
    let mut hash = Sha256::new();
    for (path, text) in folders.iter().flat_map(|folder| yaml_files(folder)) {
        // Lengths make the boundaries between files unambiguous.
        for part in [path.as_bytes(), text.as_bytes()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All cases and statements.
#[derive(Debug, Clone)]
pub struct Catalog {
    cases: Vec<Case>,
    statements: Statements,
    operations: usize,
    digest: String,
}

impl Catalog {
    /// Loads the embedded catalog.
    ///
    /// # Errors
    /// If a fixture is malformed. The tests of this crate exclude that.
    pub fn embedded() -> Result<Self, CatalogError> {
        let (sets, namesakes) = (case_sets()?, namesakes::namesakes()?);
        let mut catalog = Self {
            cases: Vec::new(),
            statements: statements()?,
            operations: 0,
            digest: digest(&[&OPERATIONS, &OBJECTS, &QUERIES, &STATEMENTS]),
        };
        let mut ids = BTreeSet::new();
        for (path, text) in yaml_files(&OPERATIONS) {
            if path.starts_with("cases/") || path == "texts.yaml" || path == namesakes::FILE {
                continue;
            }
            let file: KindFile = parse(&path, &text)?;
            catalog.add(&path, file, (&sets, &namesakes), &mut ids)?;
        }
        let documented: Arc<[Arc<Operation>]> = catalog.documented().into();
        let describing = |case: &&mut Case| case.data.expect.document == Some(Document::Description);
        for case in catalog.cases.iter_mut().filter(describing) {
            case.described = Arc::clone(&documented);
        }
        catalog.add_log_queries()?;
        Ok(catalog)
    }

    /// Returns the cases of a profile, in the order of the files.
    pub fn cases(&self, profile: Profile) -> impl Iterator<Item = &Case> {
        self.cases
            .iter()
            .filter(move |case| case.data.profile.is_none_or(|only| only == profile))
    }

    /// Returns all statements, ordered by id.
    pub fn statements(&self) -> impl Iterator<Item = &Arc<Statement>> {
        self.statements.values()
    }

    /// Returns the documented operations, in the order of the files.
    pub fn documented(&self) -> Vec<Arc<Operation>> {
        let mut operations: Vec<_> = self.cases.iter().map(|case| Arc::clone(&case.operation)).collect();
        operations.dedup_by(|a, b| Arc::ptr_eq(a, b));
        operations.retain(|operation| operation.documented);
        operations
    }

    /// Returns the number of documented operations.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// Returns the SHA-256 of the files of the catalog, in hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    fn add(
        &mut self,
        path: &str,
        mut file: KindFile,
        (sets, namesakes): (&CaseSets, &Namesakes),
        ids: &mut BTreeSet<String>,
    ) -> Result<(), CatalogError> {
        let sample = file.object.as_deref().map(sample).transpose()?;
        let kind = Arc::new(Kind {
            name: file.kind.clone(),
            group: file.group.clone(),
            plural: file.plural.clone(),
            api_version: file.api_version.clone(),
            path: file.path.clone(),
            other_group: file.other_group.clone(),
            sample,
            controlled: file.controlled,
        });
        for (operation, cases) in file.operations(path, &kind, sets, namesakes)? {
            let operation = Arc::new(operation);
            self.operations += usize::from(operation.documented);
            for data in cases {
                let case = self.case(path, &kind, &operation, data, &file.statements)?;
                if !ids.insert(case.id.clone()) {
                    return Err(malformed(path, format!("duplicate case {}", case.id)));
                }
                self.cases.push(case);
            }
        }
        Ok(())
    }

    fn case(
        &self,
        file: &str,
        kind: &Arc<Kind>,
        operation: &Arc<Operation>,
        data: CaseData,
        of_kind: &[String],
    ) -> Result<Case, CatalogError> {
        let words = [&kind.group, &kind.plural, &operation.id, &data.id];
        let words: Vec<&str> = words
            .into_iter()
            .filter(|w| !w.is_empty())
            .map(String::as_str)
            .collect();
        let id = words.join("/");
        let mut found = Vec::new();
        for statement in data.statement.all().iter().chain(of_kind) {
            let unknown = || malformed(file, format!("case {id}: unknown statement {statement:?}"));
            found.push(Arc::clone(self.statements.get(statement).ok_or_else(unknown)?));
        }
        let highest = found.iter().map(|statement| statement.level).min();
        if highest.is_none_or(|highest| data.level < highest) {
            return Err(malformed(
                file,
                format!("case {id} is more binding than its statements"),
            ));
        }
        let mut source = operation.source.clone();
        for statement in &found {
            source = joined(&source, &statement.source);
        }
        Ok(Case {
            id,
            kind: Arc::clone(kind),
            operation: Arc::clone(operation),
            described: Arc::default(),
            requirement: data.requirement.replace("{kind}", &kind.name),
            data: Arc::new(data),
            statements: found,
            source,
        })
    }

    /// Adds a case for each log query.
    fn add_log_queries(&mut self) -> Result<(), CatalogError> {
        const FILE: &str = "queries";
        let kind = Arc::new(Kind {
            name: "LogQuery".to_owned(),
            group: "search".to_owned(),
            plural: "queries".to_owned(),
            api_version: "v1".to_owned(),
            path: None,
            other_group: None,
            sample: None,
            controlled: false,
        });
        let operation = Arc::new(Operation {
            id: String::new(),
            method: Method::GET,
            path: SEARCH.to_owned(),
            result: None,
            streams: false,
            source: "1: Logging add-on access".to_owned(),
            pending: None,
            documented: false,
        });
        for (name, query) in super::logs::queries()? {
            let text = query.query.first().map(|(_, q)| q.clone()).unwrap_or_default();
            let mut needs = vec![Need::LogSearch, Need::LogLines];
            if text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "now") {
                needs.push(Need::Clock);
            }
            let requirement = match query.found {
                Some(_) => format!("The query {text} finds its documents, with their scores."),
                None => format!("The query {text} is refused."),
            };
            let data = CaseData::of_log_query(name, requirement, needs, query);
            self.cases.push(self.case(FILE, &kind, &operation, data, &[])?);
        }
        Ok(())
    }
}

/// The operation that runs log queries.
const SEARCH: &str = "/api/v1/proxy/namespaces/{namespace}/services/{name}/{path}";

/// Joins two lists of places without duplicates.
fn joined(first: &str, second: &str) -> String {
    let mut places: Vec<&str> = Vec::new();
    for place in second.split("; ").chain(first.split("; ")) {
        let covered = |p: &&str| *p == place || p.starts_with(&format!("{place}, "));
        if !places.iter().any(|p| covered(p) || place == *p) {
            places.push(place);
        }
    }
    places.join("; ")
}

fn sample(name: &str) -> Result<Sample, CatalogError> {
    let path = format!("{name}.yaml");
    let files = yaml_files(&OBJECTS);
    let read = |path: &str| files.get(path).ok_or_else(|| malformed(path, "no such sample"));
    let mut sample: Sample = parse(&path, read(&path)?)?;
    if let Some(pointer) = &sample.pod_spec {
        let shared: Map<String, Value> = parse(POD_SPEC, read(POD_SPEC)?)?;
        let mut fields = pointer.split('/').skip(1);
        let own = fields.try_fold(&mut sample.full, |value, field| {
            Some(value.as_object_mut()?.entry(field).or_insert_with(|| json!({})))
        });
        let own = own.and_then(Value::as_object_mut);
        let own = own.ok_or_else(|| malformed(&path, format!("`full` has no object at {pointer}")))?;
        for (field, value) in shared {
            own.entry(field).or_insert(value);
        }
    }
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::Level;
    use super::*;

    fn catalog() -> Catalog {
        Catalog::embedded().unwrap()
    }

    #[test]
    fn there_are_264_operations_and_each_occurs_once() {
        let catalog = catalog();
        let distinct: BTreeSet<String> = Profile::ALL
            .iter()
            .flat_map(|p| catalog.cases(*p))
            .filter(|case| case.operation.documented)
            .map(|case| case.operation.request())
            .collect();
        assert_eq!(distinct.len(), 264);
        assert_eq!(catalog.operations(), 264);
    }

    #[test]
    fn no_operation_is_pending() {
        let catalog = catalog();
        let pending: Vec<&str> = catalog.cases.iter().filter_map(Case::pending).collect();
        assert!(pending.is_empty(), "{pending:?}");
    }

    #[test]
    fn every_operation_has_a_case_under_each_profile() {
        let catalog = catalog();
        for profile in Profile::ALL {
            let requests: BTreeSet<String> = catalog
                .cases(profile)
                .filter(|case| case.operation.documented)
                .map(|case| case.operation.request())
                .collect();
            assert_eq!(requests.len(), 264, "{profile}");
        }
    }

    #[test]
    fn every_must_has_a_case_of_its_level() {
        let catalog = catalog();
        let checked: BTreeSet<&str> = catalog
            .cases
            .iter()
            .filter(|case| case.level() == Level::Must)
            .flat_map(|case| case.statements.iter().map(|statement| statement.id.as_str()))
            .collect();
        let unchecked: Vec<&str> = catalog
            .statements()
            .filter(|s| s.level == Level::Must && s.applies.is_none() && !checked.contains(s.id.as_str()))
            .map(|s| s.id.as_str())
            .collect();
        assert!(unchecked.is_empty(), "{unchecked:?}");
    }

    #[test]
    fn every_statement_has_a_case_or_a_reason() {
        let catalog = catalog();
        let checked: BTreeSet<&str> = catalog
            .cases
            .iter()
            .flat_map(|case| case.statements.iter().map(|statement| statement.id.as_str()))
            .collect();
        let unchecked: Vec<&str> = catalog
            .statements()
            .filter(|s| s.applies.is_none() && !checked.contains(s.id.as_str()))
            .map(|s| s.id.as_str())
            .collect();
        assert!(unchecked.is_empty(), "{unchecked:?}");
    }

    #[test]
    fn every_source_is_a_heading_of_the_documentation() {
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
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "/-.".contains(c);
            assert!(case.id.chars().all(plain), "{}", case.id);
        }
    }

    #[test]
    fn a_place_occurs_once() {
        assert_eq!(
            joined("1: Events, 2", "2: Watch paths; 1: Events, 2"),
            "2: Watch paths; 1: Events, 2"
        );
    }
}

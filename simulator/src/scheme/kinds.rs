//! Scheme: the served kinds.
//!
//! - A scheme is immutable: adding or removing kinds returns a new one, which shares the other kinds with the old
//!   one.
//! - Guarantee: loading the built-in kinds takes about a millisecond.
//! - Source of the semantics: `fixtures/kinds`, which is embedded in the program.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use stuntdouble_fixtures::{Dir, DirEntry, KINDS};

use super::{
    conversion::{self, Conversion},
    load::{self, File, KindFile, LoadError, LoadedKind, SharedTypes},
    resource::{Resource, StorageVersion},
    types::Types,
};
use crate::api::GroupResource;

/// Kinds to be added to the served ones, and the conversions that they refer to.
#[derive(Clone, Debug, Default)]
pub struct Kinds {
    files: Vec<(String, String)>,
    conversions: Vec<(String, Conversion)>,
}

impl Kinds {
    /// Adds the file of one version of a kind: JSON as described in the README of `fixtures/kinds`. Errors refer to
    /// it as `name`.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>, json: impl Into<String>) -> Self {
        self.files.push((name.into(), json.into()));
        self
    }

    /// Adds a conversion under the name that files refer to.
    #[must_use]
    pub fn conversion(mut self, name: impl Into<String>, conversion: Conversion) -> Self {
        self.conversions.push((name.into(), conversion));
        self
    }
}

/// Served kinds, each in all its versions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scheme {
    /// In the order of discovery. Kinds without a path are last.
    resources: Vec<Arc<Resource>>,
    shared: Arc<SharedTypes>,
    conversions: HashMap<String, Conversion>,
}

impl Scheme {
    /// Returns the built-in kinds.
    pub(crate) fn builtin() -> Arc<Self> {
        static BUILTIN: OnceLock<Arc<Scheme>> = OnceLock::new();
        BUILTIN
            .get_or_init(|| {
                #[expect(
                    clippy::expect_used,
                    reason = "the files are part of the program, and a test loads them"
                )]
                let scheme = Self::load(files(&KINDS)).expect("the built-in kinds must load");
                Arc::new(scheme)
            })
            .clone()
    }

    /// Loads kinds and the types that they share from files, each a path and its content.
    pub(crate) fn load<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])> + Clone) -> Result<Self, LoadError> {
        let conversions = conversion::builtin();
        Self {
            resources: Vec::new(),
            shared: Arc::new(load::shared_types(files.clone())?),
            conversions: conversions.into_iter().map(|(name, c)| (name.to_owned(), c)).collect(),
        }
        .with_files(files)
    }

    /// Returns this scheme with additional kinds.
    pub(crate) fn with(&self, kinds: &Kinds) -> Result<Self, LoadError> {
        let mut made = self.clone();
        made.conversions.extend(kinds.conversions.iter().cloned());
        made.with_files(kinds.files.iter().map(|(name, json)| (name.as_str(), json.as_bytes())))
    }

    fn with_files<'a>(&self, files: impl Iterator<Item = (&'a str, &'a [u8])>) -> Result<Self, LoadError> {
        let (kinds, types) = load::kinds(&self.shared, files)?;
        let types = Arc::new(types);
        let mut made = self.clone();
        let (stored, converted): (Vec<LoadedKind>, Vec<LoadedKind>) =
            kinds.into_iter().partition(|kind| kind.file.storage.is_empty());
        for kind in stored.into_iter().chain(converted) {
            made.add(kind, &types)?;
        }
        made.resources.sort_by(|a, b| {
            let key = |r: &'_ Resource| {
                (
                    r.plural.is_empty(),
                    r.group.clone(),
                    r.plural.clone(),
                    r.version.clone(),
                )
            };
            key(a).cmp(&key(b))
        });
        Ok(made)
    }

    fn add(&mut self, kind: LoadedKind, types: &Arc<Types>) -> Result<(), LoadError> {
        let LoadedKind { origin, file, root } = kind;
        let error = |problem: String| LoadError::new(&origin, problem);
        let group_version = file.group_version();
        check_names(&file).map_err(error)?;
        if self.kind(&group_version, &file.kind).is_some()
            || self.resource(&file.group, &file.version, &file.plural).is_some()
        {
            return Err(error(format!(
                "{group_version} already has {} or its plural",
                file.kind
            )));
        }
        let storage = if file.storage.is_empty() {
            None
        } else {
            let stored = self.kind(&file.storage, &file.kind);
            let resource = stored
                .filter(|stored| stored.is_storage_version())
                .ok_or_else(|| error(format!("{} has no storage version {}", file.kind, file.storage)))?
                .clone();
            let conversion = match &file.conversion {
                None => Conversion::identity(),
                Some(name) => self
                    .conversions
                    .get(name)
                    .cloned()
                    .ok_or_else(|| error(format!("unknown conversion {name}")))?,
            };
            Some(StorageVersion { resource, conversion })
        };
        self.resources
            .push(Arc::new(Resource::new(file, root, types.clone(), storage)));
        Ok(())
    }

    /// Returns this scheme without all versions of the kind that is stored as `stored_as`.
    pub(crate) fn without(&self, stored_as: &GroupResource) -> Self {
        let mut made = self.clone();
        made.resources.retain(|resource| resource.stored_as() != stored_as);
        made
    }

    /// Resources with a path, in the order of discovery.
    pub(crate) fn resources(&self) -> &[Arc<Resource>] {
        let served = self.resources.partition_point(|resource| !resource.plural.is_empty());
        self.resources.get(..served).unwrap_or_default()
    }

    /// Returns a resource by its path.
    pub(crate) fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources
            .iter()
            .find(|r| r.plural == plural && r.group == group && r.version == version && !plural.is_empty())
    }

    /// Returns a kind by name, including kinds without a path: `DeleteOptions`, `Scale`, `DeploymentRollback`.
    pub(crate) fn kind(&self, group_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|r| r.is_kind(group_version, kind))
    }

    /// Whether v1.2 has the kind. Of some kinds only the name is known.
    pub(super) fn is_registered(&self, group_version: &str, kind: &str) -> bool {
        self.shared.is_registered(group_version, kind)
    }
}

/// Checks that the names of a kind are valid path segments.
fn check_names(file: &KindFile) -> Result<(), String> {
    let label = |name: &str| {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        !name.is_empty()
            && name.len() <= 63
            && name.bytes().all(inner)
            && !name.starts_with('-')
            && !name.ends_with('-')
    };
    let checks = [
        (
            "group",
            &file.group,
            file.group.is_empty() || file.group.split('.').all(label),
        ),
        ("version", &file.version, label(&file.version)),
        ("plural", &file.plural, file.plural.is_empty() || label(&file.plural)),
        (
            "kind",
            &file.kind,
            !file.kind.is_empty() && file.kind.bytes().all(|b| b.is_ascii_alphanumeric()),
        ),
    ];
    match checks.into_iter().find(|(_, _, valid)| !valid) {
        Some((what, name, _)) => Err(format!("{name:?} is not a valid {what}")),
        None => Ok(()),
    }
}

fn files<'a>(dir: &'a Dir<'a>) -> impl Iterator<Item = File<'a>> + Clone {
    let mut found = Vec::new();
    let mut open = vec![dir];
    while let Some(dir) = open.pop() {
        for entry in dir.entries() {
            match entry {
                DirEntry::Dir(dir) => open.push(dir),
                DirEntry::File(file) => found.extend(file.path().to_str().map(|path| (path, file.contents()))),
            }
        }
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::scheme::Syntax;

    #[test]
    fn the_builtin_kinds_load_in_the_order_of_discovery() {
        let scheme = Scheme::load(files(&KINDS)).unwrap();
        let names: Vec<String> = scheme
            .resources()
            .iter()
            .map(|r| format!("{}/{}", r.group_version(), r.plural))
            .collect();
        assert_eq!(names.first().map(String::as_str), Some("v1/bindings"));
        assert_eq!(
            names.last().map(String::as_str),
            Some("extensions/v1beta1/replicationcontrollers")
        );
        assert!(names.contains(&"batch/v1/jobs".to_owned()));
        assert!(names.contains(&"v1/nodes".to_owned()));
    }

    #[test]
    fn a_type_can_be_walked_by_field_names() {
        let scheme = Scheme::builtin();
        let pods = scheme.resource("", "v1", "pods").unwrap();
        let containers = pods
            .type_ref()
            .field("spec")
            .and_then(|f| f.type_ref.field("containers"))
            .unwrap();
        assert_eq!(containers.merge_key.map(|key| &**key), Some("name"));
        let ports = containers.type_ref.element().and_then(|c| c.field("ports")).unwrap();
        assert_eq!(ports.merge_key.map(|key| &**key), Some("containerPort"));
        assert!(pods.type_ref().field("nope").is_none());
        assert!(
            pods.type_ref().field("kind").is_some()
                && containers.type_ref.element().and_then(|c| c.field("kind")).is_none()
        );
    }

    fn with(file: &str) -> Result<Scheme, LoadError> {
        Scheme::builtin().with(&Kinds::default().file("x.json", file))
    }

    #[rstest]
    #[case(r#"{"kind": "X", "version": "v1", "fields": {"a": "Nope"}}"#, "unknown type Nope")]
    #[case(
        r#"{"kind": "X", "version": "v1", "fields": {"a": "*X", "b": "Y"}, "types": {"Y": {"x": "X"}}}"#,
        "X contains itself by value"
    )]
    #[case(
        r#"{"kind": "X", "version": "v1", "fields": {"+Y": ""}, "types": {"Y": {"+X": ""}}}"#,
        "X embeds itself"
    )]
    #[case(
        r#"{"kind": "X", "version": "v1", "group": "a..b", "fields": {}}"#,
        "\"a..b\" is not a valid group"
    )]
    #[case(
        r#"{"kind": "X", "version": "v1", "plural": "x.y", "fields": {}}"#,
        "\"x.y\" is not a valid plural"
    )]
    #[case(r#"{"kind": "X/Y", "version": "v1", "fields": {}}"#, "\"X/Y\" is not a valid kind")]
    #[case(
        r#"{"kind": "Pod", "version": "v1", "fields": {}}"#,
        "v1 already has Pod or its plural"
    )]
    #[case(
        r#"{"kind": "X", "version": "v1", "plural": "pods", "fields": {}}"#,
        "v1 already has X or its plural"
    )]
    #[case(
        r#"{"kind": "X", "version": "v1", "storage": "v2", "fields": {}}"#,
        "X has no storage version v2"
    )]
    #[case(
        r#"{"kind": "Job", "group": "x", "version": "v1", "storage": "extensions/v1beta1", "fields": {}}"#,
        "Job has no storage version extensions/v1beta1"
    )]
    #[case(
        r#"{"kind": "Pod", "version": "v2", "storage": "v1", "conversion": "none", "fields": {}}"#,
        "unknown conversion none"
    )]
    fn errors_name_the_invalid_file(#[case] file: &str, #[case] problem: &str) {
        assert_eq!(with(file).unwrap_err().to_string(), format!("x.json: {problem}"));
    }

    #[test]
    fn a_type_may_contain_itself() {
        let scheme = with(
            r#"{"kind": "Tree", "group": "x.org", "version": "v1", "plural": "trees",
                "fields": {"metadata": "ObjectMeta?", "root": "Node?"},
                "types": {"Node": {"name": "string = leaf", "left": "*Node?", "more": "[]Node? by name",
                    "named": "map[string]Node?"}}}"#,
        )
        .unwrap();
        let trees = scheme.resource("x.org", "v1", "trees").unwrap();
        let body =
            r#"{"root": {"name": "a", "left": {"left": {"other": 1}}, "named": {"n": {"more": [{"name": "b"}]}}}}"#;
        let mut tree = scheme.decode(trees, body.as_bytes(), Syntax::Json).unwrap();
        trees.default(&mut tree);
        assert_eq!(
            tree["root"].to_string(),
            r#"{"name":"a","left":{"name":"leaf","left":{"name":"leaf"}},"named":{"n":{"name":"","more":[{"name":"b"}]}}}"#
        );
        let deep = format!(
            "{{\"root\": {}{}}}",
            r#"{"left": "#.repeat(150),
            "{}".to_owned() + &"}".repeat(150)
        );
        assert!(
            scheme
                .decode(trees, deep.as_bytes(), Syntax::Json)
                .unwrap_err()
                .message
                .contains("max depth")
        );
    }

    #[test]
    fn a_kind_is_removed_with_all_its_versions() {
        let jobs = GroupResource::new("batch", "jobs");
        let scheme = Scheme::builtin().without(&jobs);
        assert!(scheme.resource("batch", "v1", "jobs").is_none() && scheme.kind("extensions/v1beta1", "Job").is_none());
        assert!(scheme.resource("extensions", "v1beta1", "deployments").is_some());
    }
}

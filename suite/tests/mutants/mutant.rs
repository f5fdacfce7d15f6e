//! A deliberate fault, as `fixtures/mutants/README.md` describes it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize;
use serde_json::Value;
use stuntdouble_suite::catalog::Profile;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Mutant {
    /// Its place among all, of which names are made.
    #[serde(skip)]
    pub(crate) number: usize,
    pub(crate) id: String,
    pub(crate) fault: String,
    #[serde(default)]
    pub(crate) profile: Profile,
    pub(crate) when: When,
    #[serde(default)]
    pub(crate) ask: Ask,
    #[serde(default)]
    pub(crate) answer: Answer,
    #[serde(default)]
    pub(crate) stream: Stream,
    pub(crate) caught_by: Vec<String>,
}

/// Which requests are altered.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct When {
    pub(crate) method: String,
    pub(crate) path: Option<String>,
    pub(crate) query: Option<String>,
}

impl When {
    /// What the stars of the path stand for, if this request is altered.
    pub(crate) fn matches(&self, method: &str, path: &str, query: &BTreeSet<String>) -> Option<Vec<String>> {
        if self.method != method || self.query.as_ref().is_some_and(|name| !query.contains(name)) {
            return None;
        }
        let Some(pattern) = &self.path else {
            return Some(Vec::new());
        };
        let (wanted, actual): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
        if wanted.len() != actual.len() || !wanted.iter().zip(&actual).all(|(w, a)| *w == "*" || w == a) {
            return None;
        }
        Some(
            wanted
                .iter()
                .zip(actual)
                .filter(|(w, _)| **w == "*")
                .map(|(_, a)| a.to_owned())
                .collect(),
        )
    }
}

/// What is changed before the server is asked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Ask {
    #[serde(default)]
    pub(crate) without: Vec<String>,
    #[serde(default)]
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) path: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) content_type: Option<String>,
    #[serde(default)]
    pub(crate) body_set: BTreeMap<String, Value>,
}

/// What is changed in the answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) status: Option<u16>,
    pub(crate) content_type: Option<String>,
    #[serde(default)]
    pub(crate) set: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) remove: Vec<String>,
    #[serde(default)]
    pub(crate) drop_items: bool,
    #[serde(default)]
    pub(crate) repeat_items: bool,
    #[serde(default)]
    pub(crate) one_line: bool,
    pub(crate) text: Option<String>,
}

/// What is changed in a stream.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Stream {
    pub(crate) drop: Option<String>,
    pub(crate) repeat: Option<String>,
    #[serde(default)]
    pub(crate) rename: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) set: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) remove: Vec<String>,
    #[serde(default)]
    pub(crate) swap: bool,
    #[serde(default)]
    pub(crate) endless: bool,
    pub(crate) cut: Option<usize>,
}

/// All mutants, in the order of their files.
pub(crate) fn all() -> Result<Vec<Mutant>, Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/mutants");
    let mut files: Vec<_> = std::fs::read_dir(folder)?
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .map(|entry| entry.path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let mut mutants = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file)?;
        let some: Vec<Mutant> =
            serde_saphyr::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        mutants.extend(some);
    }
    mutants
        .iter_mut()
        .enumerate()
        .for_each(|(number, mutant)| mutant.number = number);
    Ok(mutants)
}

/// Sets and removes what JSON pointers name.
pub(crate) fn alter(value: &mut Value, set: &BTreeMap<String, Value>, remove: &[String]) {
    for (pointer, new) in set {
        if let Some((parent, field)) = pointer.rsplit_once('/')
            && let Some(Value::Object(fields)) = value.pointer_mut(parent)
        {
            fields.insert(field.to_owned(), new.clone());
        }
    }
    for pointer in remove {
        if let Some((parent, field)) = pointer.rsplit_once('/')
            && let Some(Value::Object(fields)) = value.pointer_mut(parent)
        {
            fields.remove(field);
        }
    }
}

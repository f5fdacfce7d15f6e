//! Statements: what the texts promise, and what Kubernetes v1.2 does where they are silent.
//!
//! Source of semantics: `fixtures/statements`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use stuntdouble_fixtures::STATEMENTS;

use super::Level;
use super::error::{CatalogError, malformed};
use super::files::{parse, yaml_files};

/// A promise that cases check.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Stable name, such as `query/pretty`.
    pub id: String,
    /// How binding it is.
    pub level: Level,
    /// Place in the texts.
    pub source: String,
    /// The promise in our own words.
    pub text: String,
    /// Why no request can check it.
    pub applies: Option<String>,
}

/// All statements, by id.
pub(super) type Statements = BTreeMap<String, Arc<Statement>>;

/// Reads all statements.
pub(super) fn statements() -> Result<Statements, CatalogError> {
    let mut all = Statements::new();
    for (path, text) in yaml_files(&STATEMENTS) {
        for statement in parse::<Vec<Statement>>(&path, &text)? {
            let id = statement.id.clone();
            if all.insert(id.clone(), Arc::new(statement)).is_some() {
                return Err(malformed(&path, format!("statement {id} occurs twice")));
            }
        }
    }
    Ok(all)
}

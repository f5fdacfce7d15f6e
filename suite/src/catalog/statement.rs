//! Statements: requirements of the documentation, and behaviour of Kubernetes v1.2 where it says nothing.
//!
//! Source: `fixtures/statements`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use stuntdouble_fixtures::STATEMENTS;

use super::Level;
use super::error::{CatalogError, malformed};
use super::files::{parse, yaml_files};

/// A requirement that cases check.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Stable name, such as `query/pretty`.
    pub id: String,
    /// Level.
    pub level: Level,
    /// Place in the documentation.
    pub source: String,
    /// The requirement in our own words.
    pub text: String,
    /// Reason why no request can check it.
    pub applies: Option<String>,
}

/// Statements by id.
pub(super) type Statements = BTreeMap<String, Arc<Statement>>;

/// Reads all statements.
pub(super) fn statements() -> Result<Statements, CatalogError> {
    let mut all = Statements::new();
    for (path, text) in yaml_files(&STATEMENTS) {
        for statement in parse::<Vec<Statement>>(&path, &text)? {
            let id = statement.id.clone();
            if all.insert(id.clone(), Arc::new(statement)).is_some() {
                return Err(malformed(&path, format!("duplicate statement {id}")));
            }
        }
    }
    Ok(all)
}

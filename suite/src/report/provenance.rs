//! What a run was made with: the tool, the catalog, the target's version, the options, the date.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::catalog::Catalog;

/// What a run was made with, as its reports say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// When the run began, in RFC 3339.
    pub date: String,
    /// Version that the target reports at `/version`.
    pub target_version: Option<String>,
    /// Hash of the catalog's files: equal hashes mean equal cases.
    pub catalog: String,
    /// Numbers of statements and of documented operations of the catalog.
    pub size: (usize, usize),
    /// Options of the command line, without credentials.
    pub options: BTreeMap<String, String>,
}

impl Provenance {
    /// The provenance of a run that begins now.
    pub fn new(catalog: &Catalog, target_version: Option<String>, options: BTreeMap<String, String>) -> Self {
        Self {
            date: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            target_version,
            catalog: catalog.digest().to_owned(),
            size: (catalog.statements().count(), catalog.operations()),
            options,
        }
    }

    /// Version of this program.
    pub(super) fn tool() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// The catalog as reports name it: the beginning of its hash.
    pub(super) fn catalog_name(&self) -> &str {
        self.catalog.get(..12).unwrap_or(&self.catalog)
    }

    /// The fields of the reports for programs.
    pub(super) fn fields(&self) -> Value {
        let (statements, operations) = self.size;
        json!({
            "date": self.date,
            "tool": {"name": "stuntdouble", "version": Self::tool()},
            "catalog": {"hash": self.catalog, "statements": statements, "operations": operations},
            "target_version": self.target_version,
            "options": self.options,
        })
    }
}

//! The provenance of a run: tool, catalog, version of the target, options and date.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::catalog::Catalog;

/// The provenance of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Start of the run, in RFC 3339.
    pub date: String,
    /// Version that the target returns at `/version`.
    pub target_version: Option<String>,
    /// Hash of the files of the catalog: equal hashes mean equal cases.
    pub catalog: String,
    /// Number of statements and of documented operations of the catalog.
    pub size: (usize, usize),
    /// Options of the command line, without credentials.
    pub options: BTreeMap<String, String>,
}

impl Provenance {
    /// Returns the provenance of a run that starts now.
    pub fn new(catalog: &Catalog, target_version: Option<String>, options: BTreeMap<String, String>) -> Self {
        Self {
            date: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            target_version,
            catalog: catalog.digest().to_owned(),
            size: (catalog.statements().count(), catalog.operations()),
            options,
        }
    }

    /// Returns the version of this program.
    pub(super) fn tool() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Returns the short name of the catalog: the first 12 digits of its hash.
    pub(super) fn catalog_name(&self) -> &str {
        self.catalog.get(..12).unwrap_or(&self.catalog)
    }

    /// Returns the fields for the reports for programs.
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

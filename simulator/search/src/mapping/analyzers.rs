//! Analyzers of fields and types.

use serde_json::Value;

use super::{FieldType, Indexing, Kind, Mapping};
use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};

impl Mapping {
    /// Fails for an unknown analyzer of a type.
    pub(super) fn check_root_analyzers(&self, type_name: &str, definition: &Value) -> Result<()> {
        let keys = ["analyzer", "index_analyzer", "search_analyzer"];
        let given = keys
            .iter()
            .filter_map(|key| Some((key, definition.get(*key)?.as_str()?)));
        for (key, name) in given {
            Analyzer::configured(name, self.analysis.as_ref()).map_err(|error| {
                SearchError::mapping(format!("{} for {key} setting on root type [{type_name}]", error.reason))
            })?;
        }
        Ok(())
    }

    /// Returns the analyzer with a name that a field has.
    pub(super) fn field_analyzer(&self, name: &str, field: &str) -> Result<Analyzer> {
        Analyzer::configured(name, self.analysis.as_ref()).map_err(|error| {
            if error.reason == format!("Analyzer [{name}] not found") {
                let field = field.rsplit('.').next().unwrap_or(field);
                return SearchError::mapping(format!("{} for field [{field}]", error.reason));
            }
            SearchError::mapping(error.reason)
        })
    }

    /// Returns the analyzers of a field: at index time, at query time, and of quoted texts.
    pub(super) fn analyzers(&self, full_name: &str, field: &FieldType) -> Result<[Analyzer; 3]> {
        let analyzer = |name: Option<&str>| match (field.indexing, field.kind) {
            (Indexing::Analyzed, Kind::Completion) => {
                let own = name.unwrap_or("simple");
                let unknown = format!("Can't find default or mapped analyzer with name [{own}]");
                Analyzer::configured(own, self.analysis.as_ref()).map_err(|_| SearchError::illegal(unknown))
            }
            (Indexing::Analyzed, Kind::String) | (_, Kind::TokenCount) => {
                self.field_analyzer(name.unwrap_or("default"), full_name)
            }
            _ => match name {
                Some(own) => self.field_analyzer(own, full_name).map(|_| Analyzer::keyword()),
                None => Ok(Analyzer::keyword()),
            },
        };
        let index = field.analyzer.as_deref();
        let search = field.search_analyzer.as_deref().or(index);
        let quote = field.quote_analyzer.as_deref().or(search);
        Ok([analyzer(index)?, analyzer(search)?, analyzer(quote)?])
    }
}

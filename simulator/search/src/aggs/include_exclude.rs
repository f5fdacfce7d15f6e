//! The `include` and `exclude` settings of `terms` and `significant_terms`.

use std::collections::HashSet;

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::java_pattern::{JavaPattern, flags};
use crate::json::{double, is_scalar, java_text};

/// Filter of the terms that get a bucket.
pub(super) struct IncludeExclude {
    include: Option<TermFilter>,
    exclude: Option<TermFilter>,
}

enum TermFilter {
    Values(HashSet<String>),
    Pattern(JavaPattern),
}

impl TermFilter {
    /// `None`: the value has no pattern, and does not filter.
    fn parse(value: &Value) -> Result<Option<TermFilter>> {
        let not_a_text = || SearchError::parse("Array elements in include/exclude clauses should be string values");
        let pattern = match value {
            Value::Array(items) => {
                let names = items.iter().map(|item| is_scalar(item).then(|| java_text(item)));
                let names = names.map(|name| name.ok_or_else(not_a_text)).collect::<Result<_>>()?;
                return Ok(Some(TermFilter::Values(names)));
            }
            Value::Object(object) => object.get("pattern").and_then(Value::as_str),
            other => other.as_str(),
        };
        let flags = value.get("flags").map_or(Ok(0), flags)?;
        let Some(pattern) = pattern else { return Ok(None) };
        JavaPattern::whole(pattern, flags).map(|pattern| Some(TermFilter::Pattern(pattern)))
    }

    fn has(&self, text: &str) -> bool {
        match self {
            TermFilter::Values(names) => names.contains(text),
            TermFilter::Pattern(pattern) => pattern.is_match(text),
        }
    }
}

impl IncludeExclude {
    pub(super) fn parse(settings: &Value) -> Result<IncludeExclude> {
        Ok(IncludeExclude {
            include: settings.get("include").map_or(Ok(None), TermFilter::parse)?,
            exclude: settings.get("exclude").map_or(Ok(None), TermFilter::parse)?,
        })
    }

    /// Reads the lists as those of a field of numbers, for which an empty list is none.
    ///
    /// # Errors
    /// A term that is no number.
    pub(super) fn read_numbers(&mut self) -> Result<()> {
        self.include
            .take_if(|filter| matches!(filter, TermFilter::Values(names) if names.is_empty()));
        for filter in self.include.iter().chain(&self.exclude) {
            if let TermFilter::Values(names) = filter {
                let number = |name: &String| double(name).map_err(|error| SearchError { status: 500, ..error });
                names.iter().try_for_each(|name| number(name).map(drop))?;
            }
        }
        Ok(())
    }

    pub(super) fn accepts(&self, text: &str) -> bool {
        self.include.as_ref().is_none_or(|names| names.has(text))
            && !self.exclude.as_ref().is_some_and(|names| names.has(text))
    }
}

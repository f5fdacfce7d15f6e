//! The `include` and `exclude` settings of `terms` and `significant_terms`.

use std::collections::HashSet;

use serde_json::Value;

use crate::aggs::refuse;
use crate::error::Result;

/// Filter of the terms that get a bucket.
pub(super) struct IncludeExclude {
    include: Option<TermFilter>,
    exclude: Option<TermFilter>,
}

enum TermFilter {
    Values(HashSet<String>),
    Pattern(regex::Regex),
}

impl TermFilter {
    fn parse(value: &Value) -> Result<TermFilter> {
        let pattern = match value {
            Value::Array(items) => {
                return Ok(TermFilter::Values(
                    items
                        .iter()
                        .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                        .collect(),
                ));
            }
            Value::Object(object) => object.get("pattern").and_then(Value::as_str).unwrap_or(""),
            other => other.as_str().unwrap_or(""),
        };
        let flags = value.get("flags").and_then(Value::as_str).unwrap_or("");
        regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
            .case_insensitive(flags.contains("CASE_INSENSITIVE"))
            .size_limit(1 << 20)
            .build()
            .map(TermFilter::Pattern)
            .map_err(|error| refuse(error.to_string()))
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
            include: settings.get("include").map(TermFilter::parse).transpose()?,
            exclude: settings.get("exclude").map(TermFilter::parse).transpose()?,
        })
    }

    pub(super) fn accepts(&self, text: &str) -> bool {
        self.include.as_ref().is_none_or(|names| names.has(text))
            && !self.exclude.as_ref().is_some_and(|names| names.has(text))
    }
}

//! Which terms may have a bucket: `include` and `exclude`.

use std::collections::HashSet;

use serde_json::Value;

use crate::aggs::refuse;
use crate::error::Result;

/// Which terms may have a bucket.
pub(super) struct Allowed {
    include: Option<Names>,
    exclude: Option<Names>,
}

enum Names {
    Listed(HashSet<String>),
    Like(regex::Regex),
}

impl Names {
    fn parse(value: &Value) -> Result<Names> {
        let pattern = match value {
            Value::Array(items) => {
                return Ok(Names::Listed(
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
            .map(Names::Like)
            .map_err(|error| refuse(error.to_string()))
    }

    fn has(&self, text: &str) -> bool {
        match self {
            Names::Listed(names) => names.contains(text),
            Names::Like(pattern) => pattern.is_match(text),
        }
    }
}

impl Allowed {
    pub(super) fn parse(settings: &Value) -> Result<Allowed> {
        Ok(Allowed {
            include: settings.get("include").map(Names::parse).transpose()?,
            exclude: settings.get("exclude").map(Names::parse).transpose()?,
        })
    }

    pub(super) fn accepts(&self, text: &str) -> bool {
        self.include.as_ref().is_none_or(|names| names.has(text))
            && !self.exclude.as_ref().is_some_and(|names| names.has(text))
    }
}

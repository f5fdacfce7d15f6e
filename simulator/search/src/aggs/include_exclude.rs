//! The `include` and `exclude` settings of `terms` and `significant_terms`.

use std::collections::HashSet;

use serde_json::Value;

use crate::aggs::refuse;
use crate::error::{Result, SearchError};
use crate::json::{BODY, double, int, is_scalar, java_text};

/// Filter of the terms that get a bucket.
pub(super) struct IncludeExclude {
    include: Option<TermFilter>,
    exclude: Option<TermFilter>,
}

enum TermFilter {
    Values(HashSet<String>),
    Pattern(regex::Regex),
}

// Flags of Java's `java.util.regex.Pattern`.
const CASE_INSENSITIVE: i32 = 2;
const COMMENTS: i32 = 4;
const MULTILINE: i32 = 8;
const DOTALL: i32 = 32;
const FLAGS: [(&str, i32); 9] = [
    ("CASE_INSENSITIVE", CASE_INSENSITIVE),
    ("MULTILINE", MULTILINE),
    ("DOTALL", DOTALL),
    ("UNICODE_CASE", 64),
    ("CANON_EQ", 128),
    ("UNIX_LINES", 1),
    ("LITERAL", 16),
    ("COMMENTS", COMMENTS),
    ("UNICODE_CHAR_CLASS", 256),
];

/// Reads the flags of a pattern: their names, separated by `|`, or their bits.
///
/// # Errors
/// A flag that does not exist.
pub(super) fn flags(value: &Value) -> Result<i32> {
    if value.is_number() {
        let flags = int(value, BODY)?;
        let known = FLAGS.iter().fold(0, |all, (_, flag)| all | flag);
        return match flags & !known {
            0 => Ok(flags),
            _ => Err(SearchError::argument(format!("Unknown flag 0x{flags:x}"))),
        };
    }
    let names = value
        .as_str()
        .unwrap_or_default()
        .split('|')
        .map(|name| name.trim().to_uppercase());
    names.filter(|name| !name.is_empty()).try_fold(0, |all, name| {
        let unknown = || SearchError::illegal(format!("Unknown regex flag [{name}]"));
        let flag = FLAGS.iter().find(|(known, _)| *known == name);
        flag.map(|(_, flag)| all | flag).ok_or_else(unknown)
    })
}

/// Compiles a pattern of whole terms.
///
/// # Errors
/// A pattern that is invalid or too large.
pub(super) fn compile(pattern: &str, flags: i32) -> Result<regex::Regex> {
    regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
        .case_insensitive(flags & CASE_INSENSITIVE != 0)
        .multi_line(flags & MULTILINE != 0)
        .dot_matches_new_line(flags & DOTALL != 0)
        .ignore_whitespace(flags & COMMENTS != 0)
        .size_limit(1 << 20)
        .build()
        .map_err(|error| refuse(error.to_string()))
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
        compile(pattern, flags).map(|pattern| Some(TermFilter::Pattern(pattern)))
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

//! Redaction rules.

use regex::Regex;

/// Errors of redaction rules.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedactionError {
    /// A pattern is not a valid regular expression.
    #[error("invalid pattern {pattern:?}: {source}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The error.
        source: Box<regex::Error>,
    },
}

/// Redaction rules.
///
/// The default redacts credentials in headers, queries and bodies, and the data of Secrets. More rules can be added to
/// it, or to [`Redaction::none`].
///
/// ```
/// use stuntdouble_cassettes::{Cassette, Redaction};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut cassette = Cassette::parse(concat!(
///     "cassette: 1\nrecorded: 2026-11-21T11:45:16Z\n---\nid: 1\nstarted: 2026-11-21T11:45:16Z\n",
///     "request: {method: GET, url: /pin?pin=4711, headers: [Authorization: Bearer abcdefgh]}\n",
///     "response: {status: 200}\n...\n",
/// ))?;
/// cassette.redact(Redaction::default().query("pin").pattern("card-[0-9]+")?);
/// assert!(cassette.to_yaml().contains("/pin?pin=redacted-"));
/// assert!(!cassette.to_yaml().contains("abcdefgh"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Redaction {
    headers: Vec<String>,
    query: Vec<String>,
    pub(super) paths: Vec<Vec<String>>,
    pub(super) patterns: Vec<Regex>,
    pub(super) literals: Vec<String>,
    pub(super) defaults: bool,
}

impl Default for Redaction {
    /// Redacts credentials in headers, queries and bodies, and the data of Secrets.
    fn default() -> Self {
        Self {
            headers: Vec::new(),
            query: Vec::new(),
            paths: Vec::new(),
            patterns: Vec::new(),
            literals: Vec::new(),
            defaults: true,
        }
    }
}

impl Redaction {
    /// Redacts nothing.
    pub fn none() -> Self {
        Self {
            headers: Vec::new(),
            query: Vec::new(),
            paths: Vec::new(),
            patterns: Vec::new(),
            literals: Vec::new(),
            defaults: false,
        }
    }

    /// Adds a header whose values are redacted.
    #[must_use]
    pub fn header(mut self, name: &str) -> Self {
        self.headers.push(name.to_ascii_lowercase());
        self
    }

    /// Adds a query parameter whose values are redacted.
    #[must_use]
    pub fn query(mut self, name: &str) -> Self {
        self.query.push(name.to_owned());
        self
    }

    /// Adds a path in JSON and YAML bodies whose values are redacted: keys and indices separated by dots, `*` for any
    /// one of them, `**` for any number of them. Example: `spec.**.apiToken`.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.paths.push(path.split('.').map(str::to_owned).collect());
        self
    }

    /// Adds a regular expression. Its first group, or the whole match if it has none, is redacted.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn pattern(mut self, pattern: &str) -> Result<Self, RedactionError> {
        let wrong = |source| RedactionError::Pattern {
            pattern: pattern.to_owned(),
            source: Box::new(source),
        };
        self.patterns.push(Regex::new(pattern).map_err(wrong)?);
        Ok(self)
    }

    /// Adds a secret by its text.
    #[must_use]
    pub fn literal(mut self, secret: &str) -> Self {
        if !secret.is_empty() {
            self.literals.push(secret.to_owned());
        }
        self
    }

    /// Whether nothing is redacted.
    pub fn is_none(&self) -> bool {
        let own = [
            self.headers.is_empty(),
            self.query.is_empty(),
            self.paths.is_empty(),
            self.patterns.is_empty(),
        ];
        !self.defaults && self.literals.is_empty() && own.into_iter().all(|empty| empty)
    }

    pub(super) fn describe(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.defaults {
            out.push("credentials".to_owned());
            out.push("data of Secrets".to_owned());
        }
        out.extend(self.headers.iter().map(|name| format!("header {name}")));
        out.extend(self.query.iter().map(|name| format!("query {name}")));
        out.extend(self.paths.iter().map(|path| format!("path {}", path.join("."))));
        out.extend(self.patterns.iter().map(|pattern| format!("pattern {pattern}")));
        if !self.literals.is_empty() {
            out.push(format!("{} given secrets", self.literals.len()));
        }
        out
    }

    /// Whether the user added this header.
    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Whether the user added this query parameter.
    pub(super) fn has_query(&self, name: &str) -> bool {
        self.query.iter().any(|own| own == name)
    }

    /// Whether a value at a path is named by a rule.
    pub(super) fn has_path(&self, path: &[&str]) -> bool {
        self.paths.iter().any(|rule| matches(rule, path))
    }
}

fn matches(rule: &[String], path: &[&str]) -> bool {
    match (rule.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            matches(rest, path) || path.split_first().is_some_and(|(_, path)| matches(rule, path))
        }
        (Some((first, rest)), Some((key, path))) => (first == "*" || first == key) && matches(rest, path),
        _ => false,
    }
}

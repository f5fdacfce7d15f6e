//! What is secret.

use regex::Regex;

/// A rule cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A pattern is no regular expression.
    #[error("the pattern {pattern:?}: {source}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: Box<regex::Error>,
    },
}

/// What is secret: by header, query parameter, JSON path, key, pattern, and by being it.
#[derive(Clone, Debug)]
pub struct Rules {
    headers: Vec<String>,
    query: Vec<String>,
    pub(super) paths: Vec<Vec<String>>,
    pub(super) patterns: Vec<Regex>,
    pub(super) literals: Vec<String>,
    pub(super) defaults: bool,
}

impl Default for Rules {
    /// Credentials in headers, queries and bodies, and the data of Secrets.
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

impl Rules {
    /// Nothing is secret.
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

    /// The values of this header are secret too.
    pub fn header_named(mut self, name: &str) -> Self {
        self.headers.push(name.to_ascii_lowercase());
        self
    }

    /// The values of this query parameter are secret too.
    pub fn query_named(mut self, name: &str) -> Self {
        self.query.push(name.to_owned());
        self
    }

    /// The values at this path of JSON or YAML bodies are secret too: keys and numbers between dots, `*` for any one,
    /// `**` for any number of them, such as `spec.**.apiToken`.
    pub fn path(mut self, path: &str) -> Self {
        self.paths.push(path.split('.').map(str::to_owned).collect());
        self
    }

    /// What this pattern matches, or its first group, is secret too.
    ///
    /// # Errors
    /// If it is no regular expression.
    pub fn pattern(mut self, pattern: &str) -> Result<Self, RulesError> {
        let wrong = |source| RulesError::Pattern {
            pattern: pattern.to_owned(),
            source: Box::new(source),
        };
        self.patterns.push(Regex::new(pattern).map_err(wrong)?);
        Ok(self)
    }

    /// This very text is secret.
    pub fn literal(mut self, secret: &str) -> Self {
        if !secret.is_empty() {
            self.literals.push(secret.to_owned());
        }
        self
    }

    /// Whether nothing is secret.
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

    /// Whether the values of a header are secret by a rule of the user's.
    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Whether the values of a query parameter are secret by a rule of the user's.
    pub(super) fn has_query(&self, name: &str) -> bool {
        self.query.iter().any(|own| own == name)
    }
}

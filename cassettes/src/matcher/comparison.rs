//! Value-by-value comparison of two requests.

use super::request::NAME_FIELDS;
use super::volatile::{Location, pairs};
use serde_json::Value;

/// The volatile values and differences of a comparison.
#[derive(Default)]
pub(super) struct Comparison {
    pairs: Vec<(String, String)>,
    /// Random values in the name of the created object.
    introduced: Vec<(String, String)>,
    /// Whether any two random names match.
    names_vary: bool,
    /// Whether to stop at the first difference.
    until_different: bool,
    differences: Vec<String>,
}

impl Comparison {
    /// A comparison that stops at the first difference.
    pub(super) fn until_different() -> Self {
        Self {
            until_different: true,
            ..Self::default()
        }
    }

    /// A comparison that stops at the first difference, in which any two random names match.
    pub(super) fn of_any_names() -> Self {
        Self {
            names_vary: true,
            ..Self::until_different()
        }
    }

    /// Whether the comparison has stopped.
    pub(super) fn is_decided(&self) -> bool {
        self.until_different && !self.differences.is_empty()
    }

    /// Returns the volatile values.
    ///
    /// # Errors
    /// The differences, if any.
    pub(super) fn finish(self) -> Result<Vec<(String, String)>, Vec<String>> {
        if self.differences.is_empty() {
            Ok(self.pairs)
        } else {
            Err(self.differences)
        }
    }

    pub(super) fn differs(&mut self, what: String) {
        self.differences.push(what);
    }

    /// Learns the random values in the names of a created object.
    pub(super) fn names(&mut self, recorded: &Value, live: &Value) {
        for field in NAME_FIELDS {
            let text = |of: &'_ Value| of.pointer(field).and_then(Value::as_str).map(str::to_owned);
            if let (Some(there), Some(here)) = (text(recorded), text(live)) {
                self.introduced
                    .extend(pairs(&there, &here, Location::NewName).unwrap_or_default());
            }
        }
    }

    /// Compares two values of a query or body.
    pub(super) fn value(&mut self, what: &str, recorded: &str, live: &str) {
        let introduced = std::mem::take(&mut self.introduced);
        self.text(what, recorded, live, Location::Value(&introduced));
        self.introduced = introduced;
    }

    pub(super) fn text(&mut self, what: &str, recorded: &str, live: &str, location: Location<'_>) {
        if recorded == live || self.is_decided() {
            return;
        }
        let location = if self.names_vary { Location::NewName } else { location };
        match pairs(recorded, live, location) {
            Some(pairs) => self.pairs.extend(pairs),
            None => self.differs(format!("{what} {}, recorded {}", clip(live), clip(recorded))),
        }
    }

    /// Compares JSON values at a path.
    pub(super) fn values(&mut self, path: &str, recorded: &Value, live: &Value) {
        match (recorded, live) {
            _ if self.is_decided() => {}
            (Value::Object(there), Value::Object(here)) => {
                for (key, value) in there {
                    match here.get(key) {
                        Some(other) => self.values(&format!("{path}.{key}"), value, other),
                        None => self.differs(format!("{path}.{key} is missing")),
                    }
                }
                for key in here.keys().filter(|key| !there.contains_key(*key)) {
                    self.differs(format!("{path}.{key} was not recorded"));
                }
            }
            (Value::Array(there), Value::Array(here)) if there.len() == here.len() => {
                for (n, (value, other)) in there.iter().zip(here).enumerate() {
                    self.values(&format!("{path}[{n}]"), value, other);
                }
            }
            (Value::String(there), Value::String(here)) => self.value(path, there, here),
            _ if recorded == live => {}
            _ => {
                let (there, here) = (recorded.to_string(), live.to_string());
                self.differs(format!("{path} {}, recorded {}", clip(&here), clip(&there)));
            }
        }
    }
}

fn clip(text: &str) -> String {
    if text.chars().count() <= 80 {
        return format!("{text:?}");
    }
    format!("{:?}...", text.chars().take(77).collect::<String>())
}

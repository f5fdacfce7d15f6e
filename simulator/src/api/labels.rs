//! Label selectors.
//!
//! - A [`Selector`] is created from the query language (`app=web,tier in (front,back),!canary,cpus>4`), from a
//!   `LabelSelector` in an object, or from a plain map.
//! - Guarantees: parsing the text of [`Display`](fmt::Display) returns an equal selector; requirements are sorted by
//!   key; no text causes a panic.
//! - Limit: `>` and `<` compare as floats and match only labels that are numbers, as in v1.2.
//! - Source: `labels` and `api/unversioned` of Kubernetes v1.2, including error texts.

mod parser;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use serde_json::Value;

use super::Object;

/// v1.2's description of a label key.
pub(crate) const QUALIFIED_NAME: &str = "must be a qualified name (at most 63 characters, \
    matching regex ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]), \
    with an optional DNS subdomain prefix (at most 253 characters, \
    matching regex [a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*) \
    and slash (/): e.g. \"MyName\" or \"example.com/MyName\"";

/// v1.2's description of a label value.
pub(crate) const LABEL_VALUE: &str = "must have at most 63 characters, matching regex \
    (([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?: e.g. \"MyValue\" or \"\"";

/// Whether `text` is a valid label key: a name of at most 63 characters, with an optional DNS subdomain and slash
/// before it.
pub(crate) fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = text
        .split_once('/')
        .map_or((None, text), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(is_dns_subdomain) && !name.is_empty() && is_label_value(name)
}

/// Whether `text` is a valid label value.
pub(crate) fn is_label_value(text: &str) -> bool {
    text.len() <= 63
        && (text.is_empty()
            || starts_and_ends_with(
                text,
                |b| b.is_ascii_alphanumeric(),
                |b| b.is_ascii_alphanumeric() || b"-_.".contains(&b),
            ))
}

/// Whether `text` is a DNS subdomain: labels of lower-case letters, digits and hyphens separated by dots, at most 253
/// characters.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    let outer = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 253
        && text
            .split('.')
            .all(|label| starts_and_ends_with(label, outer, |b| outer(b) || b == b'-'))
}

fn starts_and_ends_with(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    text.bytes().next().is_some_and(&outer) && text.bytes().next_back().is_some_and(&outer) && text.bytes().all(inner)
}

/// Lookup of values by name: an object's labels or selectable fields.
pub(crate) trait Set {
    /// Value of `name`.
    fn value(&self, name: &str) -> Option<&str>;
}

impl Set for Object {
    fn value(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }
}

impl Set for BTreeMap<String, String> {
    fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }
}

/// Operator of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `key in (a,b)`
    In,
    /// `key notin (a,b)`; also true without the label
    NotIn,
    /// `key=a`
    Equals,
    /// `key==a`, equal to `=` except for its text
    DoubleEquals,
    /// `key!=a`; also true without the label
    NotEquals,
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key>1`
    GreaterThan,
    /// `key<1`
    LessThan,
}

/// Condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    key: String,
    operator: Operator,
    values: BTreeSet<String>,
}

/// Parses a number as v1.2 does. A number out of range is `None`.
fn number(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    (value.is_finite() || !text.contains(|c: char| c.is_ascii_digit())).then_some(value)
}

impl Requirement {
    /// Returns a requirement. Fails if the key or a value is invalid, or the number of values does not fit the
    /// operator.
    pub(crate) fn new(key: &str, operator: Operator, values: BTreeSet<String>) -> Result<Self, String> {
        if !is_qualified_name(key) {
            return Err(format!("invalid label key: {QUALIFIED_NAME}"));
        }
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                return Err("for 'in', 'notin' operators, values set can't be empty".to_owned());
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => {
                return Err("exact-match compatibility requires one single value".to_owned());
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                return Err("values set must be empty for exists and does not exist".to_owned());
            }
            Operator::GreaterThan | Operator::LessThan if values.len() != 1 => {
                return Err("for 'Gt', 'Lt' operators, exactly one value is required".to_owned());
            }
            Operator::GreaterThan | Operator::LessThan if values.iter().any(|v| number(v).is_none()) => {
                return Err("for 'Gt', 'Lt' operators, the value must be a number".to_owned());
            }
            _ => {}
        }
        if !values.iter().all(|v| is_label_value(v)) {
            return Err(format!("invalid label value: {LABEL_VALUE}"));
        }
        Ok(Self {
            key: key.to_owned(),
            operator,
            values,
        })
    }

    /// Whether `labels` meet the requirement.
    pub(crate) fn matches(&self, labels: &impl Set) -> bool {
        let label = labels.value(&self.key);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(|v| self.values.contains(v)),
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(|v| self.values.contains(v)),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => self.compare(label, |a, b| a > b),
            Operator::LessThan => self.compare(label, |a, b| a < b),
        }
    }

    fn compare(&self, label: Option<&str>, holds: impl Fn(f64, f64) -> bool) -> bool {
        let bound = self.values.first().and_then(|v| number(v));
        label.and_then(number).zip(bound).is_some_and(|(a, b)| holds(a, b))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, operator, values } = self;
        let list = values.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        match operator {
            Operator::In => write!(f, "{key} in ({list})"),
            Operator::NotIn => write!(f, "{key} notin ({list})"),
            Operator::Equals => write!(f, "{key}={list}"),
            Operator::DoubleEquals => write!(f, "{key}=={list}"),
            Operator::NotEquals => write!(f, "{key}!={list}"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{list}"),
            Operator::LessThan => write!(f, "{key}<{list}"),
        }
    }
}

/// Conditions on an object's labels, all of which must hold. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

impl Selector {
    /// Returns a selector of every object.
    pub(crate) fn everything() -> Self {
        Self::default()
    }

    /// Returns a selector of no object.
    pub(crate) fn nothing() -> Self {
        Self {
            requirements: Vec::new(),
            nothing: true,
        }
    }

    /// Returns a selector with all of `requirements`.
    pub(crate) fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self {
            requirements,
            nothing: false,
        }
    }

    /// Parses the query language. The error is the recorded server's text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        parser::parse(text).map(Self::new)
    }

    /// Returns a selector of each label of `map` with its value, as in a service or a replication controller. A map
    /// that is empty or contains an invalid label selects everything, as in v1.2.
    pub(crate) fn from_map(map: &Object) -> Self {
        let requirement = |(key, value): (&String, &Value)| {
            let value = value.as_str().unwrap_or_default().to_owned();
            Requirement::new(key, Operator::Equals, BTreeSet::from([value])).ok()
        };
        map.iter()
            .map(requirement)
            .collect::<Option<_>>()
            .map_or_else(Self::everything, Self::new)
    }

    /// Returns the selector of a `LabelSelector` (matchLabels, matchExpressions). Null selects nothing, an empty
    /// object everything.
    pub(crate) fn from_label_selector(selector: &Value) -> Result<Self, String> {
        let Value::Object(selector) = selector else {
            return Ok(Self::nothing());
        };
        let mut requirements = Vec::new();
        for (key, value) in selector
            .get("matchLabels")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let value = value.as_str().unwrap_or_default().to_owned();
            requirements.push(Requirement::new(key, Operator::Equals, BTreeSet::from([value]))?);
        }
        for expression in selector
            .get("matchExpressions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let text = |field| expression.get(field).and_then(Value::as_str).unwrap_or_default();
            let operator = match text("operator") {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(format!("{other:?} is not a valid pod selector operator")),
            };
            let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
            requirements.push(Requirement::new(
                text("key"),
                operator,
                values.filter_map(Value::as_str).map(str::to_owned).collect(),
            )?);
        }
        Ok(Self::new(requirements))
    }

    /// Whether the selector selects every object.
    pub(crate) fn is_everything(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub(crate) fn matches(&self, labels: &impl Set) -> bool {
        !self.nothing && self.requirements.iter().all(|r| r.matches(labels))
    }
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nothing {
            return f.write_str("<null>");
        }
        for (index, requirement) in self.requirements.iter().enumerate() {
            write!(f, "{}{requirement}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Field paths and field errors.
//!
//! Texts and reasons are those of Kubernetes v1.2 (`util/validation/field`).

use std::{fmt, sync::Arc};

use serde_json::Value;

/// Path of a field in an object, such as `spec.containers[0].ports[1].name`.
///
/// Cheap to extend: a path shares the steps of its parent. Its text is only built for an error.
#[derive(Clone, Default)]
pub struct Path(Option<Arc<Step>>);

/// Last step of a path.
struct Step {
    parent: Path,
    to: To,
}

/// Where a step leads.
enum To {
    Field(&'static str),
    Item(usize),
    Entry(Box<str>),
}

impl Path {
    /// Returns a path that starts at `name`.
    pub fn new(name: &'static str) -> Self {
        Self::default().child(name)
    }

    /// Returns the path of the field `name` (which may be dotted) below this one.
    pub fn child(&self, name: &'static str) -> Self {
        self.then(To::Field(name))
    }

    /// Returns the path of the list item at `index`.
    pub fn index(&self, index: usize) -> Self {
        self.then(To::Item(index))
    }

    /// Returns the path of the map entry under `key`.
    pub fn key(&self, key: &str) -> Self {
        self.then(To::Entry(key.into()))
    }

    fn then(&self, to: To) -> Self {
        let parent = self.clone();
        Self(Some(Arc::new(Step { parent, to })))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(step) = &self.0 else { return Ok(()) };
        step.parent.fmt(f)?;
        match &step.to {
            To::Field(name) if step.parent.0.is_none() => f.write_str(name),
            To::Field(name) => write!(f, ".{name}"),
            To::Item(index) => write!(f, "[{index}]"),
            To::Entry(key) => write!(f, "[{key}]"),
        }
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

/// Kind of a field error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// The referenced object does not exist.
    NotFound,
    /// The field is required.
    Required,
    /// The value is a duplicate.
    Duplicate,
    /// The value is malformed or out of range.
    Invalid,
    /// The value is not one of the supported values.
    NotSupported,
    /// The field must not be set here.
    Forbidden,
    /// The value is longer than allowed.
    TooLong,
    /// The check itself failed.
    Internal,
}

impl FieldErrorKind {
    /// The machine-readable reason, as in a cause of a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::Internal => "InternalError",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::Internal => "Internal error",
        }
    }
}

/// Error of one field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// Kind of the error.
    pub kind: FieldErrorKind,
    /// Path of the field.
    pub field: Path,
    /// Invalid value, shown in the text of some kinds.
    pub value: Value,
    /// Expected value, in words. May be empty.
    pub detail: String,
}

impl FieldError {
    /// Error: the field is required.
    pub fn required(field: &Path, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Required,
            field: field.clone(),
            value: Value::Null,
            detail: detail.into(),
        }
    }

    /// Error: `value` is malformed or out of range.
    pub fn invalid(field: &Path, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Invalid,
            field: field.clone(),
            value: value.into(),
            detail: detail.into(),
        }
    }

    /// Error: `value` is a duplicate.
    pub fn duplicate(field: &Path, value: impl Into<Value>) -> Self {
        Self {
            kind: FieldErrorKind::Duplicate,
            field: field.clone(),
            value: value.into(),
            detail: String::new(),
        }
    }

    /// Error: the object that `value` refers to does not exist.
    pub fn not_found(field: &Path, value: impl Into<Value>) -> Self {
        Self {
            kind: FieldErrorKind::NotFound,
            field: field.clone(),
            value: value.into(),
            detail: String::new(),
        }
    }

    /// Error: the field must not be set here.
    pub fn forbidden(field: &Path, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Forbidden,
            field: field.clone(),
            value: Value::Null,
            detail: detail.into(),
        }
    }

    /// Error: `value` is not one of `supported`.
    pub fn not_supported(field: &Path, value: impl Into<Value>, supported: &[&str]) -> Self {
        let detail = if supported.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", supported.join(", "))
        };
        Self {
            kind: FieldErrorKind::NotSupported,
            field: field.clone(),
            value: value.into(),
            detail,
        }
    }

    /// Error: `value` is longer than `limit`.
    pub fn too_long(field: &Path, value: impl Into<Value>, limit: usize) -> Self {
        Self {
            kind: FieldErrorKind::TooLong,
            field: field.clone(),
            value: value.into(),
            detail: format!("must have at most {limit} characters"),
        }
    }

    /// Text without the field, as in the message of a cause of a `Status`.
    pub fn body(&self) -> String {
        let mut text = self.kind.text().to_owned();
        if !matches!(
            self.kind,
            FieldErrorKind::Required | FieldErrorKind::Forbidden | FieldErrorKind::TooLong | FieldErrorKind::Internal
        ) {
            text.push_str(": ");
            text.push_str(&format_value(&self.value));
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

/// Text of a value in errors: JSON, with the characters escaped that Go escapes for HTML.
fn format_value(value: &Value) -> String {
    let mut text = value.to_string();
    for (letter, escaped) in [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ] {
        if text.contains(letter) {
            text = text.replace(letter, escaped);
        }
    }
    text
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_fields_items_and_entries() {
        let path = Path::new("spec")
            .child("containers")
            .index(0)
            .child("resources")
            .key("cpu");
        assert_eq!(path.to_string(), "spec.containers[0].resources[cpu]");
    }

    #[test]
    fn only_some_kinds_show_the_value() {
        let path = Path::new("spec.replicas");
        assert_eq!(
            FieldError::invalid(&path, -1, "must be positive").to_string(),
            "spec.replicas: Invalid value: -1: must be positive"
        );
        assert_eq!(
            FieldError::required(&path, "").to_string(),
            "spec.replicas: Required value"
        );
        assert_eq!(
            FieldError::invalid(&path, "<a & b>", "").body(),
            r#"Invalid value: "\u003ca \u0026 b\u003e""#
        );
        assert_eq!(
            FieldError::not_supported(&path, "x", &["A", "B"]).body(),
            "Unsupported value: \"x\": supported values: A, B"
        );
    }
}

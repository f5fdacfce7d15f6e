//! Field path and value of a position in an object under validation.
//!
//! Reading never fails: an absent value, or one of another type, reads as the zero value of the expected type, as in
//! the typed form that the rules are written for. (Decoding has already rejected objects of other types.)

use serde_json::Value;

use crate::api::{
    FieldError, Object, Path,
    meta::{lookup, member},
};

/// Errors found so far, in the order of the report; at most [`Errors::MAX`].
///
/// The limit is necessary because an error in a few bytes of an object has a text of some hundred bytes, for some
/// kinds three times.
#[derive(Default)]
pub(crate) struct Errors(Vec<FieldError>);

impl Errors {
    /// Maximum number of errors. Further ones are dropped.
    pub(crate) const MAX: usize = 10_000;

    /// Returns the errors that `check` finds.
    pub(crate) fn of(check: impl FnOnce(&mut Self)) -> Vec<FieldError> {
        let mut errors = Self::default();
        check(&mut errors);
        errors.0
    }

    /// Adds an error.
    pub(crate) fn push(&mut self, error: FieldError) {
        if self.0.len() < Self::MAX {
            self.0.push(error);
        }
    }

    /// Number of errors.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no errors.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Extend<FieldError> for Errors {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        errors.into_iter().for_each(|error| self.push(error));
    }
}

impl IntoIterator for Errors {
    type Item = FieldError;
    type IntoIter = std::vec::IntoIter<FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Field path and its value.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    path: Path,
    value: Option<&'a Value>,
    members: Option<&'a Object>,
}

impl<'a> Cursor<'a> {
    /// Returns the whole of `object`, at the empty path.
    pub(crate) fn root(object: &'a Object) -> Self {
        Self {
            path: Path::default(),
            value: None,
            members: Some(object),
        }
    }

    /// Returns `value` at `path`.
    pub(crate) fn new(path: Path, value: Option<&'a Value>) -> Self {
        let value = value.filter(|v| !v.is_null());
        Self {
            path,
            value,
            members: value.and_then(Value::as_object),
        }
    }

    /// Returns the field `name`, which may be a dotted path, below this one.
    pub(crate) fn at(&self, name: &'static str) -> Self {
        let value = self.members.and_then(|members| lookup(members, name));
        Self::new(self.path.child(name), value)
    }

    /// Returns this value with the path of the field `name` below `parent`.
    pub(crate) fn reported_at(&self, parent: &Path, name: &'static str) -> Self {
        Self {
            path: parent.child(name),
            ..self.clone()
        }
    }

    /// Value of the member `key`, without a path.
    pub(crate) fn member(&self, key: &str) -> Option<&'a Value> {
        self.members
            .and_then(|members| member(members, key))
            .filter(|v| !v.is_null())
    }

    /// Members of the map, if it is one.
    pub(crate) fn members(&self) -> Option<&'a Object> {
        self.members
    }

    /// Field path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Value. Null if there is none.
    pub(crate) fn value(&self) -> &'a Value {
        self.value.unwrap_or(&Value::Null)
    }

    /// Whether there is a value.
    pub(crate) fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// String, or an empty one.
    pub(crate) fn text(&self) -> &'a str {
        self.value.and_then(Value::as_str).unwrap_or_default()
    }

    /// Integer, or 0.
    pub(crate) fn int(&self) -> i64 {
        self.optional_int().unwrap_or_default()
    }

    /// Integer, if there is one.
    pub(crate) fn optional_int(&self) -> Option<i64> {
        self.value.and_then(Value::as_i64)
    }

    /// Whether the value is `true`.
    pub(crate) fn is_true(&self) -> bool {
        self.value.and_then(Value::as_bool).unwrap_or_default()
    }

    /// Number of items of a list or entries of a map.
    pub(crate) fn len(&self) -> usize {
        self.value
            .and_then(Value::as_array)
            .map_or_else(|| self.members.map_or(0, Object::len), Vec::len)
    }

    /// Whether the list or map is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items of the list, each with its index in the path.
    pub(crate) fn items(&self) -> impl Iterator<Item = Self> + use<'a> {
        let path = self.path.clone();
        self.values()
            .iter()
            .enumerate()
            .map(move |(index, value)| Self::new(path.index(index), Some(value)))
    }

    /// Items of the list.
    pub(crate) fn values(&self) -> &'a [Value] {
        self.value
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Strings of the list.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.values().iter().filter_map(Value::as_str)
    }

    /// Entries of the map in the order of their keys, each with its key in the path.
    pub(crate) fn entries(&self) -> Vec<(&'a str, Self)> {
        let mut entries: Vec<_> = self
            .members
            .into_iter()
            .flatten()
            .map(|(k, v)| (k.as_str(), Self::new(self.path.key(k), Some(v))))
            .collect();
        entries.sort_by_key(|(key, _)| *key);
        entries
    }

    /// Error: the value is required.
    pub(crate) fn required(&self, detail: &str) -> FieldError {
        FieldError::required(&self.path, detail)
    }

    /// Error: `value` is invalid.
    pub(crate) fn invalid(&self, value: impl Into<Value>, detail: impl Into<String>) -> FieldError {
        FieldError::invalid(&self.path, value, detail)
    }

    /// Error: the string is not in `supported`.
    pub(crate) fn not_supported(&self, supported: &[&str]) -> FieldError {
        FieldError::not_supported(&self.path, self.text(), supported)
    }

    /// Error: the value is not allowed.
    pub(crate) fn forbidden(&self, detail: &str) -> FieldError {
        FieldError::forbidden(&self.path, detail)
    }

    /// Requires a non-empty string.
    pub(crate) fn require_text(&self, errors: &mut Errors) {
        if self.text().is_empty() {
            errors.push(self.required(""));
        }
    }

    /// Requires an integer that is not negative.
    pub(crate) fn require_nonnegative(&self, errors: &mut Errors) {
        let value = self.int();
        if value < 0 {
            errors.push(self.invalid(value, NEGATIVE));
        }
    }

    /// Requires one of `supported`. An empty string counts as missing.
    pub(crate) fn require_one_of(&self, supported: &[&str], errors: &mut Errors) {
        match self.text() {
            "" => errors.push(self.required("")),
            text if supported.contains(&text) => {}
            _ => errors.push(self.not_supported(supported)),
        }
    }
}

/// Error text of a negative number.
pub(crate) const NEGATIVE: &str = "must be greater than or equal to 0";
/// Error text of a changed immutable field.
pub(crate) const IMMUTABLE: &str = "field is immutable";

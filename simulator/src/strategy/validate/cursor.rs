//! A position in an object under validation: its field path, and its value, if any.
//!
//! Reading never fails: what is absent, or of another type than expected, reads as the zero of that type, as in the typed form the rules are written for.
//! (Objects of the wrong types do not get this far: decoding refuses them.)

use serde_json::Value;

use crate::api::{FieldError, Object, Path};

/// What has been found wrong so far, in the order it is reported in; no more than [`Errors::MOST`].
///
/// The bound is there because a text of some hundred bytes is made of a fault that takes a few bytes to make, thrice for some kinds.
#[derive(Default)]
pub(crate) struct Errors(Vec<FieldError>);

impl Errors {
    /// The most faults that are kept; later ones are left out.
    pub(crate) const MOST: usize = 10_000;

    /// The errors that `check` finds.
    pub(crate) fn of(check: impl FnOnce(&mut Self)) -> Vec<FieldError> {
        let mut errors = Self::default();
        check(&mut errors);
        errors.0
    }

    /// Adds a fault.
    pub(crate) fn push(&mut self, error: FieldError) {
        if self.0.len() < Self::MOST {
            self.0.push(error);
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
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

/// A field path and the value at it.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    path: Path,
    value: Option<&'a Value>,
    members: Option<&'a Object>,
}

impl<'a> Cursor<'a> {
    /// The whole of `object`, at the empty path.
    pub(crate) fn root(object: &'a Object) -> Self {
        Self {
            path: Path::default(),
            value: None,
            members: Some(object),
        }
    }

    /// `value`, at `path`.
    pub(crate) fn new(path: Path, value: Option<&'a Value>) -> Self {
        let value = value.filter(|v| !v.is_null());
        Self {
            path,
            value,
            members: value.and_then(Value::as_object),
        }
    }

    /// The field `name`, or the one at the dotted path `name`, below this one.
    pub(crate) fn at(&self, name: &str) -> Self {
        let mut parts = name.split('.');
        let first = parts.next().and_then(|part| self.member(part));
        Self::new(
            self.path.child(name),
            parts.fold(first, |value, part| value.and_then(|v| v.get(part))),
        )
    }

    /// This value, reported as the field `name` below the path `parent`.
    pub(crate) fn shown_as(&self, parent: &Path, name: &str) -> Self {
        Self {
            path: parent.child(name),
            ..self.clone()
        }
    }

    /// The value of the member `key`, without a path.
    pub(crate) fn member(&self, key: &str) -> Option<&'a Value> {
        self.members.and_then(|m| m.get(key)).filter(|v| !v.is_null())
    }

    /// The members of the map here, if there is one.
    pub(crate) fn members(&self) -> Option<&'a Object> {
        self.members
    }

    /// The path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The value, null where there is none.
    pub(crate) fn value(&self) -> &'a Value {
        self.value.unwrap_or(&Value::Null)
    }

    /// Whether there is a value.
    pub(crate) fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// The string here, or the empty one.
    pub(crate) fn text(&self) -> &'a str {
        self.value.and_then(Value::as_str).unwrap_or_default()
    }

    /// The integer here, or 0.
    pub(crate) fn int(&self) -> i64 {
        self.optional_int().unwrap_or_default()
    }

    /// The integer here.
    pub(crate) fn optional_int(&self) -> Option<i64> {
        self.value.and_then(Value::as_i64)
    }

    /// Whether the value here is `true`.
    pub(crate) fn is_true(&self) -> bool {
        self.value.and_then(Value::as_bool).unwrap_or_default()
    }

    /// How many items a list, or entries a map has here.
    pub(crate) fn len(&self) -> usize {
        self.value
            .and_then(Value::as_array)
            .map_or_else(|| self.members.map_or(0, Object::len), Vec::len)
    }

    /// Whether there is nothing in the list or map here.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items of the list here, each at its index.
    pub(crate) fn items(&self) -> impl Iterator<Item = Self> + use<'a> {
        let path = self.path.clone();
        self.values()
            .iter()
            .enumerate()
            .map(move |(index, value)| Self::new(path.index(index), Some(value)))
    }

    /// The items of the list here.
    pub(crate) fn values(&self) -> &'a [Value] {
        self.value
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The strings in the list here.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.values().iter().filter_map(Value::as_str)
    }

    /// The entries of the map here, in the order of their keys, each at the map's path with its key.
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

    /// That a value is required here.
    pub(crate) fn required(&self, detail: &str) -> FieldError {
        FieldError::required(&self.path, detail)
    }

    /// That `value` here is invalid.
    pub(crate) fn invalid(&self, value: impl Into<Value>, detail: impl Into<String>) -> FieldError {
        FieldError::invalid(&self.path, value, detail)
    }

    /// That the string here is none of `supported`.
    pub(crate) fn not_supported(&self, supported: &[&str]) -> FieldError {
        FieldError::not_supported(&self.path, self.text(), supported)
    }

    /// That no value is allowed here.
    pub(crate) fn forbidden(&self, detail: &str) -> FieldError {
        FieldError::forbidden(&self.path, detail)
    }

    /// Requires a string here that is not empty.
    pub(crate) fn require_text(&self, errors: &mut Errors) {
        if self.text().is_empty() {
            errors.push(self.required(""));
        }
    }

    /// Requires an integer here that is not negative.
    pub(crate) fn require_nonnegative(&self, errors: &mut Errors) {
        let value = self.int();
        if value < 0 {
            errors.push(self.invalid(value, NEGATIVE));
        }
    }

    /// Requires one of `supported` here; an empty string counts as missing.
    pub(crate) fn require_one_of(&self, supported: &[&str], errors: &mut Errors) {
        match self.text() {
            "" => errors.push(self.required("")),
            text if supported.contains(&text) => {}
            _ => errors.push(self.not_supported(supported)),
        }
    }
}

/// The wording for a number below 0.
pub(crate) const NEGATIVE: &str = "must be greater than or equal to 0";
/// The wording for a change of what may not change.
pub(crate) const IMMUTABLE: &str = "field is immutable";

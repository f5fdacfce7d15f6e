//! `_timestamp` and `_ttl`: the time of a document and its expiry.
//!
//! Guarantees: both are computed when a document is written, and are stored with it.
//! Source: Elasticsearch 1.5's `TimestampFieldMapper`, `TTLFieldMapper` and `MappingMetaData`.

use serde_json::{Map, Value, json};

use super::conflicts::Conflicts;
use super::field::{FieldType, Indexing};
use super::flags::{is_on, is_stored};
use crate::dates::{DateFormat, Fill};
use crate::durations::time;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{java_text, not_a_map, text_of};

/// Metadata field with the time of a document.
pub(crate) const TIMESTAMP: &str = "_timestamp";
/// Metadata field with the expiry of a document.
pub(crate) const TTL: &str = "_ttl";

/// Default of `_timestamp`: the time of the write.
const NOW: &str = "now";

/// Times of a document, in milliseconds since 1970. `None` if the mapping does not enable the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) timestamp: Option<i64>,
    pub(crate) expiry: Option<i64>,
}

/// The time of a write and the times in the request, in milliseconds since 1970; `ttl` is in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteTime {
    pub(crate) now: i64,
    pub(crate) timestamp: i64,
    pub(crate) ttl: Option<i64>,
}

/// Settings of `_timestamp`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TimestampSettings {
    enabled: Option<bool>,
    indexing: Indexing,
    store: bool,
    doc_values: Option<bool>,
    path: Option<String>,
    format: DateFormat,
    default: String,
    ignore_missing: Option<bool>,
}

/// Settings of `_timestamp` and `_ttl`.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimeSettings {
    pub(crate) timestamp: TimestampSettings,
    pub(super) ttl: TtlSettings,
}

/// Settings of `_ttl`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TtlSettings {
    enabled: Option<bool>,
    /// In milliseconds.
    default: Option<i64>,
}

impl Default for TimestampSettings {
    fn default() -> TimestampSettings {
        TimestampSettings {
            enabled: None,
            indexing: Indexing::NotAnalyzed,
            store: false,
            doc_values: None,
            path: None,
            format: DateFormat::default(),
            default: NOW.to_owned(),
            ignore_missing: None,
        }
    }
}

/// Returns the error for an invalid timestamp.
fn malformed(text: &str) -> SearchError {
    SearchError::new(
        500,
        Exception::TimestampParsing,
        format!("failed to parse timestamp [{text}]"),
    )
}

/// Fails for an invalid setting that the fields of `_timestamp` and `_ttl` have as others, and for a null.
fn check_settings(name: &str, definition: &Map<String, Value>) -> Result<()> {
    let mut shared = Map::new();
    for (key, value) in definition {
        match key.as_str() {
            "index" | "store" | "doc_values" | "fielddata" => drop(shared.insert(key.clone(), value.clone())),
            "enabled" if value.is_null() => return Err(SearchError::null_pointer()),
            "path" | "format" | "ignore_missing" if name == TIMESTAMP && value.is_null() => {
                return Err(SearchError::null_pointer());
            }
            _ => {}
        }
    }
    shared.insert("type".to_owned(), "date".into());
    FieldType::parse(name, &shared).map(drop)
}

/// Parses a time to live, a number or a duration, to milliseconds.
///
/// # Errors
/// An invalid duration.
pub(crate) fn ttl_millis(value: &Value) -> Result<i64> {
    match value {
        Value::String(text) if text.starts_with('-') => text.parse().map_err(|_| SearchError::number(text)),
        Value::String(text) => Ok(i64::try_from(time(text)?.as_millis()).unwrap_or(i64::MAX)),
        other => match other.as_i64() {
            Some(millis) => Ok(millis),
            None => time(&java_text(other)).map(|ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)),
        },
    }
}

/// Checks a time to live in milliseconds.
///
/// # Errors
/// One that is over.
pub(crate) fn check_ttl(ttl: Option<i64>) -> Result<()> {
    match ttl.filter(|ttl| *ttl <= 0) {
        Some(ttl) => Err(SearchError::illegal(illegal_ttl(ttl))),
        None => Ok(()),
    }
}

fn illegal_ttl(ttl: i64) -> String {
    format!("TTL value must be > 0. Illegal value provided [{ttl}]")
}

impl TimestampSettings {
    /// Merges a definition.
    pub(super) fn merge(&mut self, definition: &Value) -> Result<()> {
        let definition = definition.as_object().ok_or_else(|| not_a_map(definition))?;
        check_settings(TIMESTAMP, definition)?;
        let mut has_default = false;
        for (key, value) in definition {
            match key.as_str() {
                "enabled" => self.enabled = Some(is_on(value)),
                "store" => self.store = is_stored(value),
                "doc_values" => self.doc_values = Some(is_on(value)),
                "index" if *value == "no" => self.indexing = Indexing::No,
                "index" => self.indexing = Indexing::NotAnalyzed,
                "path" => self.path = Some(text_of(value)),
                "format" => self.format = DateFormat::new(&text_of(value))?,
                "default" if value.is_null() => return Err(malformed("default timestamp can not be set to null")),
                "default" => {
                    self.default = text_of(value);
                    has_default = true;
                }
                "fielddata" if value.get("format").is_some_and(|format| *format == "doc_values") => {
                    self.doc_values = Some(true);
                }
                "ignore_missing" => self.ignore_missing = Some(is_on(value)),
                _ => {}
            }
        }
        if has_default && self.ignore_missing == Some(false) {
            let reason = "default timestamp can not be set with ignore_missing set to false";
            return Err(malformed(reason));
        }
        Ok(())
    }

    fn is_enabled(&self) -> bool {
        self.enabled == Some(true)
    }

    /// Returns all settings as JSON.
    pub(super) fn with_defaults(&self) -> Value {
        json!({
            "enabled": self.is_enabled(),
            "index": self.indexing.name(),
            "store": self.store,
            "doc_values": self.doc_values.unwrap_or(false),
            "path": self.path,
            "format": self.format.as_str(),
            "default": self.default,
            "ignore_missing": self.ignore_missing,
            "fielddata": {},
            "doc_values_format": "default",
        })
    }

    /// Returns the settings that differ from their defaults as JSON, if any.
    pub(super) fn describe(&self) -> Option<Value> {
        let default = TimestampSettings::default();
        let mut settings = Map::new();
        let mut add = |is_set: bool, key: &str, value: Value| {
            if is_set {
                settings.insert(key.to_owned(), value);
            }
        };
        add(self.enabled.is_some(), "enabled", self.enabled.into());
        add(self.indexing != default.indexing, "index", self.indexing.name().into());
        add(self.store, "store", true.into());
        add(self.doc_values.is_some(), "doc_values", self.doc_values.into());
        add(self.path.is_some(), "path", json!(self.path));
        add(self.format != default.format, "format", self.format.as_str().into());
        add(self.default != default.default, "default", self.default.clone().into());
        add(
            self.ignore_missing.is_some(),
            "ignore_missing",
            self.ignore_missing.into(),
        );
        // On its own it is not returned.
        if settings.keys().eq(["ignore_missing"]) {
            settings.clear();
        }
        (!settings.is_empty()).then_some(Value::Object(settings))
    }

    /// Parses a date or a number of milliseconds.
    ///
    /// # Errors
    /// Any other text.
    pub(crate) fn parse(&self, text: &str) -> Result<i64> {
        let parsed = text.parse().ok().or_else(|| self.format.parse(text, Fill::Floor));
        parsed.ok_or_else(|| malformed(text))
    }

    /// Path of the time in documents.
    pub(super) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Returns the time of a document without one.
    ///
    /// # Errors
    /// A mapping that requires a time.
    pub(crate) fn default_time(&self, now: i64) -> Result<i64> {
        if self.ignore_missing == Some(false) {
            return Err(malformed("timestamp is required by mapping"));
        }
        if self.default == NOW {
            Ok(now)
        } else {
            self.parse(&self.default)
        }
    }

    /// Returns the type of the index field.
    fn field_type(&self) -> Result<FieldType> {
        let definition = json!({
            "type": "date",
            "index": self.indexing.name(),
            "store": self.store,
            "doc_values": self.doc_values.unwrap_or(false),
            "format": self.format.as_str(),
        });
        FieldType::parse(TIMESTAMP, definition.as_object().unwrap_or(&Map::new()))
    }

    /// Returns the conflicts that prevent replacing this definition by another one.
    fn conflicts(&self, other: &TimestampSettings) -> Result<Vec<String>> {
        let mut conflicts = self.field_type()?.conflicts(&other.field_type()?, TIMESTAMP);
        if other.default != self.default {
            conflicts.push(format!(
                "Cannot update default in _timestamp value. Value is {} now encountering {}",
                self.default, other.default
            ));
        }
        if self.path != other.path {
            // A path that is new is called missing.
            let merged = other.path.as_deref().filter(|_| self.path.is_some());
            conflicts.push(format!(
                "Cannot update path in _timestamp value. Value is {} path in merged mapping is {}",
                self.path.as_deref().unwrap_or("null"),
                merged.unwrap_or("missing")
            ));
        }
        Ok(conflicts)
    }
}

impl TtlSettings {
    /// Merges a definition.
    pub(super) fn merge(&mut self, definition: &Value) -> Result<()> {
        let definition = definition.as_object().ok_or_else(|| not_a_map(definition))?;
        check_settings(TTL, definition)?;
        if let Some(enabled) = definition.get("enabled") {
            self.enabled = Some(is_on(enabled));
        }
        if let Some(default) = definition.get("default").filter(|default| !default.is_null()) {
            self.default = Some(ttl_millis(default)?).filter(|ttl| *ttl != -1);
        }
        Ok(())
    }

    fn is_enabled(&self) -> bool {
        self.enabled == Some(true)
    }

    /// Returns all settings as JSON.
    pub(super) fn with_defaults(&self) -> Value {
        let default = self.default.filter(|_| self.is_enabled());
        json!({"enabled": self.is_enabled(), "default": default.unwrap_or(-1)})
    }

    /// Returns the settings that differ from their defaults as JSON, if any.
    pub(super) fn describe(&self) -> Option<Value> {
        let mut settings = Map::new();
        settings.extend(self.enabled.map(|enabled| ("enabled".to_owned(), enabled.into())));
        let default = self.default.filter(|_| self.is_enabled());
        settings.extend(default.map(|default| ("default".to_owned(), default.into())));
        (!settings.is_empty()).then_some(Value::Object(settings))
    }
}

impl TimeSettings {
    /// Merges the definitions of both fields in a type definition. Of `_timestamp` of a type that `is_known`, only
    /// `enabled` and `format` change.
    pub(super) fn merge(&mut self, definition: &Map<String, Value>, is_known: bool) -> Result<()> {
        if let Some(own) = definition.get(TIMESTAMP) {
            let known = self.timestamp.clone();
            self.timestamp.merge(own)?;
            if is_known {
                let fresh = std::mem::replace(&mut self.timestamp, known);
                self.timestamp.enabled = fresh.enabled;
                if own.get("format").is_some() {
                    self.timestamp.format = fresh.format;
                }
            }
        }
        definition.get(TTL).map_or(Ok(()), |own| self.ttl.merge(own))
    }

    /// Returns the settings that differ from their defaults as JSON, by field.
    pub(super) fn describe(&self) -> [(&'static str, Option<Value>); 2] {
        [(TIMESTAMP, self.timestamp.describe()), (TTL, self.ttl.describe())]
    }

    /// Returns whether documents of the type can expire.
    pub(crate) fn has_ttl(&self) -> bool {
        self.ttl.is_enabled()
    }

    /// Returns whether `_timestamp` is stored.
    pub(crate) fn stores_timestamp(&self) -> bool {
        self.timestamp.is_enabled() && self.timestamp.store
    }

    /// Returns the index fields that the settings require.
    pub(super) fn fields(&self) -> Result<Vec<(&'static str, FieldType)>> {
        let mut fields = Vec::new();
        if self.timestamp.is_enabled() {
            fields.push((TIMESTAMP, self.timestamp.field_type()?));
        }
        if self.has_ttl() {
            let definition = json!({"type": "long", "store": true});
            fields.push((
                TTL,
                FieldType::parse(TTL, definition.as_object().unwrap_or(&Map::new()))?,
            ));
        }
        Ok(fields)
    }

    /// Adds the conflicts that prevent replacing these settings by those in `definition`, merged as `fresh`.
    pub(super) fn add_conflicts(
        &self,
        fresh: &TimeSettings,
        definition: &Value,
        conflicts: &mut Conflicts,
    ) -> Result<()> {
        let mut given = TimestampSettings::default();
        if let Some(definition) = definition.get(TIMESTAMP) {
            given.merge(definition)?;
        }
        conflicts.add(TIMESTAMP, self.timestamp.conflicts(&given)?);
        if self.has_ttl() && !fresh.has_ttl() {
            conflicts.add(TTL, vec!["_ttl cannot be disabled once it was enabled.".to_owned()]);
        }
        Ok(())
    }

    /// Computes the times of a document. `location` names the document in errors.
    ///
    /// # Errors
    /// An invalid time to live in the document, or a document that has expired.
    pub(crate) fn of(
        &self,
        at: WriteTime,
        document: &Map<String, Value>,
        location: impl FnOnce() -> String,
    ) -> Result<Times> {
        let failed = |cause| SearchError::mapping(format!("failed to parse [{TTL}]")).caused_by(cause);
        let mut times = Times {
            timestamp: self.timestamp.is_enabled().then_some(at.timestamp),
            expiry: None,
        };
        if !self.has_ttl() {
            return Ok(times);
        }
        let ttl = match (at.ttl, document.get(TTL)) {
            (Some(ttl), _) => Some(ttl),
            (None, Some(own)) => match ttl_millis(own).map_err(failed)? {
                ttl if ttl > 0 => Some(ttl),
                ttl => return Err(SearchError::mapping(illegal_ttl(ttl))),
            },
            (None, None) => self.ttl.default.filter(|ttl| *ttl > 0),
        };
        times.expiry = ttl.map(|ttl| at.timestamp.saturating_add(ttl));
        match times.expiry {
            Some(expiry) if at.now >= expiry => Err(failed(SearchError::new(
                500,
                Exception::AlreadyExpired,
                format!(
                    "already expired {} due to expire at [{expiry}] and was processed at [{}]",
                    location(),
                    at.now
                ),
            ))),
            _ => Ok(times),
        }
    }
}

//! Fields as JSON: the settings that differ from their defaults, in normalized form.
//!
//! Source: `doXContentBody` of Elasticsearch 1.5's field mappers.

use serde_json::{Map, Value, json};

use crate::json::{java_text, leaves};

use super::Kind;
use super::contexts::Contexts;
use super::field::{FieldType, Indexing};
use super::flags::is_on;
use super::kind::{MAX_PRECISION_STEP, POINT_SETTINGS};

/// Returns the setting `fielddata` with texts by dotted names.
pub(super) fn fielddata_of(settings: Option<&Value>) -> Option<(String, Value)> {
    let mut flat = Map::new();
    leaves("", settings?, &mut |name, text| {
        drop(flat.insert(name.to_owned(), text.into()))
    });
    Some(("fielddata".to_owned(), flat.into()))
}

impl FieldType {
    /// Returns the definition of the field, normalized and without default values.
    pub(crate) fn describe(&self) -> Map<String, Value> {
        let mut definition = Map::new();
        definition.insert("type".to_owned(), json!(self.kind.name()));
        if let Some(name) = self.setting("index_name") {
            definition.insert("index_name".to_owned(), name.clone());
        }
        if self.boost != 1.0 {
            definition.insert("boost".to_owned(), json!(self.boost));
        }
        let default = FieldType::of(self.kind).indexing;
        if self.indexing != default && self.kind != Kind::Completion {
            definition.insert("index".to_owned(), json!(self.indexing.name()));
        }
        if self.store {
            definition.insert("store".to_owned(), json!(true));
        }
        if let Some(values) = self.doc_values() {
            definition.insert("doc_values".to_owned(), json!(values));
        }
        if self.has_vectors() {
            definition.extend(
                self.setting("term_vector")
                    .map(|kept| ("term_vector".to_owned(), kept.clone())),
            );
        }
        self.describe_norms(&mut definition);
        if let Some(options) = self
            .index_options()
            .filter(|options| *options != self.default_index_options())
        {
            definition.insert("index_options".to_owned(), json!(options));
        }
        self.describe_analyzers(&mut definition);
        for key in ["similarity", "copy_to", "postings_format", "doc_values_format"] {
            if let Some(value) = self.setting(key) {
                let value = match (key, value) {
                    ("copy_to", Value::Array(targets)) if targets.is_empty() => continue,
                    _ => value.clone(),
                };
                definition.insert(key.to_owned(), value);
            }
        }
        definition.extend(fielddata_of(self.setting("fielddata")));
        self.describe_kind(&mut definition);
        definition.extend(self.setting("path").map(|path| ("path".to_owned(), path.clone())));
        definition
    }

    /// Returns whether the field has doc values, if its settings say so.
    pub(super) fn doc_values(&self) -> Option<bool> {
        let format = self.setting("fielddata").and_then(|settings| settings.get("format"));
        let by_format = || format.filter(|format| **format == "doc_values").map(|_| true);
        let own = self.setting("doc_values").map(is_on).or_else(by_format);
        own.filter(|values| *values && self.kind != Kind::Boolean)
    }

    /// Returns whether the index has the numbers of the field.
    pub(crate) fn has_numbers(&self) -> bool {
        self.indexing != Indexing::No || self.doc_values() == Some(true)
    }

    /// Returns whether the index has its values: as terms, as numbers, or stored.
    pub(crate) fn is_kept(&self) -> bool {
        self.has_numbers() || self.store
    }

    /// Returns whether the field has norms. A boost gives them to a number, whose scores ignore them here.
    pub(super) fn shows_norms(&self) -> bool {
        let given = self.setting("norms").and_then(|norms| norms.get("enabled")).map(is_on);
        let given = given.or_else(|| self.setting("omit_norms").map(|omitted| !is_on(omitted)));
        match self.kind {
            Kind::String => self.norms,
            Kind::Binary => given.unwrap_or(true),
            kind => given.unwrap_or(kind.is_numeric() && self.boost != 1.0),
        }
    }

    fn describe_norms(&self, definition: &mut Map<String, Value>) {
        let loading = self.setting("norms").and_then(|norms| norms.get("loading"));
        let default = self.kind == Kind::Binary || self.kind == Kind::String && self.indexing == Indexing::Analyzed;
        let mut norms = Map::new();
        if (self.indexing != Indexing::No || self.kind == Kind::Binary) && self.shows_norms() != default {
            norms.insert("enabled".to_owned(), json!(self.shows_norms()));
        }
        norms.extend(loading.map(|loading| ("loading".to_owned(), loading.clone())));
        if !norms.is_empty() {
            definition.insert("norms".to_owned(), norms.into());
        }
    }

    /// Returns the setting `index_options`.
    fn index_options(&self) -> Option<&str> {
        self.setting("index_options").and_then(Value::as_str)
    }

    /// Returns whether postings have positions.
    pub(crate) fn has_positions(&self) -> bool {
        !matches!(
            self.index_options().unwrap_or(self.default_index_options()),
            "docs" | "freqs"
        )
    }

    /// Returns whether postings have term frequencies.
    pub(crate) fn has_frequencies(&self) -> bool {
        self.index_options().unwrap_or(self.default_index_options()) != "docs"
    }

    /// Name of the analyzer of texts in queries.
    pub(crate) fn search_analyzer_name(&self) -> String {
        let own = self.search_analyzer.as_deref().or(self.analyzer.as_deref());
        match self.indexing {
            Indexing::Analyzed => own.unwrap_or("default").to_owned(),
            Indexing::No if self.kind == Kind::String => own.unwrap_or("default").to_owned(),
            _ => "_keyword".to_owned(),
        }
    }

    fn default_index_options(&self) -> &'static str {
        if self.kind == Kind::Binary || self.kind == Kind::String && self.indexing == Indexing::Analyzed {
            "positions"
        } else {
            "docs"
        }
    }

    fn describe_analyzers(&self, definition: &mut Map<String, Value>) {
        if !matches!(self.kind, Kind::String | Kind::Completion | Kind::TokenCount) {
            return;
        }
        let mut add = |key: &str, name: &String| {
            if name != "default" || self.kind == Kind::TokenCount {
                definition.insert(key.to_owned(), json!(name));
            }
        };
        match (&self.analyzer, &self.search_analyzer) {
            (Some(index), Some(search)) if index == search => add("analyzer", index),
            (index, search) => {
                if let Some(index) = index {
                    add("index_analyzer", index);
                }
                if let Some(search) = search {
                    add("search_analyzer", search);
                }
            }
        }
    }

    /// Adds the settings of single field types.
    fn describe_kind(&self, definition: &mut Map<String, Value>) {
        let mut keep = |keys: &[&str]| {
            for key in keys {
                definition.extend(self.setting(key).map(|value| ((*key).to_owned(), value.clone())));
            }
        };
        match self.kind {
            Kind::String => {
                let quote = self.quote_analyzer.as_ref();
                let quote = quote.filter(|quote| self.search_analyzer.as_ref() != Some(*quote));
                definition.extend(quote.map(|quote| ("search_quote_analyzer".to_owned(), json!(quote))));
            }
            Kind::Binary => keep(&["compress", "compress_threshold"]),
            Kind::Completion => {
                let contexts = Contexts::parse(self.setting("context")).ok();
                let contexts = contexts.filter(|contexts| !contexts.is_empty());
                definition.extend(contexts.map(|contexts| ("context".to_owned(), contexts.describe())));
            }
            Kind::GeoPoint => keep(&["precision_step"]),
            _ => {}
        }
        definition.extend(
            self.geohash_setting()
                .map(|own| ("geohash_precision".to_owned(), json!(own))),
        );
        if self.kind == Kind::Binary && definition.contains_key("compress_threshold") {
            definition.insert("compress".to_owned(), json!(true));
        }
        if self.kind == Kind::Hash {
            definition.insert("null_value".to_owned(), json!(-1));
        }
        if !matches!(self.kind, Kind::Binary | Kind::Completion | Kind::GeoPoint | Kind::Hash) {
            definition.extend(
                self.null_value
                    .as_ref()
                    .map(|own| ("null_value".to_owned(), self.described_null(own))),
            );
            let included = self.setting("include_in_all").filter(|_| self.kind != Kind::Boolean);
            definition.extend(included.map(|own| ("include_in_all".to_owned(), json!(is_on(own)))));
        }
        let number = |key: &str| self.whole_number(key);
        if self.kind == Kind::String {
            for (key, default) in [("position_offset_gap", 0), ("ignore_above", -1)] {
                if let Some(own) = number(key).filter(|own| *own != default) {
                    definition.insert(key.to_owned(), json!(own));
                }
            }
        }
        if self.kind.is_numeric() {
            for key in ["ignore_malformed", "coerce"] {
                definition.extend(self.setting(key).map(|value| (key.to_owned(), json!(is_on(value)))));
            }
            // The default of a hash is that of a long, although it has another one.
            let default = match self.kind {
                Kind::Hash => Kind::Long.precision(),
                kind => kind.precision(),
            };
            let default = default.map(|(_, step)| step);
            if let Some(own) = self.precision_step().filter(|own| Some(*own) != default) {
                definition.insert("precision_step".to_owned(), json!(own));
            }
        }
        match self.kind {
            Kind::Date => {
                definition.insert("format".to_owned(), json!(self.format.as_str()));
                for (key, default) in [("numeric_resolution", "milliseconds"), ("locale", "")] {
                    let own = self.setting(key).filter(|own| **own != *default);
                    definition.extend(own.map(|own| (key.to_owned(), own.clone())));
                }
            }
            Kind::GeoPoint => {
                for (key, default) in POINT_SETTINGS {
                    let own = self.setting(key).map(is_on).filter(|own| *own != default);
                    definition.extend(own.map(|own| (key.to_owned(), json!(own))));
                }
                if definition.contains_key("geohash_prefix") {
                    definition.insert("geohash".to_owned(), json!(true));
                }
            }
            Kind::Completion => {
                for (key, default) in [
                    ("analyzer", json!("simple")),
                    ("payloads", json!(false)),
                    ("preserve_separators", json!(true)),
                    ("preserve_position_increments", json!(true)),
                    ("max_input_length", json!(50)),
                ] {
                    let own = self.setting(key).cloned();
                    definition.entry(key).or_insert(own.unwrap_or(default));
                }
            }
            _ => {}
        }
    }

    /// Returns the replacement of null values in the type of the field.
    fn described_null(&self, own: &Value) -> Value {
        match self.kind {
            Kind::Boolean => json!(is_on(own)),
            Kind::String | Kind::Date | Kind::Ip => json!(java_text(own)),
            _ => own
                .as_str()
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_else(|| own.clone()),
        }
    }

    /// Returns a setting as a whole number.
    fn whole_number(&self, key: &str) -> Option<i64> {
        self.setting(key)
            .and_then(|value| value.as_i64().or_else(|| value.as_str()?.parse().ok()))
    }

    /// Returns the precision step of a number. A step of all bits or more is [`MAX_PRECISION_STEP`].
    pub(super) fn precision_step(&self) -> Option<u32> {
        let (_, default) = self.kind.precision()?;
        let own = self.whole_number("precision_step").map(|own| {
            let own = u32::try_from(own).unwrap_or(MAX_PRECISION_STEP);
            if own < self.kind.bits() {
                own
            } else {
                MAX_PRECISION_STEP
            }
        });
        Some(own.unwrap_or(default))
    }

    /// Returns the settings of a completion field that conflict with those of another one.
    fn completion_conflicts(&self, other: &FieldType) -> Vec<String> {
        let settings = [
            ("payloads", false, "payload values"),
            (
                "preserve_position_increments",
                true,
                "'preserve_position_increments' values",
            ),
            ("preserve_separators", true, "'preserve_separators' values"),
        ];
        let is_different = |(key, default, _): &&(&str, bool, &str)| {
            let own = |field: &FieldType| field.setting(key).map_or(*default, is_on);
            self.kind == Kind::Completion && own(self) != own(other)
        };
        let different = settings.iter().filter(is_different);
        different.map(|(_, _, what)| format!("has different {what}")).collect()
    }

    /// Returns the settings of a point that conflict with those of another one.
    fn point_conflicts(&self, other: &FieldType) -> Vec<String> {
        let is_point = self.kind == Kind::GeoPoint;
        let flags = POINT_SETTINGS.iter().filter(|(key, default)| {
            let own = |field: &FieldType| field.setting(key).map_or(*default, is_on);
            own(self) != own(other)
        });
        let flags = flags.map(|(key, _)| *key);
        let given = ["geohash_precision", "precision_step"].into_iter();
        let given = given.filter(|key| self.setting(key) != other.setting(key));
        let different = flags.chain(given).filter(|_| is_point);
        different.map(|key| format!("has different {key}")).collect()
    }

    /// Returns the conflicts that prevent replacing this definition by another one.
    pub(super) fn conflicts(&self, other: &FieldType, name: &str) -> Vec<String> {
        let is_indexed = |field: &FieldType| field.indexing != Indexing::No;
        // Strings that are not indexed are tokenized.
        let is_tokenized = |field: &FieldType| match field.indexing {
            Indexing::No => field.kind == Kind::String,
            own => own == Indexing::Analyzed,
        };
        let has_values = |field: &FieldType| field.doc_values() == Some(true);
        let is_keyword = |field: &FieldType| field.kind == Kind::String && field.indexing == Indexing::NotAnalyzed;
        let analyzer = |field: &FieldType| match &field.analyzer {
            _ if is_keyword(field) => Some("_keyword".to_owned()),
            None if field.kind == Kind::Completion => Some("simple".to_owned()),
            _ if field.kind.is_numeric() => Some(format!("_{}", field.precision_step().unwrap_or_default())),
            own => own.clone().filter(|name| name != "default"),
        };
        let vectors = |field: &FieldType, part: &str| {
            let kept = field.setting("term_vector").and_then(Value::as_str).unwrap_or("no");
            kept != "no" && kept.contains(part)
        };
        let checks = [
            (
                is_indexed(self) != is_indexed(other) || is_tokenized(self) != is_tokenized(other),
                "has different index values",
            ),
            (self.store != other.store, "has different store values"),
            (
                !has_values(self) && has_values(other),
                "has different doc_values values",
            ),
            (
                is_indexed(self) && !self.shows_norms() && other.shows_norms(),
                "cannot enable norms (`norms.enabled`)",
            ),
            (
                is_tokenized(self) != is_tokenized(other),
                "has different tokenize values",
            ),
            (
                vectors(self, "") != vectors(other, ""),
                "has different store_term_vector values",
            ),
            (
                vectors(self, "offsets") != vectors(other, "offsets"),
                "has different store_term_vector_offsets values",
            ),
            (
                vectors(self, "positions") != vectors(other, "positions"),
                "has different store_term_vector_positions values",
            ),
            (
                vectors(self, "payloads") != vectors(other, "payloads"),
                "has different store_term_vector_payloads values",
            ),
            (analyzer(self) != analyzer(other), "has different index_analyzer"),
            (
                self.setting("index_name") != other.setting("index_name"),
                "has different index_name",
            ),
            (
                self.setting("similarity") != other.setting("similarity"),
                "has different similarity",
            ),
        ];
        let found = checks.into_iter().filter(|(conflicts, _)| *conflicts);
        let found = found
            .map(|(_, what)| what.to_owned())
            .chain(self.point_conflicts(other));
        let found = found.chain(self.completion_conflicts(other));
        found.map(|what| format!("mapper [{name}] {what}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn parsed(definition: &Value) -> FieldType {
        FieldType::parse("f", definition.as_object().unwrap()).unwrap()
    }

    #[rstest]
    #[case(json!({"type": "string", "store": "no", "index": "analyzed", "foo": 1}), json!({"type": "string"}))]
    #[case(
        json!({"type": "string", "norms": {"enabled": true}, "index": "not_analyzed"}),
        json!({"type": "string", "index": "not_analyzed", "norms": {"enabled": true}})
    )]
    #[case(
        json!({"type": "string", "omit_norms": true, "analyzer": "default"}),
        json!({"type": "string", "norms": {"enabled": false}})
    )]
    #[case(
        json!({"type": "string", "index_analyzer": "a", "search_analyzer": "b"}),
        json!({"type": "string", "index_analyzer": "a", "search_analyzer": "b"})
    )]
    #[case(
        json!({"type": "string", "copy_to": "x", "fielddata": {"filter": {"min": 2}}}),
        json!({"type": "string", "copy_to": ["x"], "fielddata": {"filter.min": "2"}})
    )]
    #[case(
        json!({"type": "string", "index_options": "docs", "store": "yes"}),
        json!({"type": "string", "index_options": "docs", "store": true})
    )]
    #[case(json!({"type": "boolean", "index": "not_analyzed"}), json!({"type": "boolean"}))]
    #[case(
        json!({"type": "long", "precision_step": 16, "ignore_malformed": "true", "index": "no"}),
        json!({"type": "long", "index": "no", "ignore_malformed": true})
    )]
    #[case(
        json!({"type": "geo_point", "geohash_prefix": true, "validate": true}),
        json!({"type": "geo_point", "geohash_prefix": true, "geohash": true})
    )]
    fn definitions_are_normalized(#[case] given: Value, #[case] expected: Value) {
        assert_eq!(Value::Object(parsed(&given).describe()), expected);
    }

    #[test]
    fn unchangeable_settings_conflict() {
        let [text, whole] =
            ["analyzed", "not_analyzed"].map(|index| parsed(&json!({"type": "string", "index": index})));
        let conflicts = [
            "mapper [f] has different index values",
            "mapper [f] has different tokenize values",
            "mapper [f] has different index_analyzer",
        ];
        assert_eq!(text.conflicts(&whole, "f"), conflicts);
        assert_eq!(whole.conflicts(&text, "f").len(), 4);
        assert!(
            text.conflicts(&parsed(&json!({"type": "string", "ignore_above": 5})), "f")
                .is_empty()
        );
    }
}

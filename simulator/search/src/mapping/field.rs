//! Fields: their types and settings.

use serde_json::{Map, Value, json};

use super::Kind;
use super::flags::{is_on, is_stored};
use super::locale::locale;
use super::sortable::{sortable, unsortable};
use crate::analysis::Analyzer;
use crate::dates::DateFormat;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{self, java_text, number_of};
use crate::sizes::{byte_size, size};

/// Returns the name of the type in the definition of a field.
pub(super) fn type_of(definition: &Map<String, Value>) -> Option<String> {
    definition.get("type").filter(|kind| !kind.is_null()).map(java_text)
}

/// The setting `index` of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indexing {
    /// Split into terms.
    Analyzed,
    /// As one term.
    NotAnalyzed,
    /// Not indexed.
    No,
}

impl Indexing {
    /// The value of the setting.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Indexing::Analyzed => "analyzed",
            Indexing::NotAnalyzed => "not_analyzed",
            Indexing::No => "no",
        }
    }

    /// Parses the setting.
    pub(super) fn parse(name: &Value) -> Option<Indexing> {
        let all = [Indexing::Analyzed, Indexing::NotAnalyzed, Indexing::No];
        all.into_iter().find(|own| name.as_str() == Some(own.name()))
    }
}

/// Settings that a later definition replaces, or resets if it has none.
const REPLACED: [&str; 8] = [
    "boost",
    "copy_to",
    "null_value",
    "include_in_all",
    "ignore_above",
    "precision_step",
    "format",
    "max_input_length",
];
/// Last position at which a value begins after a gap.
const MAX_POSITION: u32 = i32::MAX as u32;
/// Settings that a later definition replaces if it has them.
const ADDED: [&str; 3] = ["ignore_malformed", "coerce", "fielddata"];

/// Setting with the analyzer at query time.
const SEARCH_ANALYZER: &str = "search_analyzer";

/// The type of a field and its settings.
#[derive(Clone, Debug)]
pub(crate) struct FieldType {
    /// The type of its values.
    pub(crate) kind: Kind,
    /// How it is indexed.
    pub(crate) indexing: Indexing,
    /// The analyzer at index time. Default: that of the index.
    pub(crate) analyzer: Option<String>,
    /// The analyzer at query time. Default: the one at index time.
    pub(crate) search_analyzer: Option<String>,
    /// The analyzer of quoted texts in query strings. Default: that of other texts.
    pub(crate) quote_analyzer: Option<String>,
    /// The format of a date field.
    pub(crate) format: DateFormat,
    /// Whether values are added to `_all`.
    pub(crate) include_in_all: bool,
    /// Whether field length affects scores.
    pub(crate) norms: bool,
    /// Replacement of null values.
    pub(crate) null_value: Option<Value>,
    /// Maximum length of an indexed string, in characters.
    pub(crate) ignore_above: Option<usize>,
    /// Number of positions between two values (`position_offset_gap`).
    gap: u32,
    /// Whether malformed values are ignored.
    pub(crate) ignore_malformed: bool,
    /// Whether texts and fractions are converted to numbers.
    pub(crate) coerces: bool,
    /// Whether `fields` can return the field even if `_source` is disabled.
    pub(crate) store: bool,
    /// Factor for scores of the field.
    pub(crate) boost: f32,
    /// Whether field data has equal numbers of a document: as often as doc values have them, but once as terms.
    pub(crate) repeats_numbers: bool,
    settings: Map<String, Value>,
}

impl FieldType {
    /// Returns a field of this type with default settings.
    pub(crate) fn of(kind: Kind) -> FieldType {
        FieldType {
            kind,
            indexing: if kind == Kind::Binary {
                Indexing::No
            } else if matches!(kind, Kind::String | Kind::Completion) {
                Indexing::Analyzed
            } else {
                Indexing::NotAnalyzed
            },
            analyzer: None,
            search_analyzer: None,
            quote_analyzer: None,
            format: DateFormat::default(),
            include_in_all: !matches!(
                kind,
                Kind::Binary | Kind::GeoPoint | Kind::Completion | Kind::TokenCount | Kind::Hash
            ),
            norms: kind == Kind::String,
            null_value: None,
            ignore_above: None,
            gap: 0,
            ignore_malformed: false,
            coerces: true,
            store: false,
            boost: 1.0,
            repeats_numbers: false,
            settings: Map::new(),
        }
    }

    /// Returns a date field created by date detection, with the detected format.
    pub(crate) fn detected_date(format: DateFormat) -> FieldType {
        let mut field = FieldType::of(Kind::Date);
        field.settings.insert("format".to_owned(), json!(format.as_str()));
        field.format = format;
        field
    }

    /// Parses a field definition.
    ///
    /// # Errors
    /// An unknown type or an invalid setting.
    pub(crate) fn parse(name: &str, definition: &Map<String, Value>) -> Result<FieldType> {
        let type_name = type_of(definition);
        let type_name = type_name.as_deref().unwrap_or("string");
        let kind = Kind::named(type_name).ok_or_else(|| {
            SearchError::mapping(format!("No handler for type [{type_name}] declared on field [{name}]"))
        })?;
        let mut field = FieldType::of(kind);
        let mut settings: Vec<(&String, &Value)> = definition.iter().collect();
        settings.sort_by_key(|(key, _)| kind.order_of(key));
        for (key, value) in settings {
            let analyzer = || Some(java_text(value));
            if value.is_null() && kind.needs_value(key) {
                return Err(SearchError::null_pointer());
            }
            if !kind.has_setting(key) {
                return Err(SearchError::mapping(format!("Unknown field [{key}]")));
            }
            field.check_setting(name, key, value)?;
            match key.as_str() {
                "index" => {
                    field.indexing = Indexing::parse(value).ok_or_else(|| {
                        SearchError::mapping(format!(
                            "Wrong value for index [{}] for field [{name}]",
                            java_text(value)
                        ))
                    })?;
                }
                // The last one counts, except that the first search analyzer is that of quoted texts.
                "analyzer" => {
                    field.analyzer = analyzer();
                    field.set_search_analyzer(analyzer());
                    continue;
                }
                "index_analyzer" => {
                    field.analyzer = analyzer();
                    continue;
                }
                "search_analyzer" => {
                    field.set_search_analyzer(analyzer());
                    continue;
                }
                "search_quote_analyzer" if kind == Kind::String => {
                    field.quote_analyzer = analyzer();
                    continue;
                }
                "format" if kind == Kind::Date => {
                    field.format = DateFormat::new(&java_text(value))?;
                }
                "include_in_all" => field.include_in_all = is_on(value),
                "null_value" => field.null_value = Some(value.clone()),
                "ignore_above" => field.ignore_above = value.as_u64().and_then(|max| usize::try_from(max).ok()),
                "position_offset_gap" => {
                    let gap = json::integer(value).map(u32::try_from);
                    field.gap = gap.and_then(Result::ok).unwrap_or(0);
                }
                "ignore_malformed" => field.ignore_malformed = is_on(value),
                "coerce" => field.coerces = is_on(value),
                "store" => field.store = is_stored(value),
                "boost" => {
                    field.boost = number_of(value).unwrap_or(1.0) as f32;
                }
                "copy_to" => {
                    field.settings.insert(key.clone(), copy_targets(value));
                    continue;
                }
                "index_name" | "locale" => {
                    let text = java_text(value);
                    let text = if key == "locale" { locale(&text)? } else { text };
                    field.settings.insert(key.clone(), text.into());
                    continue;
                }
                "payloads" | "preserve_separators" | "preserve_position_increments" => {
                    let own = java_text(value).eq_ignore_ascii_case("true");
                    field.settings.insert(key.clone(), own.into());
                    continue;
                }
                "compress_threshold" if kind == Kind::Binary => {
                    field.settings.insert(key.clone(), json!(size_of(value)?));
                    continue;
                }
                "path" if kind.has_multi_fields() && *value == "just_name" => {}
                "type" | "fields" | "path" | "properties" | "normalize_lon" => continue,
                // Settings without effect, such as `doc_values` and `precision_step`, are only stored and returned.
                _ => {}
            }
            field.settings.insert(key.clone(), value.clone());
        }
        field.set_vectors();
        field.repeats_numbers = field.doc_values() == Some(true);
        if kind == Kind::Binary {
            // Binary fields have neither boosts nor similarities.
            field.boost = 1.0;
            field.settings.remove("similarity");
        }
        if kind == Kind::GeoPoint {
            (field.indexing, field.boost) = (Indexing::NotAnalyzed, 1.0);
        }
        let norms = definition
            .get("norms")
            .and_then(|norms| norms.get("enabled"))
            .map(is_on);
        let norms = norms.or_else(|| definition.get("omit_norms").map(|omitted| !is_on(omitted)));
        field.norms = kind == Kind::String && norms.unwrap_or(field.indexing == Indexing::Analyzed);
        if kind == Kind::TokenCount && field.analyzer.is_none() {
            let reason = format!("Analyzer must be set for field [{name}] but wasn't.");
            return Err(SearchError::mapping(reason));
        }
        let analyzers = [
            ("index_analyzer", &field.analyzer),
            (SEARCH_ANALYZER, &field.search_analyzer),
            ("search_quote_analyzer", &field.quote_analyzer),
        ];
        let given = analyzers
            .into_iter()
            .filter_map(|(key, name)| Some((key.to_owned(), json!(name.as_ref()?))));
        field.settings.extend(given);
        Ok(field)
    }

    /// Replaces the older settings of term vectors, one for each part, by the one for all.
    fn set_vectors(&mut self) {
        let is_kept = |part: &str| self.setting(&format!("store_term_vector{part}")).is_some_and(is_on);
        let parts = ["positions", "offsets", "payloads"]
            .into_iter()
            .filter(|part| is_kept(&format!("_{part}")));
        let parts: Vec<&str> = parts.collect();
        let kept = match parts.is_empty() {
            true if is_kept("s") => "yes".to_owned(),
            true => return,
            false => format!("with_{}", parts.join("_")),
        };
        self.settings
            .entry("term_vector")
            .or_insert_with(|| Value::String(kept));
    }

    fn set_search_analyzer(&mut self, name: Option<String>) {
        if self.kind == Kind::String && self.quote_analyzer.is_none() {
            self.quote_analyzer.clone_from(&name);
        }
        self.search_analyzer = name;
    }

    /// Merges a later definition of the field: only some settings can change.
    ///
    /// # Errors
    /// An invalid setting.
    pub(super) fn merged(&self, name: &str, fresh: &FieldType) -> Result<FieldType> {
        if matches!(self.kind, Kind::Binary | Kind::GeoPoint) {
            return Ok(self.clone());
        }
        let mut definition = self.definition();
        for key in REPLACED {
            definition.remove(key);
        }
        // Norms can be switched off, but not on. How they are loaded is always replaced.
        let has_norms = self.shows_norms() && fresh.shows_norms();
        for key in ["norms", "omit_norms"] {
            definition.remove(key);
        }
        if self.setting("norms").or(self.setting("omit_norms")).is_some() || !fresh.shows_norms() {
            definition.insert("norms".to_owned(), json!({"enabled": has_norms}));
        }
        for key in REPLACED.iter().chain(&ADDED) {
            let is_empty = |value: &&Value| value.as_array().is_some_and(Vec::is_empty);
            if let Some(value) = fresh.setting(key).filter(|value| !is_empty(value)) {
                definition.insert((*key).to_owned(), value.clone());
            }
        }
        if let Some(name) = &fresh.search_analyzer {
            definition.insert(SEARCH_ANALYZER.to_owned(), json!(name));
        }
        FieldType::parse(name, &definition)
    }

    /// Returns the definition that [`FieldType::parse`] restores the field from.
    pub(crate) fn definition(&self) -> Map<String, Value> {
        let mut definition = Map::new();
        definition.insert("type".to_owned(), json!(self.kind.name()));
        definition.extend(self.settings.clone());
        definition
    }

    /// Returns a setting as it was defined.
    pub(crate) fn setting(&self, name: &str) -> Option<&Value> {
        self.settings.get(name)
    }

    /// Sets `include_in_all`.
    pub(super) fn set_in_all(&mut self, included: bool) {
        self.settings.insert("include_in_all".to_owned(), included.into());
        self.include_in_all = included;
    }

    /// Returns the full names of the fields that its values are copied to.
    pub(crate) fn copy_targets(&self) -> impl Iterator<Item = &str> {
        let targets = self.setting("copy_to").and_then(Value::as_array);
        targets.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the position at which a value begins after one that ends at a position. A gap of the field replaces that
    /// of the analyzer.
    pub(crate) fn after_gap(&self, analyzer: &Analyzer, end: u32) -> u32 {
        let gap = if self.gap > 0 { self.gap } else { analyzer.gap() };
        end.saturating_add(gap).min(MAX_POSITION.max(end))
    }

    /// Returns whether quoted texts have an analyzer, but others have none. Elasticsearch fails to write that.
    pub(super) fn analyzes_quotes_only(&self) -> bool {
        self.quote_analyzer.is_some()
            && self.search_analyzer.is_none()
            && self.indexing == Indexing::Analyzed
            && self.gap == 0
    }

    /// Returns whether term vectors are stored.
    pub(crate) fn has_vectors(&self) -> bool {
        self.vectors().is_some_and(|kept| kept != "no")
    }

    /// Returns whether term vectors are stored with a part: `positions` or `offsets`.
    pub(crate) fn has_in_vectors(&self, part: &str) -> bool {
        self.vectors().is_some_and(|kept| kept.contains(part))
    }

    /// Returns whether term vectors are stored with positions and offsets.
    pub(crate) fn has_offsets_in_vectors(&self) -> bool {
        self.has_in_vectors("positions") && self.has_in_vectors("offsets")
    }

    fn vectors(&self) -> Option<&str> {
        self.settings.get("term_vector")?.as_str()
    }

    /// Returns whether postings have offsets.
    pub(crate) fn has_offsets_in_postings(&self) -> bool {
        self.settings.get("index_options").and_then(Value::as_str) == Some("offsets")
    }

    /// Encodes the number in `text` as an integer; encoded values compare as the numbers do.
    ///
    /// # Errors
    /// Not a number, or out of the range of the type.
    pub(crate) fn encode_text(&self, text: &str) -> Result<i64> {
        let refuse = || SearchError::number(text);
        Ok(match self.kind {
            Kind::Long | Kind::Hash => text.parse().map_err(|_| refuse())?,
            Kind::Integer | Kind::TokenCount => i64::from(text.parse::<i32>().map_err(|_| refuse())?),
            Kind::Short => i64::from(text.parse::<i16>().map_err(|_| out_of_range(text))?),
            Kind::Byte => i64::from(text.parse::<i8>().map_err(|_| out_of_range(text))?),
            Kind::Double => sortable(number(text).ok_or_else(|| SearchError::float(text))?),
            Kind::Float => sortable(f64::from(number(text).ok_or_else(|| SearchError::float(text))? as f32)),
            Kind::Ip => i64::from(u32::from(text.parse::<std::net::Ipv4Addr>().map_err(|_| {
                SearchError::illegal(format!("failed to parse ip [{text}], not a valid ip address"))
            })?)),
            _ => return Err(refuse()),
        })
    }

    /// Converts a number of a date field to milliseconds, by `numeric_resolution`.
    pub(crate) fn millis_of(&self, number: i64) -> i64 {
        let resolution = self.setting("numeric_resolution").and_then(Value::as_str);
        match resolution.map(str::to_ascii_lowercase).as_deref() {
            Some("nanoseconds") => number / 1_000_000,
            Some("microseconds") => number / 1_000,
            Some("seconds") => number.saturating_mul(1_000),
            Some("minutes") => number.saturating_mul(60_000),
            Some("hours") => number.saturating_mul(3_600_000),
            Some("days") => number.saturating_mul(86_400_000),
            _ => number,
        }
    }

    /// Decodes a value of [`FieldType::encode_text`].
    pub(crate) fn decode(&self, encoded: i64) -> f64 {
        if self.kind.is_floating() {
            unsortable(encoded)
        } else {
            encoded as f64
        }
    }
}

/// Returns a size in bytes with its largest unit.
pub(super) fn size_of(value: &Value) -> Result<String> {
    let text = java_text(value);
    let refused = || SearchError::parse(format!("Failed to parse [{text}]")).caused_by(SearchError::number(&text));
    byte_size(&text).map(size).ok_or_else(refused)
}

/// Returns the targets of `copy_to` as a list of texts.
fn copy_targets(value: &Value) -> Value {
    let targets = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    targets.iter().map(|target| json!(java_text(target))).collect()
}

/// Returns the error for a text that is not a valid `byte` or `short`.
pub(crate) fn out_of_range(text: &str) -> SearchError {
    if text.parse::<i32>().is_err() {
        return SearchError::number(text);
    }
    let reason = format!("Value out of range. Value:\"{text}\" Radix:10");
    SearchError::new(400, Exception::NumberFormat, reason)
}

/// Parses a floating-point number as Java does, without the names that only Rust has.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    if matches!(text.trim_start_matches(['+', '-']), "NaN" | "Infinity") {
        return text.parse().ok();
    }
    if text
        .bytes()
        .all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'-' | b'+' | b'e' | b'E'))
    {
        text.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_do_not_overflow_after_gaps() {
        let gap = |gap: u32| FieldType {
            gap,
            ..FieldType::of(Kind::String)
        };
        let analyzer = Analyzer::standard().with_gap(5);
        assert_eq!(gap(10).after_gap(&analyzer, 2), 12);
        assert_eq!(gap(0).after_gap(&analyzer, 2), 7);
        assert_eq!(gap(u32::MAX).after_gap(&analyzer, 2), MAX_POSITION);
        assert_eq!(gap(1).after_gap(&analyzer, MAX_POSITION + 7), MAX_POSITION + 7);
    }

    #[test]
    fn numbers_out_of_range_are_errors() {
        assert!(FieldType::of(Kind::Byte).encode_text("128").is_err());
        assert!(FieldType::of(Kind::Long).encode_text("6004.5").is_err());
        assert!(FieldType::of(Kind::Double).encode_text("nan").is_err());
    }
}

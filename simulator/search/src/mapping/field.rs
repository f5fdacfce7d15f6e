//! The type of one field and its settings.

use serde_json::{Map, Value, json};

use crate::dates::DateFormat;
use crate::error::{Result, SearchError};

/// What values a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text, analyzed or whole.
    String,
    /// 64 bits, signed.
    Long,
    /// 32 bits, signed.
    Integer,
    /// 16 bits, signed.
    Short,
    /// 8 bits, signed.
    Byte,
    /// 64 bits, floating.
    Double,
    /// 32 bits, floating.
    Float,
    /// Milliseconds since 1970.
    Date,
    /// True or false.
    Boolean,
    /// An IPv4 address.
    Ip,
    /// Bytes, stored and never indexed.
    Binary,
    /// A point on the earth.
    GeoPoint,
    /// What is suggested for the beginning of a text.
    Completion,
    /// The number of terms of a text.
    TokenCount,
    /// The hash of a text.
    Hash,
}

impl Kind {
    /// The kind that a mapping names.
    pub(crate) fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "string" | "multi_field" => Kind::String,
            "long" => Kind::Long,
            "integer" => Kind::Integer,
            "short" => Kind::Short,
            "byte" => Kind::Byte,
            "double" => Kind::Double,
            "float" => Kind::Float,
            "date" => Kind::Date,
            "boolean" => Kind::Boolean,
            "ip" => Kind::Ip,
            "binary" => Kind::Binary,
            "geo_point" => Kind::GeoPoint,
            "completion" => Kind::Completion,
            "token_count" => Kind::TokenCount,
            "murmur3" => Kind::Hash,
            _ => return None,
        })
    }

    /// The name that a mapping gives the kind.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::Long => "long",
            Kind::Integer => "integer",
            Kind::Short => "short",
            Kind::Byte => "byte",
            Kind::Double => "double",
            Kind::Float => "float",
            Kind::Date => "date",
            Kind::Boolean => "boolean",
            Kind::Ip => "ip",
            Kind::Binary => "binary",
            Kind::GeoPoint => "geo_point",
            Kind::Completion => "completion",
            Kind::TokenCount => "token_count",
            Kind::Hash => "murmur3",
        }
    }

    /// True for what is compared as a number.
    pub(crate) fn is_numeric(self) -> bool {
        !matches!(
            self,
            Kind::String | Kind::Boolean | Kind::Binary | Kind::GeoPoint | Kind::Completion
        )
    }

    /// Name of a numeric kind in analyzers, and its precision step.
    pub(crate) fn precision(self) -> Option<(&'static str, u32)> {
        Some(match self {
            Kind::Long | Kind::Hash => ("long", 16),
            Kind::Integer | Kind::TokenCount => ("int", 8),
            Kind::Short => ("short", 8),
            Kind::Byte => ("byte", 2_147_483_647),
            Kind::Double => ("double", 16),
            Kind::Float => ("float", 8),
            Kind::Date => ("date", 16),
            Kind::Ip => ("ip", 16),
            Kind::String | Kind::Boolean | Kind::Binary | Kind::GeoPoint | Kind::Completion => return None,
        })
    }

    /// True for what has a fractional part.
    pub(crate) fn is_floating(self) -> bool {
        matches!(self, Kind::Double | Kind::Float)
    }
}

/// How a string field is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indexing {
    /// Cut into terms.
    Analyzed,
    /// As one term.
    NotAnalyzed,
    /// Not at all.
    No,
}

impl Indexing {
    /// The name in a mapping.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Indexing::Analyzed => "analyzed",
            Indexing::NotAnalyzed => "not_analyzed",
            Indexing::No => "no",
        }
    }

    /// The way of that name in a mapping.
    pub(super) fn parse(name: &Value) -> Option<Indexing> {
        let all = [Indexing::Analyzed, Indexing::NotAnalyzed, Indexing::No];
        all.into_iter().find(|own| name.as_str() == Some(own.name()))
    }
}

/// A field's kind and settings.
#[derive(Clone, Debug)]
pub(crate) struct FieldType {
    /// What values it holds.
    pub(crate) kind: Kind,
    /// How it is indexed.
    pub(crate) indexing: Indexing,
    /// The analyzer at index time, if not the default.
    pub(crate) analyzer: Option<String>,
    /// The analyzer at query time, if not that of index time.
    pub(crate) search_analyzer: Option<String>,
    /// The format of dates.
    pub(crate) format: DateFormat,
    /// Whether its values go into `_all`.
    pub(crate) include_in_all: bool,
    /// Whether the length of a value counts in scores.
    pub(crate) norms: bool,
    /// What takes the place of null.
    pub(crate) null_value: Option<Value>,
    /// The longest string that is indexed, in characters.
    pub(crate) ignore_above: Option<usize>,
    /// Whether a value of another kind is passed over.
    pub(crate) ignore_malformed: bool,
    /// Whether it is handed out by `fields` even without `_source`.
    pub(crate) store: bool,
    /// A factor of every score in the field.
    pub(crate) boost: f32,
    settings: Map<String, Value>,
}

impl FieldType {
    /// A field of `kind` with every setting at its default.
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
            format: DateFormat::default(),
            include_in_all: !matches!(
                kind,
                Kind::Binary | Kind::GeoPoint | Kind::Completion | Kind::TokenCount | Kind::Hash
            ),
            norms: kind == Kind::String,
            null_value: None,
            ignore_above: None,
            ignore_malformed: false,
            store: false,
            boost: 1.0,
            settings: Map::new(),
        }
    }

    /// A date field that detection made, in the format that fitted.
    pub(crate) fn detected_date(format: DateFormat) -> FieldType {
        let mut field = FieldType::of(Kind::Date);
        field.settings.insert("format".to_owned(), json!(format.as_str()));
        field.format = format;
        field
    }

    /// The field that a mapping describes.
    ///
    /// # Errors
    /// A type that is not there, or a setting that is not understood.
    pub(crate) fn parse(name: &str, definition: &Map<String, Value>) -> Result<FieldType> {
        let type_name = definition.get("type").and_then(Value::as_str).unwrap_or("string");
        let kind = Kind::named(type_name).ok_or_else(|| {
            SearchError::mapping(format!("No handler for type [{type_name}] declared on field [{name}]"))
        })?;
        let mut field = FieldType::of(kind);
        for (key, value) in definition {
            let text = || value.as_str().map(str::to_owned);
            match key.as_str() {
                "index" => {
                    field.indexing = Indexing::parse(value).ok_or_else(|| {
                        SearchError::mapping(format!(
                            "Wrong value for index [{}] for field [{name}]",
                            value.as_str().map_or_else(|| value.to_string(), str::to_owned)
                        ))
                    })?;
                }
                "analyzer" => {
                    (field.analyzer, field.search_analyzer) = (text(), field.search_analyzer.take().or_else(text))
                }
                "index_analyzer" => field.analyzer = text(),
                "search_analyzer" => field.search_analyzer = text(),
                "format" if kind == Kind::Date => {
                    field.format = text()
                        .map(|format| DateFormat::new(&format))
                        .transpose()?
                        .unwrap_or_default();
                }
                "include_in_all" => field.include_in_all = truth(value),
                "null_value" => field.null_value = Some(value.clone()),
                "ignore_above" => field.ignore_above = value.as_u64().and_then(|most| usize::try_from(most).ok()),
                "ignore_malformed" => field.ignore_malformed = truth(value),
                "store" => field.store = truth(value),
                "boost" => field.boost = value.as_f64().unwrap_or(1.0) as f32,
                "type" | "fields" | "path" | "properties" => continue,
                // Settings that change nothing of what is answered (such as doc_values or precision_step) are kept and echoed.
                _ => {}
            }
            field.settings.insert(key.clone(), value.clone());
        }
        let norms = definition
            .get("norms")
            .and_then(|norms| norms.get("enabled"))
            .map(truth);
        let norms = norms.or_else(|| definition.get("omit_norms").map(|omitted| !truth(omitted)));
        field.norms = kind == Kind::String && norms.unwrap_or(field.indexing == Indexing::Analyzed);
        field.check(name, definition)?;
        Ok(field)
    }

    /// The definition that [`FieldType::parse`] makes the same field of.
    pub(crate) fn definition(&self) -> Map<String, Value> {
        let mut definition = Map::new();
        definition.insert("type".to_owned(), json!(self.kind.name()));
        definition.extend(self.settings.clone());
        definition
    }

    /// A setting as the mapping has it.
    pub(crate) fn setting(&self, name: &str) -> Option<&Value> {
        self.settings.get(name)
    }

    /// Returns whether term vectors are kept.
    pub(crate) fn has_vectors(&self) -> bool {
        self.settings
            .get("term_vector")
            .and_then(Value::as_str)
            .is_some_and(|kept| kept != "no")
    }

    /// Returns whether term vectors with positions and offsets are kept.
    pub(crate) fn has_offsets_in_vectors(&self) -> bool {
        self.settings
            .get("term_vector")
            .and_then(Value::as_str)
            .is_some_and(|kept| kept.starts_with("with_positions_offsets"))
    }

    /// Returns whether postings have offsets.
    pub(crate) fn has_offsets_in_postings(&self) -> bool {
        self.settings.get("index_options").and_then(Value::as_str) == Some("offsets")
    }

    /// The number that `text` says, encoded so that whole numbers compare as values do.
    ///
    /// # Errors
    /// A text that is no number, or one that is out of the kind's range.
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

    /// The time that a number of a date field says, in milliseconds.
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

    /// The value that [`FieldType::encode_text`] made `encoded` of.
    pub(crate) fn decode(&self, encoded: i64) -> f64 {
        if self.kind.is_floating() {
            unsortable(encoded)
        } else {
            encoded as f64
        }
    }
}

/// The error of a text that is no number of fewer than 32 bits.
pub(crate) fn out_of_range(text: &str) -> SearchError {
    if text.parse::<i32>().is_err() {
        return SearchError::number(text);
    }
    let reason = format!("Value out of range. Value:\"{text}\" Radix:10");
    SearchError::new(400, "NumberFormatException", reason)
}

/// A floating number as Java reads it: no `inf`, no `nan`.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    if text
        .bytes()
        .all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'-' | b'+' | b'e' | b'E'))
    {
        text.parse().ok()
    } else {
        None
    }
}

/// `value` as a whole number of the same order.
pub(crate) fn sortable(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) & i64::MAX)
}

/// The inverse of [`sortable`].
pub(crate) fn unsortable(encoded: i64) -> f64 {
    f64::from_bits((encoded ^ ((encoded >> 63) & i64::MAX)) as u64)
}

/// What settings take for true: anything but `false`, `no`, `off`, `0` and the empty string.
pub(crate) fn truth(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => *truth,
        Value::String(text) => !matches!(text.as_str(), "false" | "no" | "off" | "0" | ""),
        Value::Number(number) => number.as_f64() != Some(0.0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_numbers_sort_as_values_do() {
        let values = [f64::NEG_INFINITY, -1e300, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY];
        assert!(values.windows(2).all(|pair| sortable(pair[0]) <= sortable(pair[1])));
        assert!(
            values
                .iter()
                .all(|value| unsortable(sortable(*value)).to_bits() == value.to_bits())
        );
    }

    #[test]
    fn a_number_out_of_range_is_refused() {
        assert!(FieldType::of(Kind::Byte).encode_text("128").is_err());
        assert!(FieldType::of(Kind::Long).encode_text("6004.5").is_err());
        assert!(FieldType::of(Kind::Double).encode_text("nan").is_err());
    }
}

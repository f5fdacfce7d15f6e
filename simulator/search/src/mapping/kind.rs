//! Field types.

/// Step that indexes numbers with all of their bits only.
pub(super) const MAX_PRECISION_STEP: u32 = i32::MAX as u32;

/// Settings of most fields that need a value.
const WITH_VALUE: [&str; 20] = [
    "index",
    "tokenized",
    "analyzer",
    "index_analyzer",
    "search_analyzer",
    "store",
    "boost",
    "doc_values",
    "include_in_all",
    "copy_to",
    "norms",
    "omit_norms",
    "omit_term_freq_and_positions",
    "index_options",
    "term_vector",
    "similarity",
    "postings_format",
    "doc_values_format",
    "index_name",
    "fielddata",
];

/// Settings of a completion field, without its analyzers.
const COMPLETION: [&str; 6] = [
    "fields",
    "path",
    "payloads",
    "preserve_separators",
    "preserve_position_increments",
    "max_input_length",
];

/// Boolean settings of `geo_point` fields, with their defaults.
pub(super) const POINT_SETTINGS: [(&str, bool); 9] = [
    ("lat_lon", false),
    ("geohash", false),
    ("geohash_prefix", false),
    ("validate", true),
    ("validate_lat", true),
    ("validate_lon", true),
    ("normalize", true),
    ("normalize_lat", true),
    ("normalize_lon", true),
];

fn is_analyzer(key: &str) -> bool {
    matches!(key, "analyzer" | "index_analyzer" | "search_analyzer")
}

/// The type of the values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A string, analyzed or not.
    String,
    /// A 64-bit signed integer.
    Long,
    /// A 32-bit signed integer.
    Integer,
    /// A 16-bit signed integer.
    Short,
    /// An 8-bit signed integer.
    Byte,
    /// A 64-bit floating-point number.
    Double,
    /// A 32-bit floating-point number.
    Float,
    /// Milliseconds since 1970.
    Date,
    /// A boolean.
    Boolean,
    /// An IPv4 address.
    Ip,
    /// Bytes in base64, stored but not indexed.
    Binary,
    /// A geographic point.
    GeoPoint,
    /// A suggestion for the prefix of an input.
    Completion,
    /// The number of tokens of a string.
    TokenCount,
    /// The Murmur3 hash of a string.
    Hash,
}

impl Kind {
    /// Returns the type with this name in mappings.
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

    /// The name in mappings.
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

    /// The Java class of the mapper, within the package of mappers.
    pub(crate) fn mapper(self) -> &'static str {
        match self {
            Kind::String => "core.StringFieldMapper",
            Kind::Long => "core.LongFieldMapper",
            Kind::Integer => "core.IntegerFieldMapper",
            Kind::Short => "core.ShortFieldMapper",
            Kind::Byte => "core.ByteFieldMapper",
            Kind::Double => "core.DoubleFieldMapper",
            Kind::Float => "core.FloatFieldMapper",
            Kind::Date => "core.DateFieldMapper",
            Kind::Boolean => "core.BooleanFieldMapper",
            Kind::Ip => "ip.IpFieldMapper",
            Kind::Binary => "core.BinaryFieldMapper",
            Kind::GeoPoint => "geo.GeoPointFieldMapper",
            Kind::Completion => "core.CompletionFieldMapper",
            Kind::TokenCount => "core.TokenCountFieldMapper",
            Kind::Hash => "core.Murmur3FieldMapper",
        }
    }

    /// Returns whether the terms of a field are texts.
    pub(crate) fn has_text_terms(self) -> bool {
        matches!(self, Kind::String | Kind::Boolean)
    }

    /// Returns whether values are indexed and compared as numbers.
    pub(crate) fn is_numeric(self) -> bool {
        !matches!(
            self,
            Kind::String | Kind::Boolean | Kind::Binary | Kind::GeoPoint | Kind::Completion
        )
    }

    /// The name in analyzers and the default precision step. `None` if the type is not numeric.
    pub(crate) fn precision(self) -> Option<(&'static str, u32)> {
        Some(match self {
            Kind::Long => ("long", 16),
            Kind::Hash => ("long", MAX_PRECISION_STEP),
            Kind::Integer | Kind::TokenCount => ("int", 8),
            Kind::Short => ("short", 8),
            Kind::Byte => ("byte", MAX_PRECISION_STEP),
            Kind::Double => ("double", 16),
            Kind::Float => ("float", 8),
            Kind::Date => ("date", 16),
            Kind::Ip => ("ip", 16),
            Kind::String | Kind::Boolean | Kind::Binary | Kind::GeoPoint | Kind::Completion => return None,
        })
    }

    /// Returns whether fields of the type can have multi-fields.
    pub(super) fn has_multi_fields(self) -> bool {
        !matches!(self, Kind::Boolean | Kind::Binary)
    }

    /// Number of bits of a number, from which on a precision step has no effect.
    pub(super) fn bits(self) -> u32 {
        match self {
            Kind::Long | Kind::Hash | Kind::Double | Kind::Date | Kind::Ip => 64,
            _ => 32,
        }
    }

    /// Returns whether values are floating-point numbers.
    pub(crate) fn is_floating(self) -> bool {
        matches!(self, Kind::Double | Kind::Float)
    }

    /// Returns whether fields of the type may have a setting.
    pub(super) fn has_setting(self, key: &str) -> bool {
        self != Kind::Completion || COMPLETION.contains(&key) || is_analyzer(key) || matches!(key, "type" | "context")
    }

    /// Returns when a setting is parsed: those of most fields first, then those of numbers, then those of the type.
    pub(super) fn order_of(self, key: &str) -> u8 {
        match key {
            _ if WITH_VALUE.contains(&key) => 0,
            "precision_step" | "ignore_malformed" | "coerce" => 1,
            _ => 2,
        }
    }

    /// Returns whether `null` is an error for a setting of the type. Other settings are ignored then.
    pub(super) fn needs_value(self, key: &str) -> bool {
        match self {
            Kind::Completion => COMPLETION.contains(&key) || is_analyzer(key),
            Kind::Boolean | Kind::Binary => WITH_VALUE.contains(&key),
            _ if WITH_VALUE.contains(&key) || matches!(key, "fields" | "path") => true,
            Kind::String => key == "search_quote_analyzer",
            Kind::GeoPoint => {
                matches!(key, "precision_step" | "geohash_precision")
                    || POINT_SETTINGS.iter().any(|(own, _)| *own == key)
            }
            Kind::Date if matches!(key, "format" | "numeric_resolution" | "locale") => true,
            Kind::TokenCount if key == "null_value" => true,
            _ => matches!(key, "precision_step" | "ignore_malformed" | "coerce"),
        }
    }
}

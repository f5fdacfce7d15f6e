//! The settings of each kind of aggregation, by the form of their values.
//!
//! Guarantees: a setting that the parser of a kind does not take is refused with that parser's words.
//! Source: the parsers of Elasticsearch 1.5's aggregations, and its `ValuesSourceParser`.

use serde_json::Value;

use crate::aggs::refuse;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{self, token_of};

/// Keys by the token of their value.
type Keys = &'static [(&'static str, &'static [&'static str])];

/// Strings that say where values come from, if scripts can make them.
const SCRIPT: [&str; 8] = [
    "script",
    "script_file",
    "file",
    "script_id",
    "id",
    "lang",
    "value_type",
    "valueType",
];

/// What the parser of a kind takes.
struct Settings {
    /// Whether it has values of a field.
    has_values: bool,
    /// Whether `format` is a setting.
    formattable: bool,
    /// Whether scripts can make the values.
    scriptable: bool,
    /// A key that is not listed for its token is unknown, and a token that is not listed is unexpected.
    keys: Keys,
    /// Whether what is not listed is ignored.
    lenient: bool,
    /// What an error says before the name.
    place: &'static str,
}

impl Settings {
    const fn of(keys: Keys) -> Settings {
        Settings {
            has_values: true,
            formattable: true,
            scriptable: true,
            keys,
            lenient: false,
            place: "",
        }
    }

    const fn without_values(self) -> Settings {
        Settings {
            has_values: false,
            formattable: false,
            scriptable: false,
            ..self
        }
    }

    const fn without_format(self) -> Settings {
        Settings {
            formattable: false,
            ..self
        }
    }

    const fn without_script(self) -> Settings {
        Settings {
            scriptable: false,
            ..self
        }
    }

    const fn at(self, place: &'static str) -> Settings {
        Settings { place, ..self }
    }

    const fn lenient(self) -> Settings {
        Settings { lenient: true, ..self }
    }

    /// The settings of a kind; none if there is no such kind, or if it has no list of settings.
    fn of_kind(kind: &str) -> Option<Settings> {
        Some(match kind {
            "min" | "max" | "avg" | "sum" | "stats" => Settings::of(&[]),
            "value_count" => Settings::of(&[]).without_format(),
            "missing" => Settings::of(&[]).without_format().without_script(),
            "extended_stats" => Settings::of(&[("VALUE_NUMBER", &["sigma"])]),
            "percentiles" => Settings::of(PERCENTILES),
            "percentile_ranks" => Settings::of(PERCENTILE_RANKS).without_format(),
            "cardinality" => Settings::of(CARDINALITY).without_format(),
            "range" | "date_range" => Settings::of(RANGE),
            "ip_range" => Settings::of(RANGE).without_format(),
            "histogram" => Settings::of(HISTOGRAM).at("aggregation "),
            "date_histogram" => Settings::of(DATE_HISTOGRAM),
            "terms" => Settings::of(TERMS),
            "significant_terms" => Settings::of(SIGNIFICANT_TERMS).without_script(),
            "geohash_grid" => Settings::of(&[]).without_format().without_script().lenient(),
            "geo_bounds" => Settings::of(GEO_BOUNDS).without_script().at("aggregation "),
            "geo_distance" => Settings::of(GEO_DISTANCE).without_format().without_script(),
            "nested" | "reverse_nested" => Settings::of(&[("VALUE_STRING", &["path"])]).without_values(),
            "children" => Settings::of(&[("VALUE_STRING", &["type"])]).without_values(),
            _ => return None,
        })
    }

    /// Returns the token in an array that is not the value of a setting.
    fn token_in(&self, key: &str, value: &Value) -> &'static str {
        match value.as_array().map(|items| items.first()) {
            Some(Some(item)) if self.is_source(key, token_of(item)) => "END_ARRAY",
            Some(Some(item)) => self.token_in(key, item),
            Some(None) => "END_ARRAY",
            None => token_of(value),
        }
    }

    /// Returns whether a setting says where values come from and how they are shown.
    fn is_source(&self, key: &str, token: &str) -> bool {
        match token {
            "VALUE_STRING" => {
                self.has_values && key == "field"
                    || self.formattable && key == "format"
                    || self.scriptable && SCRIPT.contains(&key)
            }
            "START_OBJECT" => self.scriptable && key == "params",
            _ => false,
        }
    }
}

const PERCENTILES: Keys = &[
    ("START_ARRAY", &["percents"]),
    ("VALUE_BOOLEAN", &["keyed"]),
    ("VALUE_NUMBER", &["compression"]),
];
const PERCENTILE_RANKS: Keys = &[
    ("START_ARRAY", &["values"]),
    ("VALUE_BOOLEAN", &["keyed"]),
    ("VALUE_NUMBER", &["compression"]),
];
const PRECISION: &[&str] = &["rehash", "precision_threshold", "precisionThreshold"];
const CARDINALITY: Keys = &[
    ("VALUE_STRING", PRECISION),
    ("VALUE_NUMBER", PRECISION),
    ("VALUE_BOOLEAN", PRECISION),
];
const RANGE: Keys = &[("START_ARRAY", &["ranges"]), ("VALUE_BOOLEAN", &["keyed"])];
const WIDTH: &[&str] = &[
    "interval",
    "min_doc_count",
    "minDocCount",
    "keyed",
    "pre_offset",
    "preOffset",
    "post_offset",
    "postOffset",
];
const SHAPE: &[&str] = &["order", "extended_bounds", "extendedBounds"];
const HISTOGRAM: Keys = &[
    ("VALUE_STRING", WIDTH),
    ("VALUE_NUMBER", WIDTH),
    ("VALUE_BOOLEAN", WIDTH),
    ("START_OBJECT", SHAPE),
];
const DATE_HISTOGRAM: Keys = &[
    (
        "VALUE_STRING",
        &[
            "time_zone",
            "timeZone",
            "pre_zone",
            "preZone",
            "post_zone",
            "postZone",
            "pre_offset",
            "preOffset",
            "post_offset",
            "postOffset",
            "offset",
            "interval",
        ],
    ),
    (
        "VALUE_BOOLEAN",
        &["keyed", "pre_zone_adjust_large_interval", "preZoneAdjustLargeInterval"],
    ),
    (
        "VALUE_NUMBER",
        &[
            "min_doc_count",
            "minDocCount",
            "time_zone",
            "timeZone",
            "pre_zone",
            "preZone",
            "post_zone",
            "postZone",
        ],
    ),
    ("START_OBJECT", SHAPE),
];
/// Settings of terms that are numbers of documents or terms.
const COUNTS: &[&str] = &[
    "size",
    "shard_size",
    "shardSize",
    "min_doc_count",
    "minDocCount",
    "shard_min_doc_count",
    "shardMinDocCount",
];
const HINTS: &[&str] = &[
    "execution_hint",
    "executionHint",
    "collect_mode",
    "collectMode",
    "size",
    "include",
    "exclude",
];
const ORDER: &[&str] = &["order", "include", "exclude"];
const TERMS: Keys = &[
    ("VALUE_STRING", HINTS),
    ("VALUE_NUMBER", COUNTS),
    ("VALUE_NULL", &[]),
    ("START_OBJECT", ORDER),
    ("START_ARRAY", ORDER),
];
const SIGNIFICANT_TERMS: Keys = &[
    ("VALUE_STRING", HINTS),
    ("VALUE_NUMBER", COUNTS),
    ("VALUE_BOOLEAN", &[]),
    ("VALUE_NULL", &[]),
    (
        "START_OBJECT",
        &[
            "include",
            "exclude",
            "background_filter",
            "backgroundFilter",
            "mutual_information",
            "chi_square",
            "gnd",
            "percentage",
            "jlh",
            "script_heuristic",
        ],
    ),
    ("START_ARRAY", &["include", "exclude"]),
];
const GEO_BOUNDS: Keys = &[
    ("VALUE_STRING", &[]),
    ("VALUE_NUMBER", &[]),
    ("VALUE_BOOLEAN", &["wrap_longitude", "wrapLongitude"]),
    ("VALUE_NULL", &[]),
    ("START_OBJECT", &[]),
    ("START_ARRAY", &[]),
];
const GEO_DISTANCE: Keys = &[
    (
        "VALUE_STRING",
        &["origin", "point", "center", "unit", "distance_type", "distanceType"],
    ),
    ("VALUE_BOOLEAN", &["keyed"]),
    ("START_ARRAY", &["ranges", "origin", "point", "center"]),
    ("START_OBJECT", &["origin", "point", "center"]),
];

/// Types of the values of scripts.
const VALUE_TYPES: [&str; 9] = [
    "string", "double", "float", "long", "integer", "short", "byte", "date", "ip",
];

/// Returns whether a kind has no values of its own: filters, paths, hits.
pub(super) fn has_no_values(kind: &str) -> bool {
    matches!(
        kind,
        "filter" | "filters" | "global" | "top_hits" | "nested" | "reverse_nested" | "children" | "scripted_metric"
    )
}

/// Checks that nothing follows what the parsers of `filter` and `global` read: one filter, or nothing. The parser of
/// the definition reads on there.
fn check_rest<'a>(name: &str, mut rest: impl Iterator<Item = (&'a String, &'a Value)>) -> Result<()> {
    let reason = |token| format!("Expected [FIELD_NAME] under a [START_OBJECT], but got a [{token}] in [{name}]");
    rest.next()
        .map_or(Ok(()), |(_, value)| Err(refuse(reason(token_of(value)))))
}

/// Checks the type of the values. Kinds with values of any type ignore an unknown one.
fn check_value_type(name: &str, kind: &str, key: &str, value: &Value) -> Result<()> {
    let is_any = matches!(kind, "terms" | "value_count" | "cardinality");
    if matches!(key, "value_type" | "valueType") && !is_any && value == "string" {
        let of = match kind {
            "date_histogram" | "date_range" => "date",
            "ip_range" => "ip",
            _ => "numeric",
        };
        return Err(refuse(format!(
            "{kind} aggregation [{name}] was configured with an incompatible value type [string]. [{kind}] aggregation \
             can only work on value of type [{of}]"
        )));
    }
    let known = value.as_str().is_none_or(|value| VALUE_TYPES.contains(&value));
    if matches!(key, "value_type" | "valueType") && !is_any && !known {
        return Err(SearchError::new(400, Exception::NullPointer, "null"));
    }
    Ok(())
}

/// Checks the value of a setting that is a number.
fn check_number(kind: &str, key: &str, value: &Value) -> Result<()> {
    match (kind, key) {
        ("terms" | "significant_terms", "shard_min_doc_count" | "shardMinDocCount") => {
            json::long(value, json::BODY).map(drop)
        }
        ("terms" | "significant_terms", key) if COUNTS.contains(&key) => json::int(value, json::BODY).map(drop),
        ("cardinality", "precision_threshold" | "precisionThreshold") => json::long(value, json::BODY).map(drop),
        ("histogram", "keyed") | ("cardinality", "rehash") if value.is_number() => {
            json::int(value, json::BODY).map(drop)
        }
        ("histogram" | "date_histogram", "min_doc_count" | "minDocCount") => json::long(value, json::BODY).map(drop),
        _ => Ok(()),
    }
}

/// Returns whether `top_hits` has a setting with a value of this form.
fn has_setting(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("sort" | "_source", _) => true,
        ("highlight" | "script_fields" | "scriptFields", Value::Object(_)) => true,
        ("fielddata_fields" | "fielddataFields", Value::Array(_)) => true,
        (_, Value::Object(_) | Value::Array(_)) => false,
        (_, Value::Null) => false,
        ("from" | "size" | "track_scores" | "trackScores" | "version" | "explain", _) => true,
        _ => false,
    }
}

/// Checks the settings of the aggregation `name`.
///
/// # Errors
/// A kind that does not exist, and settings that it does not have.
pub(super) fn check(name: &str, kind: &str, wanted: &Value) -> Result<()> {
    let unknown =
        |place: &str, key: &str, token: &str| refuse(format!("Unknown key for a {token} in {place}[{name}]: [{key}]."));
    let mut entries = wanted.as_object().into_iter().flatten();
    let refused = match kind {
        "filter" => return check_rest(name, entries.skip(1)),
        "global" => return check_rest(name, entries),
        "top_hits" => entries.find(|(key, value)| !has_setting(key, value)),
        "filters" => entries.find(|(key, value)| *key != "filters" || !value.is_object() && !value.is_array()),
        _ => None,
    };
    let unexpected = |place: &str, token: &str| refuse(format!("Unexpected token {token} in {place}[{name}]."));
    match refused {
        Some((_, Value::Null)) if kind == "top_hits" => return Err(unexpected("", "VALUE_NULL")),
        Some((key, value)) => return Err(unknown("", key, token_of(value))),
        None => {}
    }
    if matches!(kind, "top_hits" | "filters") {
        return Ok(());
    }
    let settings = Settings::of_kind(kind)
        .ok_or_else(|| refuse(format!("Could not find aggregator type [{kind}] in [{name}]")))?;
    for (key, value) in entries {
        let (key, token) = (key.as_str(), token_of(value));
        if settings.lenient || settings.is_source(key, token) {
            check_value_type(name, kind, key, value)?;
            continue;
        }
        let place = settings.place;
        match settings.keys.iter().find(|(of, _)| *of == token) {
            // Its parser takes an object as an origin only.
            Some((_, known)) if !known.contains(&key) && kind == "geo_distance" && token == "START_OBJECT" => {
                return Err(unexpected(place, token));
            }
            // Its parser reads on within an array.
            Some((_, known)) if !known.contains(&key) && kind == "date_range" && token == "START_ARRAY" => {
                return Err(unexpected(place, settings.token_in(key, value)));
            }
            Some((_, known)) if !known.contains(&key) => return Err(unknown(place, key, token)),
            // Terms ignore booleans that they do not know.
            None if kind == "terms" && token == "VALUE_BOOLEAN" => {}
            None => return Err(unexpected(place, token)),
            Some(_) => check_number(kind, key, value)?,
        }
    }
    Ok(())
}

//! Validation of field settings.
//!
//! Source: `TypeParsers` and the field mappers of Elasticsearch 1.5.

use serde_json::Value;

use super::Kind;
use super::field::FieldType;
use super::point_fields::geohash_setting;
use super::tree::path_type;
use crate::error::{Result, SearchError};
use crate::json::{java_class, java_text};

const TERM_VECTORS: [&str; 7] = [
    "no",
    "yes",
    "with_offsets",
    "with_positions",
    "with_positions_offsets",
    "with_positions_payloads",
    "with_positions_offsets_payloads",
];

/// Formats of doc values: the default, and those of Lucene 4.10.
const DOC_VALUES_FORMATS: [&str; 6] = ["default", "Lucene40", "Lucene42", "Lucene45", "Lucene49", "Lucene410"];

/// Returns the error of Elasticsearch for an invalid number in a setting: status 500.
fn number_error(error: SearchError) -> SearchError {
    SearchError { status: 500, ..error }
}

/// Fails for an unknown format of doc values.
pub(super) fn check_doc_values_format(value: &Value) -> Result<()> {
    match value.as_str().is_some_and(|name| DOC_VALUES_FORMATS.contains(&name)) {
        true => Ok(()),
        false => {
            let reason = format!("failed to find doc_values_format [{}]", java_text(value));
            Err(SearchError::illegal(reason))
        }
    }
}

/// Fails for a string that is not an integer, an array or an object.
fn check_integer(value: &Value) -> Result<()> {
    let is_invalid = match value {
        Value::String(text) => text.parse::<i32>().is_err(),
        other => other.is_array() || other.is_object(),
    };
    match is_invalid {
        true => Err(number_error(SearchError::number(&java_text(value)))),
        false => Ok(()),
    }
}

/// Fails for a precision step below 1.
fn check_precision(value: &Value) -> Result<()> {
    check_integer(value)?;
    let step = value.as_i64().or_else(|| value.as_str()?.parse().ok());
    match step.filter(|step| *step < 1) {
        Some(step) => Err(SearchError::argument(format!(
            "precisionStep must be >= 1 (got {step})"
        ))),
        None => Ok(()),
    }
}

/// Fails for an unknown unit of time.
fn check_time_unit(name: &str) -> Result<()> {
    let unit = name.to_uppercase();
    let units = [
        "NANOSECONDS",
        "MICROSECONDS",
        "MILLISECONDS",
        "SECONDS",
        "MINUTES",
        "HOURS",
        "DAYS",
    ];
    if units.contains(&unit.as_str()) {
        return Ok(());
    }
    let reason = format!("No enum constant java.util.concurrent.TimeUnit.{unit}");
    Err(SearchError::argument(reason))
}

impl FieldType {
    /// Fails for a setting that is invalid for the field.
    pub(super) fn check_setting(&self, name: &str, key: &str, value: &Value) -> Result<()> {
        let text = value.as_str();
        match key {
            "null_value" if value.is_null() => match self.kind {
                Kind::Binary | Kind::GeoPoint | Kind::Hash => Ok(()),
                _ => Err(SearchError::mapping("Property [null_value] cannot be null.")),
            },
            _ if value.is_null() => Ok(()),
            "null_value" if self.kind.is_numeric() && !matches!(self.kind, Kind::Date | Kind::Ip) => match text {
                Some(text) => self.encode_text(text).map(drop).map_err(number_error),
                None if value.is_boolean() => Err(number_error(SearchError::number(&java_text(value)))),
                None => Ok(()),
            },
            "fielddata" if !value.is_object() => Err(SearchError::parse(format!(
                "fielddata should be a hash but was of type: class {}",
                java_class(value)
            ))),
            "doc_values_format" => check_doc_values_format(value),
            "max_input_length" if self.kind == Kind::Completion => check_integer(value).and_then(|()| {
                let length = value.as_i64().filter(|length| *length < 1);
                let reason = |length| format!("max_input_length must be > 0 but was [{length}]");
                length.map_or(Ok(()), |length| Err(SearchError::illegal(reason(length))))
            }),
            "term_vector" if !text.is_some_and(|text| TERM_VECTORS.contains(&text)) => Err(SearchError::mapping(
                format!("Wrong value for termVector [{}] for field [{name}]", java_text(value)),
            )),
            "index_options" if !text.is_some_and(is_index_option) => Err(SearchError::parse(format!(
                "Failed to parse index option [{}]",
                java_text(value)
            ))),
            "norms" if !value.is_object() => Err(SearchError::parse(format!(
                "norms should be a hash but was of type: class {}",
                java_class(value)
            ))),
            "boost" if !value.is_number() && text.is_none_or(|text| text.parse::<f32>().is_err()) => {
                Err(number_error(SearchError::number(&java_text(value))))
            }
            "index" if self.kind == Kind::Boolean && text == Some("analyzed") => {
                Err(SearchError::illegal("bool field can't be tokenized"))
            }
            "omit_term_freq_and_positions" => Err(SearchError::parse(
                "'omit_term_freq_and_positions' is not supported anymore - use ['index_options' : 'docs']  instead",
            )),
            "precision_step" if self.kind.is_numeric() => check_precision(value),
            "precision_step" if self.kind == Kind::GeoPoint => check_integer(value),
            "geohash_precision" if self.kind == Kind::GeoPoint => geohash_setting(value).map(drop),
            "numeric_resolution" if self.kind == Kind::Date => check_time_unit(&java_text(value)),
            "postings_format" if !matches!(text, Some("default" | "es090" | "Lucene41")) => {
                let reason = format!("failed to find postings_format [{}]", java_text(value));
                Err(SearchError::illegal(reason))
            }
            "ignore_above" | "position_offset_gap" if self.kind == Kind::String => check_integer(value),
            "path" if self.kind.has_multi_fields() => path_type(name, value).map(drop),
            _ => Ok(()),
        }
    }
}

/// Returns whether a text is a value of `index_options`.
fn is_index_option(text: &str) -> bool {
    ["docs", "freqs", "positions", "offsets"]
        .iter()
        .any(|option| option.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(
        json!({"type": "string", "term_vector": "maybe"}),
        "MapperParsingException[Wrong value for termVector [maybe] for field [x]]"
    )]
    #[case(
        json!({"type": "string", "index_options": "maybe"}),
        "ElasticsearchParseException[Failed to parse index option [maybe]]"
    )]
    #[case(
        json!({"type": "string", "norms": 5}),
        "ElasticsearchParseException[norms should be a hash but was of type: class java.lang.Integer]"
    )]
    #[case(
        json!({"type": "string", "null_value": null}),
        "MapperParsingException[Property [null_value] cannot be null.]"
    )]
    #[case(
        json!({"type": "string", "omit_term_freq_and_positions": true}),
        "ElasticsearchParseException['omit_term_freq_and_positions' is not supported anymore - use \
         ['index_options' : 'docs']  instead]"
    )]
    #[case(json!({"type": "long", "null_value": "abc"}), "NumberFormatException[For input string: \"abc\"]")]
    #[case(json!({"type": "long", "precision_step": "abc"}), "NumberFormatException[For input string: \"abc\"]")]
    #[case(json!({"type": "string", "boost": "abc"}), "NumberFormatException[For input string: \"abc\"]")]
    #[case(json!({"type": "string", "ignore_above": "abc"}), "NumberFormatException[For input string: \"abc\"]")]
    #[case(
        json!({"type": "string", "path": "sideways"}),
        "MapperParsingException[Wrong value for pathType [sideways] for object [x]]"
    )]
    #[case(json!({"type": "token_count"}), "MapperParsingException[Analyzer must be set for field [x] but wasn't.]")]
    fn invalid_settings_are_errors(#[case] definition: Value, #[case] expected: &str) {
        let error = FieldType::parse("x", definition.as_object().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

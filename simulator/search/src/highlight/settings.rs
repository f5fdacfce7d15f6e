//! Settings of highlighting, per field with global defaults.
//!
//! Source: Elasticsearch 1.5's `HighlighterParseElement` and its defaults.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::{self, java_text};
use crate::mapping::truth;

/// Default of `boundary_chars`.
const BOUNDARY_CHARS: &str = ".,!? \t\n";

/// Numeric settings.
const NUMERIC_SETTINGS: [&str; 6] = [
    "fragment_size",
    "number_of_fragments",
    "fragment_offset",
    "boundary_max_scan",
    "no_match_size",
    "phrase_limit",
];

/// Returns a setting by its snake-case or camel-case name.
pub(super) fn setting<'a>(settings: &'a Value, name: &str) -> Option<&'a Value> {
    settings.get(name).or_else(|| settings.get(json::camel_case(name)))
}

/// Returns a setting that is a value. Lists, objects and nulls are ignored.
fn value_of<'a>(settings: &'a Value, name: &str) -> Option<&'a Value> {
    setting(settings, name).filter(|value| json::is_scalar(value))
}

/// Checks the settings of a request, or of a field of it.
///
/// # Errors
/// A numeric setting that is not a number.
pub(super) fn check(settings: &Value) -> Result<()> {
    let mut numbers = NUMERIC_SETTINGS.iter().filter_map(|name| value_of(settings, name));
    numbers.try_for_each(|value| json::int(value, json::PART).map(drop))
}

/// Returns the fields to highlight with their settings. Fields whose settings are not an object are ignored.
///
/// # Errors
/// A list of anything but objects with one field each.
pub(super) fn fields(wanted: &Value) -> Result<Vec<(&String, &Value)>> {
    let listed: Vec<&Map<String, Value>> = match wanted.get("fields") {
        Some(Value::Object(fields)) => vec![fields],
        Some(Value::Array(items)) => {
            let single = items
                .iter()
                .map(|item| item.as_object().filter(|fields| fields.len() <= 1));
            let unreadable = || SearchError::search("Error while trying to parse Highlighter element in request");
            single.collect::<Option<_>>().ok_or_else(unreadable)?
        }
        _ => vec![],
    };
    let fields = listed.into_iter().flatten();
    Ok(fields.filter(|(_, own)| own.is_object()).collect())
}

/// Returns a setting that is a list of texts.
fn list(settings: &Value, name: &str) -> Option<Vec<String>> {
    let items = setting(settings, name)?.as_array()?;
    Some(items.iter().map(java_text).collect())
}

/// Returns the tags of a field. Those of the request are its own or those of its schema, whichever comes last.
fn tags(all: &Value, own: &Value, name: &str) -> Option<Vec<String>> {
    let place = |key: &str| all.as_object().and_then(|all| all.keys().position(|own| own == key));
    let is_styled = value_of(all, "tags_schema").is_some_and(|schema| schema == "styled");
    list(own, name).or_else(|| match list(all, name) {
        Some(tags) if !is_styled || place("tags_schema") < place(name) => Some(tags),
        _ if is_styled && name == "pre_tags" => Some((1..=10).map(|n| format!("<em class=\"hlt{n}\">")).collect()),
        _ => None,
    })
}

pub(super) struct Settings {
    /// Name of the highlighter.
    pub(super) highlighter: Option<String>,
    pub(super) forces_source: bool,
    pub(super) open: Vec<String>,
    pub(super) close: Vec<String>,
    /// In UTF-16 units.
    pub(super) fragment_size: i32,
    /// Maximum number of fragments. 0: the whole text.
    pub(super) fragments: i32,
    pub(super) no_match_size: usize,
    pub(super) match_field: bool,
    pub(super) by_score: bool,
    pub(super) html: bool,
    pub(super) fragmenter: Option<String>,
    pub(super) boundary_chars: String,
    pub(super) boundary_max_scan: usize,
    pub(super) phrase_limit: usize,
    /// Margin before the first match of a fragment, in UTF-16 units.
    pub(super) fragment_offset: usize,
    pub(super) matched_fields: Vec<String>,
}

impl Settings {
    /// Reads the settings of a field, `own`, whose defaults are those of the request, `all`.
    pub(super) fn parse(all: &Value, own: &Value) -> Settings {
        let get = |key: &str| value_of(own, key).or_else(|| value_of(all, key));
        let int =
            |settings: &Value, key: &str| value_of(settings, key).and_then(|value| json::int(value, json::PART).ok());
        // -1 stands for a setting that a field does not have.
        let own_number = |key: &str| int(own, key).filter(|number| *number != -1);
        let number = |key: &str, default: i32| own_number(key).or_else(|| int(all, key)).unwrap_or(default);
        let size = |key: &str, default: i32| usize::try_from(number(key, default)).unwrap_or(0);
        let text = |key: &str| get(key).map(java_text);
        Settings {
            highlighter: text("type"),
            forces_source: get("force_source").is_some_and(truth),
            open: tags(all, own, "pre_tags").unwrap_or_else(|| vec!["<em>".to_owned()]),
            close: tags(all, own, "post_tags").unwrap_or_else(|| vec!["</em>".to_owned()]),
            fragment_size: number("fragment_size", 100),
            fragments: number("number_of_fragments", 5),
            no_match_size: size("no_match_size", 0),
            match_field: get("require_field_match").is_some_and(truth),
            by_score: text("order").is_some_and(|order| order == "score"),
            html: value_of(all, "encoder").is_some_and(|encoder| encoder == "html"),
            fragmenter: text("fragmenter"),
            boundary_chars: text("boundary_chars").unwrap_or_else(|| BOUNDARY_CHARS.to_owned()),
            boundary_max_scan: size("boundary_max_scan", 20),
            phrase_limit: size("phrase_limit", 256),
            fragment_offset: own_number("fragment_offset").map_or(6, |offset| usize::try_from(offset).unwrap_or(0)),
            matched_fields: list(own, "matched_fields").unwrap_or_default(),
        }
    }

    pub(super) fn lacks_tags(&self) -> bool {
        self.open.is_empty() || self.close.is_empty()
    }

    /// Checks that there is an opening and a closing tag.
    ///
    /// # Errors
    /// No tag: Elasticsearch fails with the error of an array.
    pub(super) fn check_tags(&self) -> Result<()> {
        if self.lacks_tags() {
            let reason = "Index 0 out of bounds for length 0";
            return Err(SearchError::new(500, "ArrayIndexOutOfBoundsException", reason));
        }
        Ok(())
    }

    /// Encodes a part of a text for a fragment.
    pub(super) fn encode(&self, text: &str) -> String {
        if !self.html {
            return text.to_owned();
        }
        let mut encoded = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '"' => encoded.push_str("&quot;"),
                '&' => encoded.push_str("&amp;"),
                '<' => encoded.push_str("&lt;"),
                '>' => encoded.push_str("&gt;"),
                '\'' => encoded.push_str("&#x27;"),
                '/' => encoded.push_str("&#x2F;"),
                other => encoded.push(other),
            }
        }
        encoded
    }

    /// Encloses a part of a text in tag number `number`, modulo the number of tags.
    pub(super) fn mark(&self, text: &str, number: usize) -> String {
        let tag = |tags: &[String]| tags.get(number % tags.len().max(1)).cloned().unwrap_or_default();
        format!("{}{}{}", tag(&self.open), self.encode(text), tag(&self.close))
    }
}

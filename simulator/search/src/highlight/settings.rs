//! Settings of highlighting, per field with global defaults.
//!
//! Source: Elasticsearch 1.5's `HighlighterParseElement` and its defaults.

use serde_json::Value;

use crate::error::Result;
use crate::json;
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
    settings.get(name).or_else(|| settings.get(camel_case(name)))
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        camel.push_str(&first.to_ascii_uppercase());
        camel.push_str(rest);
    }
    camel
}

/// Checks that numeric settings are numbers.
pub(super) fn check(settings: &Value) -> Result<()> {
    let numbers = NUMERIC_SETTINGS.iter().filter_map(|name| setting(settings, name));
    let mut given = numbers.filter(|value| value.is_number() || value.is_string());
    given.try_for_each(|value| json::int(value).map(drop))
}

pub(super) struct Settings {
    pub(super) open: Vec<String>,
    pub(super) close: Vec<String>,
    /// In UTF-16 units.
    pub(super) fragment_size: usize,
    /// Maximum number of fragments. 0: the whole text.
    pub(super) fragments: usize,
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
    pub(super) fn parse(all: &Value, own: &Value) -> Settings {
        let get = |key: &str| setting(own, key).or_else(|| setting(all, key));
        let styled = get("tags_schema").and_then(Value::as_str) == Some("styled");
        // The last of a schema and of tags counts.
        let place = |key: &str| all.as_object().and_then(|all| all.keys().position(|own| own == key));
        let is_styled = |key: &str| styled && place(key) < place("tags_schema");
        let tags = |key: &str, default: &str| match get(key) {
            _ if is_styled(key) && key == "post_tags" => vec![default.to_owned()],
            _ if is_styled(key) => (1..=10).map(|n| format!("<em class=\"hlt{n}\">")).collect(),
            Some(Value::Array(tags)) if !tags.is_empty() => {
                let texts = tags.iter().filter_map(Value::as_str);
                texts.map(str::to_owned).collect()
            }
            Some(Value::String(tag)) => vec![tag.clone()],
            _ => vec![default.to_owned()],
        };
        let number = |key: &str, default: usize| {
            get(key)
                .and_then(|value| usize::try_from(json::int(value).ok()?).ok())
                .unwrap_or(default)
        };
        let text = |key: &str| get(key).and_then(Value::as_str);
        Settings {
            open: tags("pre_tags", "<em>"),
            close: tags("post_tags", "</em>"),
            fragment_size: number("fragment_size", 100),
            fragments: number("number_of_fragments", 5),
            no_match_size: number("no_match_size", 0),
            match_field: get("require_field_match").is_some_and(truth),
            by_score: text("order") == Some("score"),
            html: text("encoder") == Some("html"),
            fragmenter: text("fragmenter").map(str::to_owned),
            boundary_chars: text("boundary_chars").unwrap_or(BOUNDARY_CHARS).to_owned(),
            boundary_max_scan: number("boundary_max_scan", 20),
            phrase_limit: number("phrase_limit", 256),
            fragment_offset: number("fragment_offset", 6),
            matched_fields: setting(own, "matched_fields")
                .map(crate::find::names)
                .unwrap_or_default(),
        }
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

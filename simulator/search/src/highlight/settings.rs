//! Settings of highlighting, per field with global defaults.
//!
//! Source: Elasticsearch 1.5's `HighlighterParseElement` and its defaults.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{self, Token, Tokens};
use crate::mapping::flag;

/// Default of `boundary_chars`.
const BOUNDARY_CHARS: &str = ".,!? \t\n";

/// What a setting is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Flag,
    Texts,
    /// An object, which is read as a whole.
    Whole,
}

/// Where a setting may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Request,
    Field,
    Both,
}

const SETTINGS: [(&str, Kind, Place); 20] = [
    ("type", Kind::Text, Place::Both),
    ("order", Kind::Text, Place::Both),
    ("encoder", Kind::Text, Place::Request),
    ("tags_schema", Kind::Text, Place::Request),
    ("pre_tags", Kind::Texts, Place::Both),
    ("post_tags", Kind::Texts, Place::Both),
    ("fragmenter", Kind::Text, Place::Both),
    ("fragment_size", Kind::Number, Place::Both),
    ("number_of_fragments", Kind::Number, Place::Both),
    ("fragment_offset", Kind::Number, Place::Field),
    ("no_match_size", Kind::Number, Place::Both),
    ("phrase_limit", Kind::Number, Place::Both),
    ("boundary_chars", Kind::Text, Place::Both),
    ("boundary_max_scan", Kind::Number, Place::Both),
    ("highlight_filter", Kind::Flag, Place::Both),
    ("require_field_match", Kind::Flag, Place::Both),
    ("force_source", Kind::Flag, Place::Both),
    ("matched_fields", Kind::Texts, Place::Field),
    ("highlight_query", Kind::Whole, Place::Both),
    ("options", Kind::Whole, Place::Both),
];

/// Returns the setting with a snake-case or camel-case name.
fn setting_of(name: &str, place: Place) -> Option<(&'static str, Kind)> {
    let found = SETTINGS.iter().find(|(own, _, places)| {
        (*own == name || json::camel_case(own) == name) && [place, Place::Both].contains(places)
    });
    found.map(|(own, kind, _)| (*own, *kind))
}

/// The `highlight` element of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Settings of the request, by their snake-case names.
    pub(super) settings: Map<String, Value>,
    /// The fields with their own settings. Names may be patterns, and may occur more than once.
    pub(super) fields: Vec<(String, Map<String, Value>)>,
}

impl Wanted {
    /// Reads the element, whose first token is the current one, token by token as Elasticsearch does: it reads on in
    /// what is no setting.
    ///
    /// # Errors
    /// A list of anything but objects with one field each, a number or a flag that cannot be read.
    pub(crate) fn read(tokens: &mut Tokens<'_>) -> Result<Wanted> {
        let mut wanted = Wanted::default();
        let mut name = "";
        while let Some(token) = tokens.within_object() {
            match (token, name) {
                (Token::Name(own), _) => name = own,
                (Token::Array, "fields") => {
                    while let Some(token) = tokens.within_array() {
                        if !matches!(token, Token::Object) {
                            return Err(not_single());
                        }
                        wanted.read_fields(tokens, true)?;
                    }
                }
                (Token::Object, "fields") => wanted.read_fields(tokens, false)?,
                _ => read_setting(tokens, name, Place::Request, &mut wanted.settings)?,
            }
        }
        Ok(wanted)
    }

    /// Reads an object of fields. Those whose settings are not an object are ignored.
    fn read_fields(&mut self, tokens: &mut Tokens<'_>, is_single: bool) -> Result<()> {
        let mut field = None;
        while let Some(token) = tokens.within_object() {
            match token {
                Token::Name(_) if is_single && field.is_some() => return Err(not_single()),
                Token::Name(name) => field = Some(name),
                Token::Object => {
                    let mut own = Map::new();
                    let mut name = "";
                    while let Some(token) = tokens.within_object() {
                        match token {
                            Token::Name(setting) => name = setting,
                            _ => read_setting(tokens, name, Place::Field, &mut own)?,
                        }
                    }
                    self.fields.push((field.unwrap_or_default().to_owned(), own));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The settings of the request, and those of each field.
    pub(super) fn all_settings(&self) -> impl Iterator<Item = &Map<String, Value>> {
        std::iter::once(&self.settings).chain(self.fields.iter().map(|(_, own)| own))
    }

    /// Number of fields and patterns.
    pub(crate) fn field_count(&self) -> usize {
        self.fields.len()
    }
}

/// Returns the error for a list of fields that cannot be read.
fn not_single() -> SearchError {
    SearchError::search("Error while trying to parse Highlighter element in request")
}

/// Reads the setting that begins with the current token. Tokens that are not its value are ignored.
fn read_setting(tokens: &mut Tokens<'_>, name: &str, place: Place, settings: &mut Map<String, Value>) -> Result<()> {
    let Some((name, kind)) = setting_of(name, place) else {
        return Ok(());
    };
    let value = match (tokens.current(), kind) {
        (Token::Value(_), Kind::Text) => tokens.text().into(),
        (Token::Value(value), Kind::Number) => json::int(value, json::PART)?.into(),
        (Token::Value(value), Kind::Flag) => flag(value)?.into(),
        (Token::Array, Kind::Texts) => tokens.texts().into(),
        (Token::Object, Kind::Whole) => tokens.whole().cloned().unwrap_or_default(),
        _ => return Ok(()),
    };
    if name == "tags_schema" && value == "styled" {
        let tags: Vec<String> = (1..=10).map(|n| format!("<em class=\"hlt{n}\">")).collect();
        settings.insert("pre_tags".to_owned(), tags.into());
        settings.insert("post_tags".to_owned(), vec!["</em>"].into());
    }
    settings.insert(name.to_owned(), value);
    Ok(())
}

/// Returns a setting that is a list of texts.
fn list(settings: &Map<String, Value>, name: &str) -> Option<Vec<String>> {
    let items = settings.get(name)?.as_array()?;
    Some(items.iter().map(json::text_of).collect())
}

#[derive(Clone)]
pub(super) struct Settings {
    /// Name of the highlighter.
    pub(super) highlighter: Option<String>,
    pub(super) forces_source: bool,
    pub(super) open: Vec<String>,
    pub(super) close: Vec<String>,
    /// In UTF-16 units.
    pub(super) fragment_size: i32,
    /// Maximum number of fragments. 0: no limit, or one.
    pub(super) fragments: i32,
    /// Whether the whole text is one fragment.
    pub(super) whole: bool,
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
    /// Returns the settings of a field, `own`, whose defaults are those of the request, `all`.
    pub(super) fn of(all: &Map<String, Value>, own: &Map<String, Value>) -> Settings {
        let get = |key: &str| own.get(key).or_else(|| all.get(key));
        let int = |settings: &Map<String, Value>, key: &str| {
            let value = settings.get(key).and_then(Value::as_i64);
            value.and_then(|number| i32::try_from(number).ok())
        };
        // -1 stands for a setting that a field does not have.
        let own_number = |key: &str| int(own, key).filter(|number| *number != -1);
        let number = |key: &str, default: i32| own_number(key).or_else(|| int(all, key)).unwrap_or(default);
        let size = |key: &str, default: i32| usize::try_from(number(key, default)).unwrap_or(0);
        let text = |key: &str| get(key).and_then(Value::as_str).map(str::to_owned);
        let is_set = |key: &str| get(key).and_then(Value::as_bool).unwrap_or_default();
        let tags = |key: &str, default: &str| {
            list(own, key)
                .or_else(|| list(all, key))
                .unwrap_or_else(|| vec![default.to_owned()])
        };
        Settings {
            highlighter: text("type"),
            forces_source: is_set("force_source"),
            open: tags("pre_tags", "<em>"),
            close: tags("post_tags", "</em>"),
            fragment_size: number("fragment_size", 100),
            fragments: number("number_of_fragments", 5),
            whole: number("number_of_fragments", 5) == 0,
            no_match_size: size("no_match_size", 0),
            match_field: is_set("require_field_match"),
            by_score: text("order").is_some_and(|order| order == "score"),
            html: text("encoder").is_some_and(|encoder| encoder == "html"),
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
            return Err(SearchError::new(500, Exception::ArrayIndexOutOfBounds, reason));
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

//! Mustache templates of searches and queries.
//!
//! Limits: no partials; templates are not stored.
//!
//! Source: <https://mustache.github.io/mustache.5.html>; Elasticsearch 1.5's `TemplateQueryParser` and
//! `JsonEscapingMustacheFactory`. Libraries for Mustache escape values as in HTML.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{self, java_text};

/// Maximum size of a rendered template, in bytes and in parts.
const MAX_SIZE: usize = 10 << 20;
/// Maximum number of sections in each other.
const MAX_DEPTH: usize = 32;

/// Where a template is.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    Inline(String),
    File(String),
    /// In the index of stored scripts.
    Id(String),
}

/// A template with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    place: Place,
    params: Map<String, Value>,
}

impl Template {
    /// Reads the template of a query: the last of `query`, `file` and `id`. Returns `None` if there is none.
    pub(crate) fn of_query(object: &Map<String, Value>) -> Option<Template> {
        Template::read(object, &["query"])
    }

    fn read(object: &Map<String, Value>, inline: &[&str]) -> Option<Template> {
        let mut place = None;
        for (key, value) in object {
            let text = || match value {
                Value::Object(_) => value.to_string(),
                Value::Array(_) => "[".to_owned(),
                other => java_text(other),
            };
            match key.as_str() {
                key if inline.contains(&key) => place = Some(Place::Inline(text())),
                "file" => place = Some(Place::File(text())),
                "id" => place = Some(Place::Id(text())),
                _ => {}
            }
        }
        Some(Template {
            place: place?,
            params: object
                .get("params")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
        })
    }

    /// Reads the template of a search, which is in a member of its own.
    ///
    /// # Errors
    /// A body without a template, or a template that looks like JSON but is not.
    pub(crate) fn of_search(body: &[u8]) -> Result<Template> {
        let missing = || SearchError::parse("Template must have [template] field configured");
        let read = |body: &[u8]| Ok(Template::read(&json::object(body)?, &["query", "template"]));
        let template = read(body)?.ok_or_else(missing)?;
        let Place::Inline(text) = &template.place else {
            return Ok(template);
        };
        let place = match text.trim_start().starts_with('{') {
            // A text that is no JSON is the name of a file.
            false => Some(Place::File(text.clone())),
            true => {
                let failed = |error| SearchError::parse("Failed to parse template").caused_by(error);
                let inner = read(text.as_bytes()).map_err(failed)?.map(|inner| inner.place);
                inner.filter(|place| !matches!(place, Place::Inline(_)))
            }
        };
        Ok(match place {
            Some(place) => Template { place, ..template },
            None => template,
        })
    }

    /// Renders the template.
    ///
    /// # Errors
    /// A template in a file or in the index of scripts, a malformed template, a partial, or a result that is too large.
    pub(crate) fn render(&self) -> Result<String> {
        match &self.place {
            Place::Inline(text) => render(text, &self.params),
            Place::File(name) => Err(SearchError::illegal(format!("Unable to find on disk script {name}"))),
            Place::Id(_) => Err(SearchError::index_missing(".scripts")),
        }
    }
}

/// Renders a template with parameters.
///
/// # Errors
/// A malformed template, a partial, or a result that is too large.
pub(crate) fn render(template: &str, params: &Map<String, Value>) -> Result<String> {
    let mut parser = Parser {
        template,
        at: 0,
        delimiters: ("{{".to_owned(), "}}".to_owned()),
    };
    let parts = parser.parts(None, 0)?;
    let params = Value::Object(params.clone());
    let mut renderer = Renderer::default();
    renderer.render(&parts, &[&params])?;
    Ok(renderer.text)
}

/// A part of a template.
enum Part<'t> {
    Text(&'t str),
    Variable {
        name: &'t str,
        is_escaped: bool,
    },
    Section {
        name: &'t str,
        is_inverted: bool,
        parts: Vec<Part<'t>>,
    },
}

struct Parser<'t> {
    template: &'t str,
    at: usize,
    delimiters: (String, String),
}

fn failed(reason: impl Into<String>) -> SearchError {
    SearchError::new(500, Exception::Mustache, reason)
}

impl<'t> Parser<'t> {
    /// Takes the text up to a delimiter, which is skipped.
    fn take(&mut self, delimiter: &str) -> Option<&'t str> {
        let (taken, _) = self.template.get(self.at..)?.split_once(delimiter)?;
        self.at += taken.len() + delimiter.len();
        Some(taken)
    }

    fn line(&self) -> usize {
        self.template
            .get(..self.at)
            .map_or(0, |before| before.matches('\n').count())
            + 1
    }

    /// Parses the parts up to the end of a section or of the template.
    fn parts(&mut self, section: Option<&str>, depth: usize) -> Result<Vec<Part<'t>>> {
        if depth > MAX_DEPTH {
            return Err(failed(format!("more than {MAX_DEPTH} sections in each other")));
        }
        let begun = self.line();
        let mut parts = Vec::new();
        // Whether there was only white space in the line or the section.
        let mut is_blank = true;
        while let Some(text) = self.take(&self.delimiters.0.clone()) {
            let line_start = text.rfind('\n').map(|at| at + 1);
            is_blank = (is_blank || line_start.is_some())
                && text
                    .get(line_start.unwrap_or(0)..)
                    .is_some_and(|line| line.trim().is_empty());
            let sigil = self.template.get(self.at..).and_then(|rest| rest.chars().next());
            let sigil = sigil.filter(|sigil| "{&#^/!=>".contains(*sigil));
            self.at += usize::from(sigil.is_some());
            let close = match sigil {
                Some('{') => format!("}}{}", self.delimiters.1),
                _ => self.delimiters.1.clone(),
            };
            let Some(name) = self.take(&close).map(str::trim) else {
                let line = self.line();
                return Err(failed(format!("Improperly closed variable in query-template:{line}")));
            };
            if sigil == Some('/') {
                if section != Some(name) {
                    let (open, line) = (section.unwrap_or("null"), self.line());
                    return Err(failed(format!(
                        "Mismatched start/end tags: {open} != {name} in query-template:{line}"
                    )));
                }
                // White space before the end of a section is removed if there is nothing else.
                let kept = if is_blank { line_start.unwrap_or(0) } else { text.len() };
                parts.push(Part::Text(text.get(..kept).unwrap_or(text)));
                return Ok(parts);
            }
            parts.push(Part::Text(text));
            match sigil {
                Some('#' | '^') => parts.push(Part::Section {
                    name,
                    is_inverted: sigil == Some('^'),
                    parts: self.parts(Some(name), depth + 1)?,
                }),
                Some('!') => {}
                Some('=') => {
                    let mut delimiters = name.trim_end_matches('=').split_whitespace();
                    if let (Some(open), Some(close)) = (delimiters.next(), delimiters.next()) {
                        self.delimiters = (open.to_owned(), close.to_owned());
                    }
                }
                Some('>') => return Err(failed(format!("Template '{name}' not found"))),
                _ => parts.push(Part::Variable {
                    name,
                    is_escaped: sigil.is_none(),
                }),
            }
        }
        if let Some(name) = section {
            return Err(failed(format!("Failed to close '{name}' tag at line {begun}")));
        }
        parts.push(Part::Text(self.template.get(self.at..).unwrap_or("")));
        Ok(parts)
    }
}

/// Returns a value by its name, from the innermost context that has it.
fn value_of<'v>(name: &str, contexts: &[&'v Value]) -> Option<&'v Value> {
    if name == "." {
        return contexts.last().copied();
    }
    let mut names = name.split('.');
    let first = names.next()?;
    let found = contexts.iter().rev().find_map(|context| context.get(first))?;
    let value = names.try_fold(found, |value, name| value.get(name));
    value.filter(|value| !value.is_null())
}

/// Returns the values for which a section is rendered.
fn items(value: Option<&Value>) -> Vec<&Value> {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => vec![],
        Some(Value::String(text)) if text.is_empty() => vec![],
        Some(Value::Array(items)) => items.iter().collect(),
        Some(value) => vec![value],
    }
}

#[derive(Default)]
struct Renderer {
    text: String,
    /// Number of rendered parts.
    parts: usize,
}

impl Renderer {
    fn render(&mut self, parts: &[Part<'_>], contexts: &[&Value]) -> Result<()> {
        for part in parts {
            match part {
                Part::Text(text) => self.text.push_str(text),
                Part::Variable { name, is_escaped } => {
                    let text = value_of(name, contexts).map(java_text).unwrap_or_default();
                    for c in text.chars() {
                        if *is_escaped && matches!(c, '"' | '\\' | '\u{8}' | '\u{C}' | '\n' | '\r' | '\t') {
                            self.text.push('\\');
                        }
                        self.text.push(c);
                    }
                }
                Part::Section {
                    name,
                    is_inverted,
                    parts,
                } => {
                    let values = items(value_of(name, contexts));
                    if *is_inverted && values.is_empty() {
                        self.render(parts, contexts)?;
                    }
                    for value in values.iter().filter(|_| !is_inverted) {
                        let inner: Vec<&Value> = contexts.iter().copied().chain([*value]).collect();
                        self.render(parts, &inner)?;
                    }
                }
            }
            self.parts += 1;
            if self.text.len() + self.parts > MAX_SIZE {
                return Err(failed(format!("the template renders to more than {MAX_SIZE} bytes")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("plain", "plain")]
    #[case(r#"{"{{f}}": "{{ s }}"}"#, r#"{"title": "\"a\" \\b"}"#)]
    #[case("{{n}}{{absent}}{{{s}}}{{& s}}", r#"7"a" \b"a" \b"#)]
    #[case("[{{#list}}{{.}},{{/list}}0]", "[1,x,0]")]
    #[case("[{{#list}} {{.}} {{/list}}] {{#n}}a {{/n}}", "[ 1 x] a ")]
    #[case("{{list}} {{inner}}", "[1, x] {a=2}")]
    #[case("{{#inner}}{{a}}{{n}}{{/inner}} {{inner.a}}{{inner.b}}", "27 2")]
    #[case("{{absent}}{{^absent}}5{{/absent}}{{^n}}6{{/n}}", "5")]
    #[case("{{#yes}}{{#no}}a{{/no}}b{{/yes}}{{! nothing }}", "b")]
    #[case("{{=<% %>=}}<%n%>{{n}}", "7{{n}}")]
    fn templates_are_rendered(#[case] template: &str, #[case] expected: &str) {
        let params = json!({
            "f": "title", "s": "\"a\" \\b", "n": 7, "list": [1, "x"], "inner": {"a": 2}, "yes": true, "no": false,
        });
        assert_eq!(render(template, params.as_object().unwrap()).unwrap(), expected);
    }

    #[rstest]
    #[case("{{open", "Improperly closed variable in query-template:1")]
    #[case("\n{{#a}}\nx", "Failed to close 'a' tag at line 2")]
    #[case("{{#a}}x{{/b}}", "Mismatched start/end tags: a != b in query-template:1")]
    #[case("{{>other}}", "Template 'other' not found")]
    fn malformed_templates_are_refused(#[case] template: &str, #[case] reason: &str) {
        assert_eq!(render(template, &Map::new()).unwrap_err().reason, reason);
    }

    #[test]
    fn a_result_has_a_limit() {
        let list: Vec<Value> = vec![json!("x"); 1000];
        let params = json!({"l": list});
        let template = "{{#l}}".repeat(5) + &"{{/l}}".repeat(5);
        let error = render(&template, params.as_object().unwrap()).unwrap_err();
        assert_eq!(
            error.reason,
            format!("the template renders to more than {MAX_SIZE} bytes")
        );
    }
}

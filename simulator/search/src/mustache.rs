//! Mustache templates of searches and queries.
//!
//! Limits: no partials; templates are not stored.
//!
//! Source: <https://mustache.github.io/mustache.5.html>; Elasticsearch 1.5's `TemplateQueryParser` and
//! `JsonEscapingMustacheFactory`. Libraries for Mustache escape values as in HTML.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{self, java_text};
use crate::ties::object_in_hash_order;

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
        let params = object.get("params").and_then(Value::as_object);
        Some(Template {
            place: place?,
            params: object_in_hash_order(params.cloned().unwrap_or_default()),
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
                let failed = |mut error: SearchError| {
                    error.reason = error.reason.replace(json::BODY, json::PART);
                    SearchError::parse("Failed to parse template").caused_by(error)
                };
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
        partial: None,
    };
    let parts = parser.parts(None, ("{{".to_owned(), "}}".to_owned()), 0)?;
    if let Some(name) = parser.partial {
        return Err(failed(format!("Template '{name}' not found")));
    }
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
    /// Name of the first partial.
    partial: Option<&'t str>,
}

/// The texts before and after a tag.
type Delimiters = (String, String);

fn failed(reason: impl Into<String>) -> SearchError {
    SearchError::new(500, Exception::Mustache, reason)
}

/// A character is read where there is none.
fn out_of_range(at: usize) -> SearchError {
    let reason = format!("String index out of range: {at}");
    SearchError::new(500, Exception::StringIndexOutOfBounds, reason)
}

/// Reads the delimiters of a tag, as `=<% %>=`.
fn delimiters(tag: &str) -> Result<Delimiters> {
    let letters: Vec<char> = tag.chars().filter(|letter| !letter.is_whitespace()).collect();
    let (open, close) = letters.split_at(letters.len() / 2);
    match (open, close) {
        ([_, open @ ..], [close @ .., _]) if open.len() == close.len() && open.len() <= 2 => {
            Ok((open.iter().collect(), close.iter().collect()))
        }
        _ => Err(failed("Invalid delimiter string")),
    }
}

impl<'t> Parser<'t> {
    /// Takes the text up to a delimiter, which is skipped.
    fn take(&mut self, delimiter: &str) -> Option<&'t str> {
        let (taken, _) = self.rest().split_once(delimiter)?;
        self.at += taken.len() + delimiter.len();
        Some(taken)
    }

    fn rest(&self) -> &'t str {
        self.template.get(self.at..).unwrap_or("")
    }

    fn line(&self) -> usize {
        self.template
            .get(..self.at)
            .map_or(0, |before| before.matches('\n').count())
            + 1
    }

    fn unclosed(&self) -> SearchError {
        failed(format!("Improperly closed variable in query-template:{}", self.line()))
    }

    /// Returns the name of a value that is not escaped. Its brace is closed before or after the end of the tag.
    fn unescaped(&mut self, name: &'t str, close: &str) -> Result<&'t str> {
        if close.chars().nth(1).ok_or_else(|| out_of_range(1))? != '}' {
            let mut letters = name.chars();
            letters.next_back();
            return Ok(letters.as_str());
        }
        match self.rest().starts_with('}') {
            true => self.at += 1,
            false => return Err(self.unclosed()),
        }
        Ok(name)
    }

    /// Parses the parts up to the end of a section or of the template. Delimiters are those of the section.
    fn parts(
        &mut self,
        section: Option<&str>,
        (mut open, mut close): Delimiters,
        depth: usize,
    ) -> Result<Vec<Part<'t>>> {
        if depth > MAX_DEPTH {
            return Err(failed(format!("more than {MAX_DEPTH} sections in each other")));
        }
        let begun = self.line();
        let mut parts = Vec::new();
        // Whether there was only white space in the line or the section.
        let mut is_blank = true;
        while let Some(text) = self.take(&open) {
            let line_start = text.rfind('\n').map(|at| at + 1);
            is_blank = (is_blank || line_start.is_some())
                && text
                    .get(line_start.unwrap_or(0)..)
                    .is_some_and(|line| line.trim().is_empty());
            let closed = self.take(&close);
            let tag = closed.unwrap_or_else(|| {
                let rest = self.rest();
                self.at = self.template.len();
                rest
            });
            let mut letters = tag.chars();
            let sigil = letters.next().ok_or_else(|| out_of_range(0))?;
            let name = letters.as_str().trim();
            if sigil == '/' {
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
            let mut inner = || self.parts(Some(name), (open.clone(), close.clone()), depth + 1);
            match sigil {
                '#' | '^' => parts.push(Part::Section {
                    name,
                    is_inverted: sigil == '^',
                    parts: inner()?,
                }),
                // A block, which a template that extends this one would replace.
                '$' => parts.extend(inner()?),
                '<' => {
                    inner()?;
                    self.partial.get_or_insert(name);
                }
                '>' => drop(self.partial.get_or_insert(name)),
                '!' | '%' => {}
                '=' => (open, close) = delimiters(tag)?,
                '{' | '&' => parts.push(Part::Variable {
                    name: if sigil == '{' {
                        self.unescaped(name, &close)?
                    } else {
                        name
                    },
                    is_escaped: false,
                }),
                _ if closed.is_none() => return Err(self.unclosed()),
                _ => parts.push(Part::Variable {
                    name: tag.trim(),
                    is_escaped: true,
                }),
            }
            if open.is_empty() && !self.rest().is_empty() {
                return Err(out_of_range(0));
            }
        }
        if let Some(name) = section {
            return Err(failed(format!("Failed to close '{name}' tag at line {begun}")));
        }
        parts.push(Part::Text(self.rest()));
        Ok(parts)
    }
}

/// Returns a member of a value. Lists and texts have those of Java's classes.
fn member<'v>(value: &'v Value, name: &str) -> Option<Cow<'v, Value>> {
    let built = match (value, name) {
        (Value::Object(members), name) => return members.get(name).map(Cow::Borrowed),
        (Value::Array(items), "size") => items.len().into(),
        (Value::Array(items), "isEmpty" | "empty") => items.is_empty().into(),
        (Value::String(text), "length") => text.encode_utf16().count().into(),
        (Value::String(text), "isEmpty" | "empty") => text.is_empty().into(),
        _ => return None,
    };
    Some(Cow::Owned(built))
}

/// Returns a value by its name, from the innermost context that has it.
fn value_of<'v>(name: &str, contexts: &[&'v Value]) -> Option<Cow<'v, Value>> {
    if name == "." {
        return contexts.last().copied().map(Cow::Borrowed);
    }
    let mut names = name.split('.');
    let first = names.next()?;
    let found = contexts.iter().rev().find_map(|context| member(context, first))?;
    let value = names.try_fold(found, |value, name| match value {
        Cow::Borrowed(value) => member(value, name),
        Cow::Owned(_) => None,
    });
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
                    let text = value_of(name, contexts)
                        .map(|value| java_text(&value))
                        .unwrap_or_default();
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
                    let value = value_of(name, contexts);
                    let values = items(value.as_deref());
                    if *is_inverted && values.is_empty() {
                        self.render(parts, contexts)?;
                    }
                    for value in values.iter().filter(|_| !is_inverted) {
                        // A null is no context.
                        let inner = contexts
                            .iter()
                            .copied()
                            .chain(Some(*value).filter(|value| !value.is_null()));
                        let inner: Vec<&Value> = inner.collect();
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
    #[case("{{#inner}}{{=[]=}}[a][/inner]{{n}}", "27")]
    #[case("{{list.size}} {{s.length}} {{^list.isEmpty}}some{{/list.isEmpty}}", "2 6 some")]
    #[case("{{$block}}{{n}}{{/block}}{{%pragma}}{{&n", "77")]
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
    #[case("{{>other}}{{#a", "Failed to close 'a' tag at line 1")]
    #[case("{{{a}}", "Improperly closed variable in query-template:1")]
    #[case("{{=<%}}", "Invalid delimiter string")]
    #[case("{{}}", "String index out of range: 0")]
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

//! Secrets by where they stand in a body.

use super::known::Known;
use super::rules::Rules;
use super::tree::{Scalar, Tree, Written};
use crate::interaction::is_placeholder;
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// How deep texts within texts are followed: an annotation holds the object that was applied.
const NESTED: usize = 3;

/// A key and its value in a text that is neither JSON nor YAML.
static LOOSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)((?:token|password|passwd|passphrase|secret|api_?key|private_?key)"?\s*[:=]\s*"?)([^"\s,&;}]+)"#)
        .ok()
});

/// An entry of what may be the data of a Secret in such a text.
static ENTRY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"("[\w.-]+"\s*:\s*")([A-Za-z0-9+/]{8,}={0,2})(")"#).ok());

/// A text without what is secret by where it stands. `hinted` says whether a default rule could find anything, `of` are the request's path and the media type.
pub(super) fn text<'t>(
    text: &'t str,
    rules: &Rules,
    hinted: bool,
    of: (&str, &str),
    known: &mut Known,
) -> Cow<'t, str> {
    let (path, media_type) = of;
    let of_secret = path.split('/').any(|segment| segment == "secrets");
    if !hinted && !of_secret && rules.paths.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut walk = Walk {
        rules,
        known,
        edits: Vec::new(),
    };
    match documents(text, media_type) {
        Some(documents) => {
            for tree in &documents {
                walk.root(tree, of_secret && rules.defaults, 0);
            }
            let edits = walk.edits;
            edited(text, edits)
        }
        None if rules.defaults => loose(text, of_secret, rules, walk.known),
        None => Cow::Borrowed(text),
    }
}

fn documents(text: &str, media_type: &str) -> Option<Vec<Tree>> {
    if text.trim_start().starts_with(['{', '[']) {
        let lines = || {
            text.lines()
                .filter(|line| !line.trim().is_empty())
                .map(Tree::json)
                .collect::<Option<Vec<_>>>()
        };
        return match Tree::json(text) {
            Some(tree) => Some(vec![tree]),
            // Watches that were read at once: a document a line, whose places must be those of the text.
            None => lines()
                .is_some()
                .then(|| lines_of(text))
                .flatten()
                .or_else(|| Tree::yaml(text)),
        };
    }
    let structured = media_type.contains("yaml") || text.starts_with("kind:") || text.contains("\nkind:");
    structured.then(|| Tree::yaml(text)).flatten()
}

fn lines_of(text: &str) -> Option<Vec<Tree>> {
    let mut out = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            let mut tree = Tree::json(line)?;
            shift(&mut tree, start);
            out.push(tree);
        }
        start += line.len();
    }
    Some(out)
}

fn shift(tree: &mut Tree, by: usize) {
    match tree {
        Tree::Map(entries) => entries.iter_mut().for_each(|(_, value)| shift(value, by)),
        Tree::List(items) => items.iter_mut().for_each(|item| shift(item, by)),
        Tree::Text(scalar) => scalar.at = scalar.at.start + by..scalar.at.end + by,
        Tree::Other => {}
    }
}

/// What can still be done where nothing can be read.
fn loose<'t>(text: &'t str, of_secret: bool, rules: &Rules, known: &mut Known) -> Cow<'t, str> {
    let mut out = Cow::Borrowed(text);
    if let Some(pattern) = LOOSE.as_ref().filter(|_| rules.defaults) {
        let replaced = pattern.replace_all(&out, |found: &Captures<'_>| {
            let part = |n| found.get(n).map_or("", |part| part.as_str());
            format!("{}{}", part(1), known.placeholder(part(2), true))
        });
        out = Cow::Owned(replaced.into_owned());
    }
    if let Some(pattern) = ENTRY.as_ref().filter(|_| of_secret || text.contains("Secret")) {
        let replaced = pattern.replace_all(&out, |found: &Captures<'_>| {
            let part = |n| found.get(n).map_or("", |part| part.as_str());
            format!("{}{}{}", part(1), known.placeholder_of_base64(part(2)), part(3))
        });
        out = Cow::Owned(replaced.into_owned());
    }
    out
}

struct Walk<'a> {
    rules: &'a Rules,
    known: &'a mut Known,
    edits: Vec<(Range<usize>, String)>,
}

impl Walk<'_> {
    /// A body. That of a request for a Secret may be a part of one.
    fn root(&mut self, tree: &Tree, of_secret: bool, nested: usize) {
        if of_secret {
            self.data(tree);
            if let Tree::List(operations) = tree {
                operations.iter().for_each(|operation| self.operation(operation));
            }
        }
        self.value(tree, &mut Vec::new(), nested);
    }

    /// An operation of a JSON patch of a Secret.
    fn operation(&mut self, operation: &Tree) {
        let path = operation.get("path").and_then(Tree::text).unwrap_or_default();
        let Some(value) = operation.get("value") else {
            return;
        };
        match (path.starts_with("/data"), path.starts_with("/stringData")) {
            (true, _) => self.all(value, true),
            (_, true) => self.all(value, false),
            _ if path.is_empty() => self.data(value),
            _ => {}
        }
    }

    /// The data of a Secret.
    fn data(&mut self, secret: &Tree) {
        if let Some(data) = secret.get("data") {
            self.all(data, true);
        }
        if let Some(data) = secret.get("stringData") {
            self.all(data, false);
        }
    }

    fn value(&mut self, tree: &Tree, path: &mut Vec<String>, nested: usize) {
        match tree {
            Tree::Map(entries) => {
                let kind = tree.get("kind").and_then(Tree::text);
                if self.rules.defaults && kind == Some("Secret") {
                    self.data(tree);
                }
                if self.rules.defaults
                    && kind == Some("SecretList")
                    && let Some(Tree::List(items)) = tree.get("items")
                {
                    items.iter().for_each(|item| self.data(item));
                }
                // A variable and its value stand side by side.
                if let (Some(name), Some(value)) = (tree.get("name").and_then(Tree::text), tree.get("value"))
                    && self.rules.is_secret_key(name)
                {
                    self.all(value, false);
                }
                for (key, value) in entries {
                    path.push(key.clone());
                    if self.rules.is_secret_key(key) || self.named(path) {
                        self.secret(value);
                    }
                    self.value(value, path, nested);
                    path.pop();
                }
            }
            Tree::List(items) => {
                for (n, item) in items.iter().enumerate() {
                    path.push(n.to_string());
                    if self.named(path) {
                        self.secret(item);
                    }
                    self.value(item, path, nested);
                    path.pop();
                }
            }
            Tree::Text(scalar) if nested < NESTED && scalar.text.trim_start().starts_with('{') => {
                self.within(scalar, nested);
            }
            Tree::Text(_) | Tree::Other => {}
        }
    }

    /// A text that is JSON itself.
    fn within(&mut self, scalar: &Scalar, nested: usize) {
        let Some(tree) = Tree::json(&scalar.text) else {
            return;
        };
        let mut inner = Walk {
            rules: self.rules,
            known: &mut *self.known,
            edits: Vec::new(),
        };
        inner.root(&tree, false, nested + 1);
        let edits = inner.edits;
        if let Cow::Owned(text) = edited(&scalar.text, edits) {
            self.put(scalar, text);
        }
    }

    /// A value whose key says that it is secret: a text is; of what has parts, only those that a rule names.
    fn secret(&mut self, tree: &Tree) {
        if let Tree::Text(scalar) = tree {
            // A key file in a kubeconfig is base64 of a text of its own.
            let placeholder = match scalar.text.starts_with("LS0tLS1CRUdJTi") {
                true => self.known.placeholder_of_base64(&scalar.text),
                false if scalar.text.is_empty() => return,
                false => self.known.placeholder(&scalar.text, true),
            };
            self.put(scalar, placeholder);
        }
    }

    /// All texts of a value.
    fn all(&mut self, tree: &Tree, base64: bool) {
        match tree {
            Tree::Map(entries) => entries.iter().for_each(|(_, value)| self.all(value, base64)),
            Tree::List(items) => items.iter().for_each(|item| self.all(item, base64)),
            Tree::Text(scalar) if !scalar.text.is_empty() => {
                let placeholder = match base64 {
                    true => self.known.placeholder_of_base64(&scalar.text),
                    false => self.known.placeholder(&scalar.text, false),
                };
                self.put(scalar, placeholder);
            }
            Tree::Text(_) | Tree::Other => {}
        }
    }

    fn put(&mut self, scalar: &Scalar, text: String) {
        if text == scalar.text {
            return;
        }
        let quoted = || serde_json::Value::String(text.clone()).to_string();
        // A placeholder needs no quotes; it keeps those that there were.
        let put = match scalar.written {
            Written::Json => quoted(),
            Written::Yaml { quote } if is_placeholder(&text) => {
                quote.map_or_else(|| text.clone(), |quote| format!("{quote}{text}{quote}"))
            }
            Written::Yaml { .. } => quoted(),
            Written::YamlBlock => text.replace('\n', " ") + "\n",
        };
        self.edits.push((scalar.at.clone(), put));
    }

    fn named(&self, path: &[String]) -> bool {
        self.rules.paths.iter().any(|rule| matches(rule, path))
    }
}

fn matches(rule: &[String], path: &[String]) -> bool {
    match (rule.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            matches(rest, path) || path.split_first().is_some_and(|(_, path)| matches(rule, path))
        }
        (Some((first, rest)), Some((key, path))) => (first == "*" || first == key) && matches(rest, path),
        _ => false,
    }
}

/// Applies edits; of those that overlap the first, which is the outermost, stands.
fn edited(text: &str, mut edits: Vec<(Range<usize>, String)>) -> Cow<'_, str> {
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for (range, put) in edits {
        if range.start >= end {
            out.push_str(text.get(end..range.start).unwrap_or_default());
            out.push_str(&put);
            end = range.end;
        }
    }
    out.push_str(text.get(end..).unwrap_or_default());
    Cow::Owned(out)
}

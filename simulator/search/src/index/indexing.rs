//! Indexing of values: strings as terms, numbers as columns.
//!
//! Source: Elasticsearch 1.5's field mappers.

use serde_json::Value;

use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::document::DocumentParser;
use crate::index::document_builder::{DocumentBuilder, FieldState};
use crate::index::encoded::MAX_TERM_BYTES;
use crate::index::mismatch::{check_boost, unparsed};
use crate::index::numbers::{check_range, check_value, encoded_date, encoded_number};
use crate::json::{BODY, java_text, literal, not_numeric};
use crate::mapping::{ALL, ALL_BOOSTS, Field, FieldNode, FieldType, Indexing, Kind, Node, guess};
use crate::murmur::hash_128;

/// Returns whether a kind is a plain number, unlike dates and addresses.
fn is_number(kind: Kind) -> bool {
    kind.is_numeric() && !matches!(kind, Kind::Date | Kind::Ip | Kind::TokenCount | Kind::Hash)
}

/// Returns whether a text is longer than `ignore_above`.
fn is_too_long(kind: &FieldType, text: &str) -> bool {
    let limit = kind.ignore_above.filter(|_| kind.kind == Kind::String);
    limit.is_some_and(|limit| text.encode_utf16().count() > limit)
}

/// Returns the term of [`ALL_BOOSTS`] for a term and a boost.
fn boosted_term(text: &str, boost: f32) -> String {
    format!("{text}\u{0}{boost}")
}

impl<'a> DocumentParser<'a> {
    /// Indexes a value in its field and in the fields of `copy_to`.
    pub(super) fn copied_field(&mut self, name: &str, node: &'a FieldNode, value: &Value) -> Result<()> {
        self.field(name, node, value, true)?;
        for target in node.field_type.copy_targets() {
            // What is indexed again in the document around a nested object was copied before.
            if self.flat > 0 && self.mapping.nested_path(target).is_none() {
                continue;
            }
            match self.type_mapping.root.field(target) {
                Some(node) => self.within(target, |parser| parser.field(target, node, value, false))?,
                None => {
                    let path: Vec<String> = target.split('.').map(str::to_owned).collect();
                    if let Some(node) = guess(self.type_mapping, &path, value)? {
                        self.add_unmapped(&path, Node::Field(Box::new(node)))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs `index` with the innermost document that a field belongs to as the current one.
    fn within(&mut self, field: &str, index: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let has = |doc: &DocumentBuilder| {
            let below = field.strip_prefix(&doc.path);
            below.is_some_and(|below| doc.path.is_empty() || below.starts_with('.'))
        };
        let outer = match has(&self.doc) {
            true => None,
            false => self.outer.iter().rposition(has),
        };
        let swap = |parser: &mut Self| {
            if let Some(other) = outer.and_then(|at| parser.outer.get_mut(at)) {
                std::mem::swap(other, &mut parser.doc);
            }
        };
        swap(self);
        let indexed = index(self);
        swap(self);
        indexed
    }

    /// Indexes a value in its field and in its multi-fields. Only the field itself can be in `_all`.
    pub(super) fn field(&mut self, name: &str, node: &FieldNode, value: &Value, in_all: bool) -> Result<()> {
        let mapping = self.mapping;
        let Some(field) = mapping.field_of(self.type_name, name) else {
            return Ok(());
        };
        let owned;
        let text = match value {
            Value::String(text) => text.as_str(),
            Value::Number(number) => {
                owned = literal(self.source, number);
                check_range(field.field_type.kind, number, &owned).map_err(|error| unparsed(&field.name, error))?;
                owned.as_str()
            }
            other => {
                owned = other.to_string();
                owned.as_str()
            }
        };
        let is_too_long = is_too_long(&field.field_type, text);
        let has_setting = field.field_type.setting("include_in_all").is_some();
        let in_all = in_all
            && self.flat == 0
            && !is_too_long
            && field.field_type.include_in_all
            && !matches!(field.field_type.kind, Kind::Boolean | Kind::TokenCount)
            && !(field.field_type.kind == Kind::Date && value.is_number())
            && (has_setting || self.in_all && field.field_type.indexing != Indexing::No)
            && self.type_mapping.all_enabled;
        let shared = in_all
            && self.outer.is_empty()
            && field.field_type.kind == Kind::String
            && field.field_type.has_frequencies()
            && self.analyzer_of(field).same_as_standard()
            && self.all_analyzer.same_as_standard();
        let taken = match check_boost(&field.field_type, self.boost) {
            Ok(()) if is_too_long => Ok(()),
            Ok(()) => self.index(field, value, text, shared),
            Err(error) => check_value(&field.field_type, value, text).and(Err(error)),
        };
        let boost = self.boost.take();
        match taken {
            Ok(()) => {}
            // `ignore_malformed` does not cover errors of the JSON parser.
            Err(error) if field.field_type.ignore_malformed && error.kind != Exception::JsonParse => return Ok(()),
            Err(error) => return Err(unparsed(name, error)),
        }
        if in_all && !shared {
            let boost = field.field_type.boost * boost.unwrap_or(1.0);
            self.add_to_all(text, boost);
        }
        for (other, node) in &node.fields {
            let path = format!("{name}.{other}");
            match boost {
                None => self.field(&path, node, value, false)?,
                // Multi-fields read the end of an object in place of the value within it.
                Some(_) if node.field_type.kind == Kind::String => self.field(&path, node, &"}".into(), false)?,
                Some(_) => return Err(unparsed(&path, not_numeric("END_OBJECT", BODY))),
            }
        }
        Ok(())
    }

    /// Returns the analyzer of a field at index time.
    fn analyzer_of(&self, field: &'a Field) -> &'a Analyzer {
        match self.default_analyzer {
            Some(own) if field.field_type.is_indexed_by_default() => own,
            _ => &field.index_analyzer,
        }
    }

    /// Returns whether an analyzer can be used. If not, the document fails after it was read to its end.
    fn is_usable(&mut self, analyzer: &Analyzer) -> bool {
        let checked = analyzer.check();
        let is_usable = checked.is_ok();
        self.failure = self.failure.take().or(checked.err());
        is_usable
    }

    /// Adds a value to `_all`. Other analyzers than the standard one read all values as one text.
    fn add_to_all(&mut self, text: &str, boost: f32) {
        if !self.is_usable(self.all_analyzer) {
            return;
        }
        if self.all_analyzer.same_as_standard() {
            return self.index_all(text, &[(0, boost)]);
        }
        match &mut self.all_values {
            None => self.all_values = Some((text.to_owned(), vec![(0, boost)])),
            Some((all, starts)) => {
                all.push(' ');
                starts.push((all.len(), boost));
                all.push_str(text);
            }
        }
    }

    /// Indexes the values that were added to `_all`, if they are read as one text.
    pub(super) fn finish_all(&mut self) {
        if let Some((text, starts)) = self.all_values.take() {
            self.index_all(&text, &starts);
        }
    }

    /// Indexes values in `_all`. `starts` are the places in `text` at which they start, with their boosts.
    fn index_all(&mut self, text: &str, starts: &[(usize, f32)]) {
        self.analyze(self.mapping.all(), self.all_analyzer, text, 1.0);
        if starts.iter().all(|(_, boost)| *boost == 1.0) {
            return;
        }
        // `_all` belongs to the root document.
        let doc = self.outer.first_mut().unwrap_or(&mut self.doc);
        self.all_analyzer.analyze(text, &mut |token| {
            let boost = starts.iter().rev().find(|(start, _)| *start <= token.start);
            if let Some((_, boost)) = boost.filter(|(_, boost)| *boost != 1.0) {
                doc.encoded.push_term(ALL_BOOSTS, &boosted_term(token.text, *boost), 0);
                doc.encoded.boosts_all = true;
            }
        });
    }

    /// Indexes a value of a field. `shared`: also in `_all`.
    fn index(&mut self, field: &'a Field, value: &Value, text: &str, shared: bool) -> Result<()> {
        let kind = &field.field_type;
        let null_text;
        let (value, text) = match &kind.null_value {
            _ if !text.is_empty() || !is_number(kind.kind) => (value, text),
            // An empty string in a numeric field is skipped if there is no `null_value`.
            None => return Ok(()),
            Some(own) => {
                null_text = java_text(own);
                (own, null_text.as_str())
            }
        };
        self.index_value(field, value, text, shared)?;
        // Skipped values do not count for `exists` filters.
        if kind.is_kept() {
            self.doc.add_field_name(field);
        }
        Ok(())
    }

    /// Indexes a number, unless the field has none in the index.
    fn push_number(&mut self, field: &Field, number: i64) {
        if field.field_type.has_numbers() {
            self.doc.encoded.push_number(field.ordinal, number);
            if field.field_type.repeats_numbers && !self.doc.repeating.contains(&field.ordinal) {
                self.doc.repeating.push(field.ordinal);
            }
        }
    }

    /// Indexes the number of tokens of a field.
    pub(super) fn count(&mut self, name: &str, count: i64) -> Result<()> {
        if let Some(field) = self.mapping.field_of(self.type_name, name) {
            self.push_number(field, count);
            self.doc.add_field_name(field);
        }
        Ok(())
    }

    /// Indexes a value that is not skipped.
    fn index_value(&mut self, field: &'a Field, value: &Value, text: &str, shared: bool) -> Result<()> {
        let kind = &field.field_type;
        match kind.kind {
            Kind::String | Kind::Boolean if kind.indexing == Indexing::No => Ok(()),
            Kind::String => {
                if kind.indexing == Indexing::NotAnalyzed && text.len() > MAX_TERM_BYTES {
                    return Err(SearchError::illegal(format!(
                        "Document contains at least one immense term in field=\"{}\" \
                         (whose UTF8 encoding is longer than the max length {MAX_TERM_BYTES})",
                        field.name
                    )));
                }
                if let Some(texts) = self.texts.as_mut().filter(|_| self.doc.path.is_empty()) {
                    texts.push((field.ordinal, text.to_owned()));
                }
                if shared {
                    self.analyze_with_all(field, text)
                } else {
                    let boost = kind.boost * self.boost.unwrap_or(1.0);
                    let analyzer = self.analyzer_of(field);
                    if !self.is_usable(analyzer) {
                        return Ok(());
                    }
                    let state = self.analyze(field, analyzer, text, boost);
                    state.position = kind.after_gap(analyzer, state.position);
                    Ok(())
                }
            }
            Kind::Boolean => {
                let truth = match value {
                    Value::Bool(truth) => *truth,
                    other => crate::mapping::truth(other),
                };
                self.analyze(field, &field.index_analyzer, if truth { "T" } else { "F" }, 1.0);
                Ok(())
            }
            Kind::Date => {
                let millis = encoded_date(kind, value, text)?;
                self.push_number(field, millis);
                Ok(())
            }
            Kind::Binary | Kind::GeoPoint | Kind::Completion => Ok(()),
            Kind::TokenCount => {
                field.index_analyzer.check()?;
                let count = i64::from(field.index_analyzer.analyze(text, &mut |_| {}));
                self.push_number(field, count);
                Ok(())
            }
            Kind::Hash => {
                self.push_number(field, hash_128(text.as_bytes()) as i64);
                Ok(())
            }
            Kind::Ip => {
                let address = kind.encode_text(text)?;
                self.push_number(field, address);
                Ok(())
            }
            _ => {
                let number = encoded_number(kind, value, text)?;
                self.push_number(field, number);
                Ok(())
            }
        }
    }

    /// Indexes the terms of a text, and returns the state of the field. Without frequencies, each distinct term of the
    /// document is added once.
    fn analyze(&mut self, field: &Field, analyzer: &Analyzer, text: &str, boost: f32) -> &mut FieldState {
        let (discounts, kind) = (field.similarity.discounts_overlaps, &field.field_type);
        let (field, has_frequencies) = (field.ordinal, kind.has_frequencies());
        // `_all` belongs to the root document.
        let doc = match self.outer.first_mut() {
            Some(root) if field == ALL => root,
            _ => &mut self.doc,
        };
        let state = doc.states.entry(field).or_default();
        state.norms = kind.norms;
        state.boost *= boost;
        let base = state.position;
        let encoded = &mut doc.encoded;
        let mut last = None;
        let end = analyzer.analyze(text, &mut |token| {
            if token.text.len() <= MAX_TERM_BYTES {
                let overlaps = last.replace(token.position) == Some(token.position);
                state.length += u32::from(!(overlaps && discounts));
                if has_frequencies || state.unique.insert(token.text.into()) {
                    encoded.push_term(field, token.text, base.saturating_add(token.position));
                }
            }
        });
        state.position = base.saturating_add(end);
        state
    }

    /// Indexes the terms of a text in its field and in `_all`, with one pass of the analyzer that both share.
    fn analyze_with_all(&mut self, field: &Field, text: &str) -> Result<()> {
        let states = &mut self.doc.states;
        let [own, all] = [field.ordinal, ALL].map(|ordinal| states.entry(ordinal).or_default().position);
        let encoded = &mut self.doc.encoded;
        let kind = &field.field_type;
        let boost = kind.boost * self.boost.unwrap_or(1.0);
        let mut length = 0;
        let end = field.index_analyzer.analyze(text, &mut |token| {
            length += 1;
            encoded.push_term(field.ordinal, token.text, own.saturating_add(token.position));
            encoded.push_last_term_in(ALL, all.saturating_add(token.position));
            if boost != 1.0 {
                encoded.push_term(ALL_BOOSTS, &boosted_term(token.text, boost), 0);
                encoded.boosts_all = true;
            }
        });
        let [own, all] = [own, all].map(|position| position.saturating_add(end));
        for (ordinal, norms, boost, position) in [
            (
                field.ordinal,
                kind.norms,
                boost,
                kind.after_gap(&field.index_analyzer, own),
            ),
            (ALL, true, 1.0, all),
        ] {
            let state = states.entry(ordinal).or_default();
            state.norms = norms;
            state.boost *= boost;
            state.length += length;
            state.position = position;
        }
        Ok(())
    }
}

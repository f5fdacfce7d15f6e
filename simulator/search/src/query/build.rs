//! Conversion of the syntax tree of a query string to a query for one index.

use super::dsl_parts::{auto_edits, fuzzy_limits};
use super::regexp_parser::ALL;
use crate::analysis::{Analyzer, lowercase};
use crate::dates::Fill;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::query::levenshtein;
use crate::query::text::{Style, analyzed, exact, range, too_many_clauses};
use crate::query::{Context, Matcher, Occur, Operator, Query, QueryKind, StringSettings};
use crate::syntax::{Clause, Conjunction, Modifier, Node, SyntaxError, Term, TermKind, parse};

/// Parses a query string for the index of `context`.
///
/// # Errors
/// A syntax error, or a value that is invalid for its field.
pub(crate) fn parse_string(context: &Context<'_>, text: &str, settings: &StringSettings) -> Result<Query> {
    context.checked(|context| parse_checked(context, text, settings))
}

fn parse_checked(context: &Context<'_>, text: &str, settings: &StringSettings) -> Result<Query> {
    let default = || vec![(context.mapping.default_field().to_owned(), 1.0)];
    let builder = Builder {
        context,
        settings,
        fields: settings.fields.clone().unwrap_or_else(default),
    };
    if text.trim().is_empty() {
        return Ok(QueryKind::Nothing.into());
    }
    let failed = |error: SyntaxError| {
        SearchError::query(format!("[{}] Failed to parse query [{text}]", context.index))
            .caused_by(SearchError::new(
                400,
                Exception::LuceneParse,
                format!("Cannot parse '{text}': {}", error.message),
            ))
            .caused_by(SearchError::new(400, error.kind, error.message))
    };
    let wrapped = |error: SearchError| match error.kind {
        Exception::LuceneParse => failed(SyntaxError {
            kind: error.kind,
            message: error.reason,
        }),
        _ => error,
    };
    let clauses = parse(text).map_err(|(error, terms)| {
        // Lucene's parser builds each term as it reads it.
        let built = terms.iter().try_for_each(|term| builder.node(term).map(drop));
        built.err().map_or_else(|| failed(error), wrapped)
    })?;
    let query = builder.clauses(&clauses);
    let query = query.map_err(wrapped)?;
    Ok(query.map_or_else(|| Query::any(vec![]), Query::fix_negative))
}

struct Builder<'a> {
    context: &'a Context<'a>,
    settings: &'a StringSettings,
    /// Fields of terms without one, with their boosts.
    fields: Vec<(String, f32)>,
}

impl Builder<'_> {
    fn clauses(&self, clauses: &[Clause]) -> Result<Option<Query>> {
        let mut built: Vec<(Occur, Query)> = Vec::new();
        let mut starts_plainly = false;
        for (at, clause) in clauses.iter().enumerate() {
            // As in Lucene, an operator also modifies the clause before it.
            if let Some((occur, _)) = built.last_mut()
                && *occur != Occur::MustNot
            {
                match (clause.conjunction, self.settings.operator) {
                    (Conjunction::And, _) => *occur = Occur::Must,
                    (Conjunction::Or, Operator::And) => *occur = Occur::Should,
                    _ => {}
                }
            }
            let Some(query) = self.node(&clause.node)? else {
                continue;
            };
            let occur = match (clause.modifier, self.settings.operator) {
                (Modifier::Prohibited, _) => Occur::MustNot,
                (Modifier::Required, Operator::Or) => Occur::Must,
                (Modifier::None, Operator::Or) if clause.conjunction == Conjunction::And => Occur::Must,
                (Modifier::None, Operator::Or) => Occur::Should,
                (_, Operator::And) if clause.conjunction == Conjunction::Or => Occur::Should,
                (_, Operator::And) => Occur::Must,
            };
            starts_plainly |= at == 0 && clause.modifier == Modifier::None;
            built.push((occur, query));
            if built.len() > self.context.max_clauses {
                return Err(too_many_clauses(self.context.max_clauses));
            }
        }
        // A first clause without a sign stands for itself if there is no other.
        if starts_plainly && built.len() == 1 {
            return Ok(built.pop().map(|(_, only)| only));
        }
        Ok((!built.is_empty()).then(|| Query::bool(built).fix_negative()))
    }

    fn node(&self, node: &Node) -> Result<Option<Query>> {
        let (query, boost) = match node {
            Node::Group { clauses, boost } => (self.clauses(clauses)?, boost),
            Node::Term { field, term, boost } if is_every_term(term) && self.is_default(field.as_deref()) => {
                (Some(self.everything(field.as_deref())), boost)
            }
            Node::Term { field, term, boost } => (
                self.over_fields(field.as_deref(), false, |name| self.term(name, term))?,
                boost,
            ),
            Node::Phrase {
                field,
                text,
                slop,
                boost,
            } => (
                self.over_fields(field.as_deref(), true, |name| {
                    self.text(name, text, true, slop.unwrap_or(self.settings.phrase_slop))
                })?,
                boost,
            ),
            Node::Range {
                field,
                lower,
                upper,
                include_lower,
                include_upper,
                boost,
            } => {
                let query = self.over_fields(field.as_deref(), false, |name| {
                    let bound = |text: &Option<String>, included: bool| text.clone().map(|text| (text, included));
                    self.range(name, bound(lower, *include_lower), bound(upper, *include_upper))
                        .map(Some)
                })?;
                (query, boost)
            }
        };
        Ok(match (query, boost) {
            (Some(query), Some(boost)) => Some(query.boosted(*boost)),
            (query, _) => query,
        })
    }

    /// Builds the query for one field, or combines those for several fields. A phrase for one field is a combination,
    /// too.
    fn over_fields(
        &self,
        field: Option<&str>,
        is_phrase: bool,
        build: impl Fn(&str) -> Result<Option<Query>>,
    ) -> Result<Option<Query>> {
        let built = |name: &str| -> Result<Option<Query>> {
            match build(name) {
                // A text for a field of other types is analyzed, which fails for numbers.
                Err(error)
                    if self.settings.lenient
                        && error.kind != Exception::LuceneParse
                        && (name.starts_with('_') || self.context.mapped(name).is_some()) =>
                {
                    Ok(None)
                }
                built => Ok(built?.map(|query| self.context.of_named_type(name, query))),
            }
        };
        let types = self.context.type_names();
        let names = |pattern: &str, boost: f32| {
            let names = self.context.names_by_type(pattern, &types);
            names.into_iter().map(move |name| (name, boost))
        };
        let named: Vec<(String, f32)> = match field {
            Some(name) => names(name, 1.0).collect(),
            None => self
                .fields
                .iter()
                .flat_map(|(pattern, boost)| names(pattern, *boost))
                .collect(),
        };
        if let ([(name, boost)], false) = (named.as_slice(), is_phrase) {
            return Ok(built(name)?.map(|query| if *boost == 1.0 { query } else { query.boosted(*boost) }));
        }
        let mut queries = Vec::new();
        for (name, boost) in &named {
            queries.extend(built(name)?.map(|query| if *boost == 1.0 { query } else { query.boosted(*boost) }));
        }
        if queries.is_empty() {
            return Ok(None);
        }
        Ok(Some(if self.settings.use_dis_max {
            QueryKind::DisjunctionMax {
                queries,
                tie: self.settings.tie_breaker,
            }
            .into()
        } else {
            Query::any_without_coord(queries)
        }))
    }

    /// Returns whether terms without a field are those of this one. `*` is a name of all fields.
    fn is_default(&self, field: Option<&str>) -> bool {
        field.is_none_or(|name| name == "*" || name == self.default_field())
    }

    /// Returns the field of terms without one. Several fields have a default of their own.
    fn default_field(&self) -> &str {
        match self.fields.as_slice() {
            [(only, _)] => only,
            _ => self.context.mapping.default_field(),
        }
    }

    /// Builds the query for `*`: the documents that have the field, or the default one.
    fn everything(&self, field: Option<&str>) -> Query {
        match field.unwrap_or(self.default_field()) {
            "*" | "_all" => QueryKind::All.into(),
            name => self.context.exists(name).constant(),
        }
    }

    fn expanded(&self, text: &str) -> String {
        if self.settings.lowercase_expanded_terms {
            lowercase(text)
        } else {
            text.to_owned()
        }
    }

    fn term(&self, name: &str, term: &Term) -> Result<Option<Query>> {
        let rewrite = self.settings.rewrite;
        match (term.kind, &term.fuzzy) {
            (TermKind::Wildcard, _)
                if self.settings.analyze_wildcard && self.context.numeric(name).is_some() && !is_every_term(term) =>
            {
                Err(SearchError::no_texts())
            }
            (TermKind::Wildcard | TermKind::Prefix, _)
                if !self.settings.allow_leading_wildcard && term.text.starts_with(['*', '?']) =>
            {
                Err(SearchError::new(
                    400,
                    Exception::LuceneParse,
                    "'*' or '?' not allowed as first character in WildcardQuery",
                ))
            }
            // The index has no terms of these.
            (TermKind::Wildcard, _) if is_every_term(term) && !self.context.has_texts(name) => {
                Ok(Some(self.context.exists(name).constant()))
            }
            (TermKind::Wildcard, _) => {
                let pattern = self.expanded(&term.text);
                let matcher = Matcher::Wildcard(if self.settings.analyze_wildcard {
                    self.analyzed_pattern(name, &pattern)?
                } else {
                    pattern
                });
                Ok(Some(super::value::rewritten(self.context, name, matcher, rewrite)))
            }
            (TermKind::Prefix, _) => {
                let prefix = self.expanded(&term.text);
                if !self.settings.analyze_wildcard || self.context.numeric(name).is_some() {
                    return super::value::prefix(self.context, name, &prefix.into(), rewrite).map(Some);
                }
                let analyzer = self.analyzer(name);
                analyzer.check()?;
                let terms = analyzer.terms(&prefix);
                if let [(_, only)] = terms.as_slice() {
                    return super::value::prefix(self.context, name, &only.as_str().into(), rewrite).map(Some);
                }
                let prefixes = terms.into_iter().map(|(_, text)| {
                    let (field, matcher) = (self.context.field(name), Matcher::Prefix(text));
                    Query::from(QueryKind::MultiTerm { field, matcher })
                });
                Ok((prefixes.len() > 0).then(|| Query::any_without_coord(prefixes)))
            }
            (TermKind::Regexp, _) => {
                let query =
                    super::value::pattern(self.context, name, &self.expanded(&term.text).into(), rewrite, |text| {
                        Matcher::regexp(text, ALL)
                    });
                match query {
                    Err(_) if self.settings.lenient => Ok(None),
                    query => query.map(Some),
                }
            }
            (TermKind::Plain, Some(similarity)) => self.fuzzy(name, &term.text, similarity),
            (TermKind::Plain, None) => self.text(name, &term.text, false, self.settings.phrase_slop),
        }
    }

    fn fuzzy(&self, name: &str, text: &str, similarity: &str) -> Result<Option<Query>> {
        if let Some(field) = self.context.numeric(name) {
            // For a number or a date, the value is an absolute distance.
            let default = self.settings.fuzzy_similarity.to_string();
            let by = if similarity.is_empty() { &default } else { similarity };
            return super::text::fuzzy_number(self.context, field, &self.expanded(text), by).map(Some);
        }
        let term = super::text::term_text(self.context, name, self.expanded(text))?;
        // A text that is no number means the default, 2 edits, as in Lucene. Elasticsearch 1.5.2 refuses it.
        let edits = match similarity {
            "" => levenshtein::edits(self.settings.fuzzy_similarity, term.chars().count()),
            own => auto_edits(own, &term),
        };
        let settings = self.settings;
        let (prefix, expansions) = fuzzy_limits(
            self.context,
            settings.fuzzy_prefix_length,
            settings.fuzzy_max_expansions,
        )?;
        let matcher = Matcher::Fuzzy {
            term,
            edits,
            prefix,
            expansions,
            transpositions: false,
        };
        Ok(Some(
            QueryKind::MultiTerm {
                field: self.context.field(name),
                matcher,
            }
            .into(),
        ))
    }

    fn analyzer(&self, name: &str) -> Analyzer {
        match &self.settings.analyzer {
            Some(forced) => forced.clone(),
            None => self.context.search_analyzer(name),
        }
    }

    fn quote_analyzer(&self, name: &str) -> Analyzer {
        let settings = self.settings;
        match settings.quote_analyzer.as_ref().or(settings.analyzer.as_ref()) {
            Some(forced) => forced.clone(),
            None => self.context.quote_analyzer(name),
        }
    }

    /// Analyzes the text between the wildcards of a pattern.
    fn analyzed_pattern(&self, name: &str, pattern: &str) -> Result<String> {
        let analyzer = self.analyzer(name);
        analyzer.check()?;
        let mut analyzed = String::new();
        let mut piece = String::new();
        let flush = |piece: &mut String, analyzed: &mut String| {
            match analyzer.terms(piece).into_iter().next() {
                Some((_, term)) => analyzed.push_str(&term),
                None => analyzed.push_str(piece),
            }
            piece.clear();
        };
        for c in pattern.chars() {
            if matches!(c, '*' | '?') {
                flush(&mut piece, &mut analyzed);
                analyzed.push(c);
            } else {
                piece.push(c);
            }
        }
        flush(&mut piece, &mut analyzed);
        Ok(analyzed)
    }

    fn text(&self, name: &str, text: &str, quoted: bool, slop: i32) -> Result<Option<Query>> {
        match name {
            "_exists_" => return Ok(Some(self.context.exists(text).constant())),
            "_missing_" => return Ok(Some(self.context.missing(text).constant())),
            "_type" => return Ok(Some(self.context.of_type(text).constant())),
            "_id" | "_uid" | "_parent" => {
                return super::value::term(self.context, name, &text.into()).map(Some);
            }
            _ => {}
        }
        let with_suffix = format!("{name}{}", self.settings.quote_field_suffix);
        let name = match quoted && self.context.mapped(&with_suffix).is_some() {
            true => with_suffix.as_str(),
            false => name,
        };
        if !quoted && text.chars().nth(1).is_some() {
            if let Some((bound, included)) = one_sided(text, '>') {
                return self.range(name, Some((bound.to_owned(), included)), None).map(Some);
            }
            if let Some((bound, included)) = one_sided(text, '<') {
                return self.range(name, None, Some((bound.to_owned(), included))).map(Some);
            }
        }
        if let Some(field) = super::value::exact_field(self.context, name, text)? {
            return exact(self.context, field, text).map(Some);
        }
        let style = Style {
            phrase: quoted || self.settings.auto_generate_phrase_queries,
            slop,
            occur: self.settings.operator.occur(),
            has_gaps: self.settings.enable_position_increments,
        };
        let analyzer = match quoted {
            true => self.quote_analyzer(name),
            false => self.analyzer(name),
        };
        analyzed(self.context, &self.context.field(name), &analyzer, text, style)
    }

    fn range(&self, name: &str, lower: super::text::Bound, upper: super::text::Bound) -> Result<Query> {
        let numeric = self.context.numeric(name).is_some();
        let cased = |bound: super::text::Bound| {
            if numeric {
                bound
            } else {
                bound.map(|(text, included)| (self.expanded(&text), included))
            }
        };
        // As in the results of reference. Elasticsearch 1.5.2 fills a date before `||` here, too.
        let bounds = (cased(lower), cased(upper));
        range(self.context, name, bounds, 0, Some(Fill::Floor))
    }
}

/// Returns whether a term is `*`.
fn is_every_term(term: &Term) -> bool {
    matches!(term.kind, TermKind::Wildcard) && term.text == "*"
}

/// Parses `>=x` or `>x`. Returns the bound and whether it is inclusive.
fn one_sided(text: &str, sign: char) -> Option<(&str, bool)> {
    let rest = text.strip_prefix(sign)?;
    match rest.strip_prefix('=') {
        Some(bound) if !bound.is_empty() => Some((bound, true)),
        _ => Some((rest, false)),
    }
}

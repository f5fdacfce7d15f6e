//! Full-text queries of the DSL: `match` and its variants.

use indexmap::IndexMap;
use serde_json::Value;

use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::json::text_of;
use crate::json::{Token, Tokens};
use crate::mapping::Field;
use crate::query::dsl_parts::{
    auto_edits, check_fuzziness, fuzzy_limits, fuzzy_rewrite_of, parsing_error, with_boost, with_minimum,
};
use crate::query::field_reader::text_settings;
use crate::query::frequency::FrequencyQuery;
use crate::query::reader::{Form, REWRITE, Refused, Setting, Settings};
use crate::query::text::{Style, analyzed, slop_of, words};
use crate::query::value::{exact_field, exact_value};
use crate::query::{Context, Matcher, Operator, Query, QueryKind, Rewrite};
use crate::ties::in_hash_order;

/// Settings of a match query.
struct MatchSettings {
    text: String,
    /// JSON value of the text.
    value: Value,
    kind: MatchType,
    operator: Operator,
    analyzer: Option<Analyzer>,
    slop: i32,
    boost: f32,
    fuzziness: Option<String>,
    /// How the terms of fuzzy queries count in scores. Default: the best terms with their scores.
    rewrite: Option<Rewrite>,
    prefix_length: i64,
    max_expansions: i64,
    minimum_should_match: Option<Value>,
    lenient: bool,
    transpositions: bool,
    zero_terms_all: bool,
    /// Document frequency above which a term is frequent; below 1, a share of the documents.
    cutoff: Option<f32>,
}

/// Settings of `match` and `multi_match`, which have an `analyzer` and a `type` each.
const MATCH: [(&[&str], Setting); 14] = [
    (&["query"], Setting::Scalar),
    (&["boost"], Setting::Float),
    (&["slop", "phrase_slop", "phraseSlop"], Setting::Int),
    (&["fuzziness"], Setting::Fuzziness),
    (&["prefix_length", "prefixLength"], Setting::Int),
    (&["max_expansions", "maxExpansions"], Setting::Int),
    (
        &["operator"],
        Setting::Checked(|context, value| operator_of(context, value).map(drop)),
    ),
    (&["minimum_should_match", "minimumShouldMatch"], Setting::Scalar),
    (&["rewrite"], REWRITE),
    (&["fuzzy_rewrite", "fuzzyRewrite"], REWRITE),
    (&["lenient"], Setting::Flag),
    (&["cutoff_frequency"], Setting::Float),
    (
        &["zero_terms_query"],
        Setting::Checked(|context, value| matches_all(context, value).map(drop)),
    ),
    (&["_name"], Setting::Scalar),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum MatchType {
    Boolean,
    Phrase,
    PhrasePrefix,
}

/// Parses `operator`.
fn operator_of(context: &Context<'_>, value: &Value) -> Result<Operator> {
    let text = text_of(value);
    let reason = format!("text query requires operator to be either 'and' or 'or', not [{text}]");
    Operator::parse(&text).ok_or_else(|| parsing_error(context, &reason))
}

/// Parses `zero_terms_query`: whether a text without terms matches all documents.
fn matches_all(context: &Context<'_>, value: &Value) -> Result<bool> {
    match text_of(value) {
        text if text.eq_ignore_ascii_case("all") => Ok(true),
        text if text.eq_ignore_ascii_case("none") => Ok(false),
        text => Err(parsing_error(
            context,
            &format!("Unsupported zero_terms_docs value [{text}]"),
        )),
    }
}

/// Parses the `type` of `match`.
fn match_type(context: &Context<'_>, value: &Value) -> Result<MatchType> {
    match text_of(value).as_str() {
        "boolean" => Ok(MatchType::Boolean),
        "phrase" => Ok(MatchType::Phrase),
        "phrase_prefix" | "phrasePrefix" => Ok(MatchType::PhrasePrefix),
        other => Err(parsing_error(
            context,
            &format!("[match] query does not support type {other}"),
        )),
    }
}

/// Returns how a `multi_match` of a type matches each field.
fn match_type_of_fields(value: &Value) -> Result<MatchType> {
    match text_of(value).as_str() {
        "phrase" => Ok(MatchType::Phrase),
        "phrase_prefix" | "phrasePrefix" => Ok(MatchType::PhrasePrefix),
        "best_fields" | "bestFields" | "boolean" | "most_fields" | "mostFields" | "cross_fields" | "crossFields" => {
            Ok(MatchType::Boolean)
        }
        other => Err(SearchError::parse(format!("No type found for value: {other}"))),
    }
}

impl MatchSettings {
    /// Converts the settings of `query`, which is `match` or `multi_match`.
    fn new(context: &Context<'_>, query: &str, kind: MatchType, settings: &Settings) -> Result<MatchSettings> {
        let operator = settings.get("operator").map(|own| operator_of(context, own));
        let zero_terms_all = settings.get("zero_terms_query").map(|own| matches_all(context, own));
        let fuzziness = settings.text("fuzziness");
        // `fuzzy_rewrite` is only checked, as in Elasticsearch.
        let rewrite = fuzzy_rewrite_of(settings.get("rewrite"))?;
        let no_text = || parsing_error(context, &format!("No text specified for {query} query"));
        let text = settings.get("query").ok_or_else(no_text)?;
        fuzziness.as_deref().map_or(Ok(()), check_fuzziness)?;
        Ok(MatchSettings {
            text: text_of(text),
            value: text.clone(),
            kind,
            operator: operator.transpose()?.unwrap_or_default(),
            analyzer: settings.analyzer("analyzer"),
            slop: settings.int("slop").map_or(0, slop_of),
            boost: settings.boost(),
            fuzziness,
            rewrite,
            prefix_length: settings.int("prefix_length").unwrap_or(0),
            max_expansions: settings.int("max_expansions").unwrap_or(50),
            minimum_should_match: settings.get("minimum_should_match").cloned(),
            lenient: settings.flag("lenient").unwrap_or(false),
            transpositions: settings.flag("fuzzy_transpositions").unwrap_or(false),
            zero_terms_all: zero_terms_all.transpose()?.unwrap_or(false),
            cutoff: settings.float("cutoff_frequency"),
        })
    }

    /// Builds the query for a field. Returns `None` for a text that the field cannot have, if that is no error.
    fn build(&self, context: &Context<'_>, name: &str) -> Result<Option<Query>> {
        let built = self.of_any_type(context, name)?;
        Ok(built.map(|query| context.of_named_type(name, query)))
    }

    fn of_any_type(&self, context: &Context<'_>, name: &str) -> Result<Option<Query>> {
        let field = context.field(name);
        // A field of other types has no values, but texts with the analyzer of the query.
        let is_analyzed = self.analyzer.is_some() && context.mapped(name).is_none();
        if !is_analyzed && let Some(mapped) = exact_field(context, name, &self.text)? {
            return match exact_value(context, mapped, &self.value) {
                Err(_) if self.lenient && context.mapped(name).is_some() => Ok(None),
                built => built.map(Some),
            };
        }
        if matches!(name, "_type" | "_id" | "_uid" | "_parent") {
            return super::value::term(context, name, &Value::String(self.text.clone())).map(Some);
        }
        let analyzer = self.analyzer.clone().unwrap_or_else(|| context.search_analyzer(name));
        let style = Style {
            phrase: self.kind != MatchType::Boolean,
            slop: self.slop,
            occur: self.operator.occur(),
            has_gaps: true,
        };
        let Some(mut query) = analyzed(context, &field, &analyzer, &self.text, style)? else {
            return Ok(Some(self.empty()));
        };
        if let Some(common) = self.common_terms(&query) {
            return Ok(Some(common));
        }
        // A phrase of one term is fuzzy as well.
        if let Some(fuzziness) = &self.fuzziness {
            let (prefix, expansions) = fuzzy_limits(context, self.prefix_length, self.max_expansions)?;
            self.make_fuzzy(&mut query, fuzziness, prefix, expansions);
        }
        Ok(Some(match self.kind {
            MatchType::PhrasePrefix => {
                // At least one term is found.
                let expansions = usize::try_from(self.max_expansions).unwrap_or(0).max(1);
                let slop = self.slop.max(0).cast_unsigned();
                with_prefix(query, slop, expansions.min(context.max_clauses))
            }
            MatchType::Boolean => with_minimum(query, self.minimum_should_match.as_ref())?,
            MatchType::Phrase => query,
        }))
    }

    /// Returns the query that separates rare terms from frequent ones, if the settings have a cutoff.
    fn common_terms(&self, query: &Query) -> Option<Query> {
        let cutoff = self
            .cutoff
            .filter(|_| self.kind == MatchType::Boolean && self.fuzziness.is_none())?;
        let QueryKind::Bool { clauses, coord, .. } = &query.kind else {
            return None;
        };
        let mut terms = Vec::new();
        let mut name = None;
        for (_, clause) in clauses {
            let QueryKind::Term { field, text } = &clause.kind else {
                return None;
            };
            terms.push(text.clone());
            name = Some(field.clone());
        }
        let common = FrequencyQuery::Common {
            field: name?,
            terms,
            cutoff,
            rare: self.operator.occur(),
            frequent: self.operator.occur(),
            minimum_rare: self.minimum_should_match.clone(),
            minimum_frequent: None,
            coord: *coord,
        };
        Some(QueryKind::ByFrequency(common).into())
    }

    fn make_fuzzy(&self, query: &mut Query, fuzziness: &str, prefix: usize, expansions: usize) {
        match &mut query.kind {
            QueryKind::Term { field, text } => {
                let matcher = Matcher::Fuzzy {
                    edits: auto_edits(fuzziness, text),
                    term: std::mem::take(text),
                    prefix,
                    expansions,
                    transpositions: self.transpositions,
                };
                let field = field.clone();
                query.kind = match self.rewrite {
                    None => QueryKind::MultiTerm { field, matcher },
                    Some(rewrite) => QueryKind::ByFrequency(FrequencyQuery::Rewritten {
                        field,
                        matcher,
                        rewrite,
                    }),
                };
            }
            QueryKind::Bool { clauses, .. } => clauses
                .iter_mut()
                .for_each(|(_, clause)| self.make_fuzzy(clause, fuzziness, prefix, expansions)),
            _ => {}
        }
    }

    fn empty(&self) -> Query {
        if self.zero_terms_all {
            QueryKind::All.into()
        } else {
            QueryKind::Nothing.into()
        }
    }
}

/// Converts to a phrase whose last term is a prefix. The prefix is expanded when the query is weighed.
fn with_prefix(query: Query, slop: u32, expansions: usize) -> Query {
    match query.kind {
        QueryKind::Term { field, text } => QueryKind::PhrasePrefix {
            field,
            slots: vec![],
            slop,
            last: Some((0, vec![text])),
            expansions,
        }
        .into(),
        QueryKind::Phrase { field, mut slots, slop } => {
            let last = slots.pop();
            QueryKind::PhrasePrefix {
                field,
                slots,
                slop,
                last,
                expansions,
            }
            .into()
        }
        kind => kind.into(),
    }
}

/// Parses `match`, `match_phrase` and `match_phrase_prefix`.
pub(super) fn match_query(context: &Context<'_>, name: &str, tokens: &mut Tokens<'_>) -> Result<Query> {
    let own = [
        (
            ["type"].as_slice(),
            Setting::Checked(|context, value| match_type(context, value).map(drop)),
        ),
        (&["analyzer"], Setting::Analyzer("[match] analyzer")),
        (&["fuzzy_transpositions", "fuzzyTranspositions"], Setting::Flag),
    ];
    let form = Form {
        name: "[match] query",
        settings: &[MATCH.as_slice(), &own].concat(),
        refused: &[Refused::Value, Refused::Unnamed],
    };
    let (field, settings) = text_settings(context, tokens, form.name, |tokens| form.read(context, tokens))?;
    let kind = match (name, settings.get("type")) {
        (_, Some(own)) => match_type(context, own)?,
        ("match_phrase" | "matchPhrase", None) => MatchType::Phrase,
        ("match_phrase_prefix" | "matchPhrasePrefix", None) => MatchType::PhrasePrefix,
        (_, None) => MatchType::Boolean,
    };
    let own = MatchSettings::new(context, "text", kind, &settings)?;
    let query = own.build(context, field)?.unwrap_or_else(|| QueryKind::Nothing.into());
    Ok(settings.named(context, with_boost(query, own.boost)))
}

/// Parses `field^2` to a name and a boost.
fn name_and_boost(text: &str) -> (String, f32) {
    match text.rsplit_once('^') {
        Some((name, boost)) => (name.to_owned(), boost.parse().unwrap_or(1.0)),
        None => (text.to_owned(), 1.0),
    }
}

/// Parses a list of fields and expands its patterns to the fields of each type, whatever types are searched.
pub(super) fn fields_of(context: &Context<'_>, value: &Value) -> Vec<(String, f32)> {
    let types: Vec<&str> = context.mapping.type_names().collect();
    crate::find::names(value)
        .iter()
        .map(|text| name_and_boost(text))
        .flat_map(|(pattern, boost)| {
            let names = context.names_by_type(&pattern, &types);
            names.into_iter().map(move |name| (name, boost))
        })
        .collect()
}

/// Parses a list of fields as a map from names to boosts. The last boost of a field counts.
pub(super) fn field_boosts(context: &Context<'_>, value: &Value) -> Vec<(String, f32)> {
    let boosts: IndexMap<String, f32> = fields_of(context, value).into_iter().collect();
    in_hash_order(boosts.into_iter().collect(), |(name, _)| name.clone())
}

/// Parses `multi_match`.
pub(super) fn multi_match(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let own = [
        (
            ["type"].as_slice(),
            Setting::Checked(|_, value| match_type_of_fields(value).map(drop)),
        ),
        (&["analyzer"], Setting::Analyzer("[multi_match] analyzer")),
        (&["fields"], Setting::Names),
        (&["use_dis_max", "useDisMax"], Setting::Flag),
        (&["tie_breaker", "tieBreaker"], Setting::Float),
    ];
    let form = Form {
        name: "[match] query",
        settings: &[MATCH.as_slice(), &own].concat(),
        refused: &[Refused::Value, Refused::Unnamed],
    };
    let read = form.read_with(context, tokens, |tokens, name, _| match (tokens.current(), name) {
        (Token::Object | Token::EndArray | Token::Null, Some("fields")) => {
            let reason = "[multi_match] query does not support [fields]";
            Err(parsing_error(context, reason))
        }
        _ => Ok(false),
    })?;
    let kind = read.get("type").cloned().unwrap_or_else(|| "best_fields".into());
    let settings = MatchSettings::new(context, "multi_match", match_type_of_fields(&kind)?, &read)?;
    let query = settings.in_fields(context, &text_of(&kind), &read)?;
    Ok(read.named(context, with_boost(query, settings.boost)))
}

impl MatchSettings {
    /// Builds the query for several fields: a `multi_match` of the type `kind`.
    fn in_fields(&self, context: &Context<'_>, kind: &str, read: &Settings) -> Result<Query> {
        let no_fields = || parsing_error(context, "No fields specified for multi_match query");
        let listed = read.get("fields").ok_or_else(no_fields)?;
        if listed.as_array().is_some_and(Vec::is_empty) {
            return Err(no_fields());
        }
        let mut fields = field_boosts(context, listed);
        if let [(_, boost)] = fields.as_mut_slice() {
            // The boost of an only field is replaced by that of the query.
            *boost = 1.0;
        }
        let own = if matches!(kind, "most_fields" | "mostFields") {
            1.0
        } else {
            0.0
        };
        let given = read.float("tie_breaker");
        let tie = match (read.flag("use_dis_max"), given) {
            (Some(true), None) => 0.0,
            (Some(uses), _) if uses == (own == 1.0) => 1.0,
            (_, given) => given.unwrap_or(own),
        };
        if kind == "cross_fields" || kind == "crossFields" {
            let query = self.cross_fields(context, &fields, tie)?;
            return Ok(query.unwrap_or_else(|| self.empty()));
        }
        let mut queries = Vec::new();
        for (field, boost) in &fields {
            let query = self.build(context, field)?;
            queries.extend(query.map(|query| with_boost(query, *boost)));
        }
        Ok(match queries.len() {
            0 | 1 => queries.pop().unwrap_or_else(|| QueryKind::Nothing.into()),
            _ if tie == 1.0 => Query::any(queries),
            _ => QueryKind::DisjunctionMax { queries, tie }.into(),
        })
    }
}

impl MatchSettings {
    /// Builds a `cross_fields` query: fields with the same analyzer are searched as one field.
    fn cross_fields(&self, context: &Context<'_>, fields: &[(String, f32)], tie: f32) -> Result<Option<Query>> {
        /// Names of fields, with their boosts.
        type Members = Vec<(String, f32)>;
        // By analyzer. A field that is named with its type has the analyzer of the type.
        type Key<'k> = Option<(String, Option<&'k str>)>;
        let mut groups: Vec<(Key<'_>, Members)> = Vec::new();
        for (name, boost) in fields {
            // Without that of the query, a number has an analyzer of its own.
            let is_text = |field: &&Field| self.analyzer.is_some() || !field.field_type.kind.is_numeric();
            let field = context.mapped(name).filter(is_text);
            let analyzer = field.map(|field| match self.analyzer {
                Some(_) => (String::new(), None),
                None => {
                    let own = field.field_type.search_analyzer_name();
                    let named_type = context.mapping.named_type(name).map(|(type_name, _)| type_name);
                    (own, named_type)
                }
            });
            let mut known = groups.iter_mut().filter(|(own, _)| own.is_some());
            match known.find(|(own, _)| *own == analyzer) {
                Some((_, members)) => members.push((name.clone(), *boost)),
                None => groups.push((analyzer, vec![(name.clone(), *boost)])),
            }
        }
        // Fields without a mapping come first.
        groups.sort_by_key(|(analyzer, _)| analyzer.is_some());
        let mut queries = Vec::new();
        for (_, members) in groups {
            let Some((name, boost)) = members.first() else { continue };
            let is_number = context
                .mapped(name)
                .is_some_and(|field| field.field_type.kind.is_numeric());
            // The first field stands for all.
            if members.len() == 1 || is_number {
                let query = self.build(context, name)?;
                queries.extend(query.map(|query| with_boost(query, *boost)));
                continue;
            }
            let analyzer = self.analyzer.clone().unwrap_or_else(|| context.search_analyzer(name));
            analyzer.check()?;
            let blended = words(analyzer.terms(&self.text), self.operator.occur(), |text| {
                let fields = members.iter().map(|(name, boost)| (context.field(name), *boost));
                Query::from(QueryKind::Blended {
                    fields: fields.collect(),
                    text,
                    tie,
                    cutoff: self.cutoff,
                })
            });
            queries.push(match blended {
                None => self.empty(),
                Some(query) => with_minimum(query, self.minimum_should_match.as_ref())?,
            });
        }
        Ok(match queries.len() {
            0 | 1 => queries.pop(),
            _ => Some(Query::any(queries)),
        })
    }
}

//! Full-text queries of the DSL: `match` and its variants.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::json::is_scalar;
use crate::mapping::truth;
use crate::query::dsl_parts::{
    auto_edits, boost_of, check_fuzziness, check_minimum, flattened, minimum, parsing_error, rewrite_of, text_of,
    unsupported, with_boost,
};
use crate::query::frequency::FrequencyQuery;
use crate::query::text::{Style, analyzed};
use crate::query::value::exact_value;
use crate::query::{Context, Matcher, Occur, Operator, Query, QueryKind};
use crate::ties::in_hash_order;

/// Settings of a match query.
struct MatchSettings {
    text: String,
    /// JSON value of the text.
    value: Value,
    kind: MatchType,
    operator: Operator,
    analyzer: Option<Analyzer>,
    slop: u32,
    boost: f32,
    fuzziness: Option<String>,
    prefix_length: usize,
    max_expansions: usize,
    minimum_should_match: Option<Value>,
    lenient: bool,
    transpositions: bool,
    zero_terms_all: bool,
    /// Document frequency above which a term is frequent; below 1, a share of the documents.
    cutoff: Option<f32>,
}

const MATCH_KEYS: [&str; 21] = [
    "query",
    "type",
    "analyzer",
    "boost",
    "slop",
    "phrase_slop",
    "fuzziness",
    "prefix_length",
    "prefixLength",
    "max_expansions",
    "maxExpansions",
    "operator",
    "minimum_should_match",
    "minimumShouldMatch",
    "rewrite",
    "fuzzy_rewrite",
    "fuzzy_transpositions",
    "lenient",
    "cutoff_frequency",
    "zero_terms_query",
    "_name",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum MatchType {
    Boolean,
    Phrase,
    PhrasePrefix,
}

impl MatchSettings {
    /// Parses the settings of `query`, which is `match` or `multi_match`, in its form `name`.
    fn parse(context: &Context<'_>, query: &str, name: &str, value: &Value) -> Result<MatchSettings> {
        let object = value.as_object().map(|object| flattened(context, "match", object));
        let object = object.transpose()?.unwrap_or_default();
        let number = |key: &str, default: usize| {
            object
                .get(key)
                .and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
                .map_or(default, |number| usize::try_from(number).unwrap_or(default))
        };
        if let Some(key) = object.keys().find(|key| !MATCH_KEYS.contains(&key.as_str())) {
            return Err(unsupported(context, "match", key));
        }
        let kind = match (name, object.get("type").and_then(Value::as_str)) {
            ("match_phrase" | "matchPhrase", _) | (_, Some("phrase")) => MatchType::Phrase,
            ("match_phrase_prefix" | "matchPhrasePrefix", _) | (_, Some("phrase_prefix" | "phrasePrefix")) => {
                MatchType::PhrasePrefix
            }
            (_, None | Some("boolean")) => MatchType::Boolean,
            (_, Some(other)) => {
                return Err(parsing_error(
                    context,
                    &format!("[match] query does not support type {other}"),
                ));
            }
        };
        let kind_of_text = if query == "match" { "text" } else { query };
        let no_text = || parsing_error(context, &format!("No text specified for {kind_of_text} query"));
        let text = if value.is_object() {
            object.get("query").ok_or_else(no_text)?
        } else {
            value
        };
        let analyzer = object
            .get("analyzer")
            .and_then(Value::as_str)
            .map(|name| {
                Analyzer::configured(name, context.mapping.analysis())
                    .map_err(|_| parsing_error(context, &format!("[match] analyzer [{name}] not found")))
            })
            .transpose()?;
        if text.is_null() {
            return Err(no_text());
        }
        if value.is_array() {
            let reason = "[match] query parsed in simplified form, with direct field name, but included more options \
                          than just the field name, possibly use its 'options' form, with 'query' element?";
            return Err(parsing_error(context, reason));
        }
        let operator = match object.get("operator").map(text_of) {
            None => Operator::Or,
            Some(text) if text.eq_ignore_ascii_case("or") => Operator::Or,
            Some(text) if text.eq_ignore_ascii_case("and") => Operator::And,
            Some(text) => {
                let reason = format!("text query requires operator to be either 'and' or 'or', not [{text}]");
                return Err(parsing_error(context, &reason));
            }
        };
        let zero_terms_all = match object.get("zero_terms_query").map(text_of) {
            Some(text) if text.eq_ignore_ascii_case("all") => true,
            Some(text) if !text.eq_ignore_ascii_case("none") => {
                return Err(parsing_error(
                    context,
                    &format!("Unsupported zero_terms_docs value [{text}]"),
                ));
            }
            _ => false,
        };
        let fuzziness = object.get("fuzziness").map(text_of);
        fuzziness.as_deref().map_or(Ok(()), check_fuzziness)?;
        if let Some(wanted) = object.get("minimum_should_match") {
            check_minimum(wanted)?;
        }
        rewrite_of(value)?;
        Ok(MatchSettings {
            text: text_of(text),
            value: text.clone(),
            kind,
            operator,
            analyzer,
            slop: u32::try_from(number("slop", number("phrase_slop", 0))).unwrap_or(u32::MAX),
            boost: boost_of(&object),
            fuzziness,
            prefix_length: number("prefix_length", 0),
            max_expansions: number("max_expansions", 50).min(context.max_clauses),
            minimum_should_match: object.get("minimum_should_match").cloned(),
            lenient: object.get("lenient").is_some_and(truth),
            transpositions: object.get("fuzzy_transpositions").is_some_and(truth),
            zero_terms_all,
            cutoff: crate::query::dsl_parts::number(object.get("cutoff_frequency")),
        })
    }

    /// Builds the query for a field. Returns `None` if the text has no terms.
    fn build(&self, context: &Context<'_>, name: &str) -> Result<Option<Query>> {
        let built = self.of_any_type(context, name)?;
        Ok(built.map(|query| context.of_named_type(name, query)))
    }

    fn of_any_type(&self, context: &Context<'_>, name: &str) -> Result<Option<Query>> {
        let field = context.field(name);
        if let Some(mapped) = context.mapped(name)
            && (mapped.field_type.kind.is_numeric() || mapped.field_type.kind == crate::mapping::Kind::Boolean)
        {
            return match exact_value(context, mapped, &self.value) {
                Err(_) if self.lenient => Ok(None),
                built => built.map(Some),
            };
        }
        if matches!(name, "_type" | "_id" | "_uid" | "_index") {
            return super::value::term(context, name, &Value::String(self.text.clone())).map(Some);
        }
        let analyzer = self.analyzer.clone().unwrap_or_else(|| context.search_analyzer(name));
        let style = Style {
            phrase: self.kind != MatchType::Boolean,
            slop: self.slop,
            occur: self.operator.occur(),
        };
        let Some(mut query) = analyzed(context, &field, &analyzer, &self.text, style)? else {
            return Ok(None);
        };
        if let Some(common) = self.common_terms(&query) {
            return Ok(Some(common));
        }
        match self.kind {
            MatchType::PhrasePrefix => query = self.with_prefix(query),
            MatchType::Boolean => {
                if let Some(fuzziness) = &self.fuzziness {
                    self.make_fuzzy(&mut query, fuzziness);
                }
                if let (
                    QueryKind::Bool {
                        clauses,
                        minimum_should_match,
                        ..
                    },
                    Some(wanted),
                ) = (&mut query.kind, &self.minimum_should_match)
                {
                    let optional = clauses.iter().filter(|(occur, _)| *occur == Occur::Should).count();
                    *minimum_should_match = minimum(wanted, optional);
                }
            }
            MatchType::Phrase => {}
        }
        Ok(Some(query))
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

    /// Converts to a phrase whose last term is a prefix. The prefix is expanded when the query is weighed.
    fn with_prefix(&self, query: Query) -> Query {
        match query.kind {
            QueryKind::Term { field, text } => QueryKind::PhrasePrefix {
                field,
                slots: vec![],
                slop: 0,
                last: Some((0, text)),
                expansions: self.max_expansions,
            }
            .into(),
            QueryKind::Phrase { field, mut slots, slop } => {
                let last = slots
                    .pop()
                    .and_then(|(position, mut texts)| texts.pop().map(|text| (position, text)));
                QueryKind::PhrasePrefix {
                    field,
                    slots,
                    slop,
                    last,
                    expansions: self.max_expansions,
                }
                .into()
            }
            kind => kind.into(),
        }
    }

    fn make_fuzzy(&self, query: &mut Query, fuzziness: &str) {
        match &mut query.kind {
            QueryKind::Term { field, text } => {
                let matcher = Matcher::Fuzzy {
                    edits: auto_edits(fuzziness, text),
                    term: std::mem::take(text),
                    prefix: self.prefix_length,
                    expansions: self.max_expansions,
                    transpositions: self.transpositions,
                };
                query.kind = QueryKind::MultiTerm {
                    field: field.clone(),
                    matcher,
                };
            }
            QueryKind::Bool { clauses, .. } => clauses
                .iter_mut()
                .for_each(|(_, clause)| self.make_fuzzy(clause, fuzziness)),
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

/// Parses `match`, `match_phrase` and `match_phrase_prefix`.
pub(super) fn match_query(context: &Context<'_>, name: &str, inner: &Map<String, Value>) -> Result<Query> {
    let Some((field, value)) = inner.iter().next() else {
        return Err(parsing_error(context, "[match] query malformed, no field"));
    };
    if inner.len() > 1 && !value.is_object() {
        return Err(parsing_error(
            context,
            "[match] query parsed in simplified form, with direct field name, but included more options than just the \
             field name, possibly use its 'options' form, with 'query' element?",
        ));
    }
    let settings = MatchSettings::parse(context, "match", name, value)?;
    let query = settings.build(context, field)?.unwrap_or_else(|| settings.empty());
    Ok(with_boost(query, settings.boost))
}

/// Parses `field^2` to a name and a boost.
fn name_and_boost(text: &str) -> (String, f32) {
    match text.rsplit_once('^') {
        Some((name, boost)) => (name.to_owned(), boost.parse().unwrap_or(1.0)),
        None => (text.to_owned(), 1.0),
    }
}

/// Parses a list of fields and expands its patterns.
pub(super) fn fields_of(context: &Context<'_>, value: &Value) -> Vec<(String, f32)> {
    crate::find::names(value)
        .iter()
        .map(|text| name_and_boost(text))
        .flat_map(|(pattern, boost)| context.names(&pattern).into_iter().map(move |name| (name, boost)))
        .collect()
}

/// Parses a list of fields as a map from names to boosts. The last boost of a field counts.
pub(super) fn field_boosts(context: &Context<'_>, value: &Value) -> Vec<(String, f32)> {
    let boosts: IndexMap<String, f32> = fields_of(context, value).into_iter().collect();
    in_hash_order(boosts.into_iter().collect(), |(name, _)| name.clone())
}

/// Parses `multi_match`.
pub(super) fn multi_match(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    let kind = object.get("type").and_then(Value::as_str).unwrap_or("best_fields");
    let name = match kind {
        "phrase" => "match_phrase",
        "phrase_prefix" | "phrasePrefix" => "match_phrase_prefix",
        "best_fields" | "bestFields" | "boolean" | "most_fields" | "mostFields" | "cross_fields" | "crossFields" => {
            "match"
        }
        other => return Err(SearchError::parse(format!("No type found for value: {other}"))),
    };
    let mut inner = object.clone();
    for own in [
        "type",
        "fields",
        "use_dis_max",
        "useDisMax",
        "tie_breaker",
        "tieBreaker",
    ] {
        inner.shift_remove(own);
    }
    let settings = MatchSettings::parse(context, "multi_match", name, &Value::Object(inner))?;
    if let Some(Value::Array(fields)) = object.get("fields")
        && !fields.iter().all(is_scalar)
    {
        return Err(unsupported(context, "multi_match", "fields"));
    }
    let mut fields = field_boosts(
        context,
        object
            .get("fields")
            .ok_or_else(|| parsing_error(context, "No fields specified for multi_match query"))?,
    );
    if let [(_, boost)] = fields.as_mut_slice() {
        // The boost of an only field is replaced by that of the query.
        *boost = 1.0;
    }
    if object
        .get("fields")
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty)
    {
        return Err(parsing_error(context, "No fields specified for multi_match query"));
    }
    let tie = ["tie_breaker", "tieBreaker"]
        .iter()
        .find_map(|key| object.get(*key))
        .and_then(Value::as_f64)
        .map(|tie| tie as f32);
    let dis_max = ["use_dis_max", "useDisMax"]
        .iter()
        .find_map(|key| object.get(*key))
        .is_none_or(truth);
    if kind == "cross_fields" || kind == "crossFields" {
        let query = settings.cross_fields(context, &fields, tie.unwrap_or(0.0))?;
        return Ok(with_boost(query.unwrap_or_else(|| settings.empty()), settings.boost));
    }
    let mut queries = Vec::new();
    for (field, boost) in &fields {
        let query = settings.build(context, field)?.unwrap_or_else(|| settings.empty());
        queries.push(with_boost(query, *boost));
    }
    let tie = tie.unwrap_or(if matches!(kind, "most_fields" | "mostFields") || !dis_max {
        1.0
    } else {
        0.0
    });
    let query = match queries.len() {
        0 => settings.empty(),
        1 => queries.pop().unwrap_or_else(|| settings.empty()),
        _ if tie == 1.0 => Query::any(queries),
        _ => QueryKind::DisjunctionMax { queries, tie }.into(),
    };
    Ok(with_boost(query, settings.boost))
}

impl MatchSettings {
    /// Builds a `cross_fields` query: fields with the same terms after analysis are searched as one field.
    fn cross_fields(&self, context: &Context<'_>, fields: &[(String, f32)], tie: f32) -> Result<Option<Query>> {
        type Terms = Vec<(u32, String)>;
        let mut groups: Vec<(Terms, Vec<(String, f32)>)> = Vec::new();
        for (name, boost) in fields {
            let analyzer = self.analyzer.clone().unwrap_or_else(|| context.search_analyzer(name));
            let terms = analyzer.terms(&self.text);
            let is_number = |name: &str| {
                context
                    .mapped(name)
                    .is_some_and(|field| field.field_type.kind.is_numeric())
            };
            // A number has an analyzer of its own.
            let mut others = groups.iter_mut().filter(|(_, members)| {
                !is_number(name) && !members.first().is_some_and(|(member, _)| is_number(member))
            });
            match others.find(|(known, _)| *known == terms) {
                Some((_, members)) => members.push((name.clone(), *boost)),
                None => groups.push((terms, vec![(name.clone(), *boost)])),
            }
        }
        let mut queries = Vec::new();
        for (terms, members) in groups {
            if let [(name, boost)] = members.as_slice() {
                let query = self.build(context, name)?.unwrap_or_else(|| self.empty());
                queries.push(with_boost(query, *boost));
                continue;
            }
            let clauses: Vec<(Occur, Query)> = terms
                .into_iter()
                .map(|(_, text)| {
                    let fields = members
                        .iter()
                        .map(|(name, boost)| (context.field(name), *boost))
                        .collect();
                    (self.operator.occur(), QueryKind::Blended { fields, text, tie }.into())
                })
                .collect();
            let optional = if self.operator == Operator::Or {
                clauses.len()
            } else {
                0
            };
            let wanted = self
                .minimum_should_match
                .as_ref()
                .map_or(0, |wanted| minimum(wanted, optional));
            match clauses.len() {
                0 => queries.push(self.empty()),
                1 => queries.extend(clauses.into_iter().map(|(_, query)| query)),
                _ => queries.push(
                    QueryKind::Bool {
                        clauses,
                        minimum_should_match: wanted,
                        coord: true,
                    }
                    .into(),
                ),
            }
        }
        Ok(match queries.len() {
            0 | 1 => queries.pop(),
            _ => Some(Query::any(queries)),
        })
    }
}

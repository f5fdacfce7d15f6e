//! The full-text queries of the DSL: match in all its forms, and query strings.

use serde_json::{Map, Value};

use super::dsl::{minimum, refuse};
use super::dsl_leaf::{auto_edits, text_of, zone};
use super::text::{Style, analyzed, exact};
use super::{Operator, StringSettings, parse_string};
use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::mapping::truth;
use crate::query::{Context, Matcher, Occur, Query, QueryKind};

/// The settings of a match query.
struct MatchSettings {
    text: String,
    kind: Form,
    operator: Operator,
    analyzer: Option<Analyzer>,
    slop: u32,
    boost: f32,
    fuzziness: Option<String>,
    prefix_length: usize,
    max_expansions: usize,
    minimum_should_match: Option<Value>,
    lenient: bool,
    zero_terms_all: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Boolean,
    Phrase,
    PhrasePrefix,
}

impl MatchSettings {
    fn parse(context: &Context<'_>, name: &str, value: &Value) -> Result<MatchSettings> {
        let empty = Map::new();
        let object = value.as_object().unwrap_or(&empty);
        let number = |key: &str, default: usize| {
            object
                .get(key)
                .and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
                .map_or(default, |number| usize::try_from(number).unwrap_or(default))
        };
        let kind = match (name, object.get("type").and_then(Value::as_str)) {
            ("match_phrase" | "text_phrase", _) | (_, Some("phrase")) => Form::Phrase,
            ("match_phrase_prefix", _) | (_, Some("phrase_prefix" | "phrasePrefix")) => Form::PhrasePrefix,
            _ => Form::Boolean,
        };
        let text = if value.is_object() {
            object
                .get("query")
                .ok_or_else(|| refuse(context, "No text specified for text query"))?
        } else {
            value
        };
        let analyzer = object
            .get("analyzer")
            .and_then(Value::as_str)
            .map(|name| {
                Analyzer::configured(name, context.mapping.analysis()).map_err(|reason| refuse(context, &reason))
            })
            .transpose()?;
        Ok(MatchSettings {
            text: text_of(text),
            kind,
            operator: crate::find::operator(object.get("operator").and_then(Value::as_str))?,
            analyzer,
            slop: u32::try_from(number("slop", 0)).unwrap_or(u32::MAX),
            boost: object.get("boost").and_then(Value::as_f64).unwrap_or(1.0) as f32,
            fuzziness: object.get("fuzziness").map(text_of),
            prefix_length: number("prefix_length", 0),
            max_expansions: number("max_expansions", 50).min(context.most_clauses),
            minimum_should_match: object.get("minimum_should_match").cloned(),
            lenient: object.get("lenient").is_some_and(truth),
            zero_terms_all: object.get("zero_terms_query").and_then(Value::as_str) == Some("all"),
        })
    }

    /// The query for a field, or none if the text says nothing.
    fn build(&self, context: &Context<'_>, name: &str) -> Result<Option<Query>> {
        let field = context.field(name);
        if let Some(mapped) = context.mapped(name)
            && (mapped.field_type.kind.is_numeric() || mapped.field_type.kind == crate::mapping::Kind::Boolean)
        {
            return match exact(context, mapped, &self.text) {
                Err(_) if self.lenient => Ok(None),
                built => built.map(Some),
            };
        }
        if name == "_type" {
            return Ok(Some(context.of_type(&self.text)));
        }
        let analyzer = self.analyzer.clone().unwrap_or_else(|| {
            context.mapped(name).map_or_else(
                || context.mapping.all().search_analyzer.clone(),
                |field| field.search_analyzer.clone(),
            )
        });
        let style = Style {
            phrase: self.kind != Form::Boolean,
            slop: self.slop,
            occur: self.operator.occur(),
        };
        let Some(mut query) = analyzed(context, &field, &analyzer, &self.text, style)? else {
            return Ok(None);
        };
        match self.kind {
            Form::PhrasePrefix => query = self.with_prefix(query),
            Form::Boolean => {
                if let Some(fuzziness) = &self.fuzziness {
                    self.make_fuzzy(&mut query, fuzziness);
                }
                if let (QueryKind::Bool { clauses, at_least, .. }, Some(wanted)) =
                    (&mut query.kind, &self.minimum_should_match)
                {
                    let optional = clauses.iter().filter(|(occur, _)| *occur == Occur::Should).count();
                    *at_least = minimum(wanted, optional);
                }
            }
            Form::Phrase => {}
        }
        Ok(Some(query))
    }

    /// The last term of a phrase stands for all that start with it. The terms are found where the phrase is weighed.
    fn with_prefix(&self, query: Query) -> Query {
        match query.kind {
            QueryKind::Term { field, text } => QueryKind::Multi {
                field,
                matcher: Matcher::Prefix(text),
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
                    transpositions: true,
                };
                query.kind = QueryKind::Multi {
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

/// `match`, `match_phrase`, `match_phrase_prefix`.
pub(super) fn matching(context: &Context<'_>, name: &str, field: &str, value: &Value) -> Result<Query> {
    let settings = MatchSettings::parse(context, name, value)?;
    let query = settings.build(context, field)?.unwrap_or_else(|| settings.empty());
    Ok(if settings.boost == 1.0 {
        query
    } else {
        query.boosted(settings.boost)
    })
}

/// `field^2` as a name and a boost.
fn with_boost(text: &str) -> (String, f32) {
    match text.rsplit_once('^') {
        Some((name, boost)) => (name.to_owned(), boost.parse().unwrap_or(1.0)),
        None => (text.to_owned(), 1.0),
    }
}

/// The fields of a list, patterns opened.
fn fields_of(context: &Context<'_>, value: &Value) -> Vec<(String, f32)> {
    crate::find::names(value)
        .iter()
        .map(|text| with_boost(text))
        .flat_map(|(pattern, boost)| context.names(&pattern).into_iter().map(move |name| (name, boost)))
        .collect()
}

/// `multi_match`.
pub(super) fn multi_match(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    let kind = object.get("type").and_then(Value::as_str).unwrap_or("best_fields");
    let name = match kind {
        "phrase" => "match_phrase",
        "phrase_prefix" => "match_phrase_prefix",
        _ => "match",
    };
    let mut inner = object.clone();
    inner.remove("type");
    let settings = MatchSettings::parse(context, name, &Value::Object(inner))?;
    let fields = fields_of(
        context,
        object
            .get("fields")
            .ok_or_else(|| refuse(context, "No fields specified for multi_match query"))?,
    );
    let mut queries = Vec::new();
    for (field, boost) in &fields {
        queries.extend(
            settings
                .build(context, field)?
                .map(|query| if *boost == 1.0 { query } else { query.boosted(*boost) }),
        );
    }
    let query = match (queries.len(), kind) {
        (0, _) => settings.empty(),
        (1, _) => queries.pop().unwrap_or_else(|| settings.empty()),
        (_, "most_fields") => QueryKind::Bool {
            clauses: queries.into_iter().map(|query| (Occur::Should, query)).collect(),
            at_least: 0,
            coord: false,
        }
        .into(),
        _ => QueryKind::Best {
            queries,
            tie: object.get("tie_breaker").and_then(Value::as_f64).unwrap_or(0.0) as f32,
        }
        .into(),
    };
    Ok(if settings.boost == 1.0 {
        query
    } else {
        query.boosted(settings.boost)
    })
}

/// `query_string`.
pub(super) fn query_string(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    let text = object
        .get("query")
        .map(text_of)
        .ok_or_else(|| refuse(context, "query_string must be provided with a [query]"))?;
    let mut settings = StringSettings::default();
    let mut boost = 1.0;
    let mut minimum_should_match = None;
    for (key, value) in object {
        let count = || value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0);
        match key.as_str() {
            "default_field" => settings.fields = vec![(text_of(value), 1.0)],
            "fields" => {
                let fields = fields_of(context, value);
                if !fields.is_empty() {
                    settings.fields = fields;
                }
            }
            "default_operator" => settings.operator = crate::find::operator(value.as_str())?,
            "analyzer" => settings.analyzer = value.as_str().map(str::to_owned),
            "lowercase_expanded_terms" => settings.lowercase_expanded_terms = truth(value),
            "analyze_wildcard" => settings.analyze_wildcard = truth(value),
            "allow_leading_wildcard" => settings.allow_leading_wildcard = truth(value),
            "auto_generate_phrase_queries" => settings.auto_generate_phrase_queries = truth(value),
            "lenient" => settings.lenient = truth(value),
            "phrase_slop" => settings.phrase_slop = u32::try_from(count()).unwrap_or(u32::MAX),
            "fuzzy_prefix_length" => settings.fuzzy_prefix_length = usize::try_from(count()).unwrap_or(0),
            "fuzzy_max_expansions" => {
                settings.fuzzy_max_expansions = usize::try_from(count()).unwrap_or(50).min(context.most_clauses)
            }
            "use_dis_max" => settings.use_dis_max = truth(value),
            "tie_breaker" => settings.tie_breaker = value.as_f64().unwrap_or(0.0) as f32,
            "boost" => boost = value.as_f64().unwrap_or(1.0) as f32,
            "minimum_should_match" => minimum_should_match = Some(value.clone()),
            "time_zone" => {
                settings.time_zone = zone(&text_of(value))
                    .ok_or_else(|| SearchError::query(format!("time zone [{value}] is not understood")))?
            }
            "query"
            | "enable_position_increments"
            | "fuzzy_min_sim"
            | "fuzziness"
            | "rewrite"
            | "fuzzy_rewrite"
            | "locale"
            | "_name"
            | "quote_analyzer"
            | "quote_field_suffix"
            | "escape"
            | "flags"
            | "max_determinized_states" => {}
            other => {
                return Err(refuse(
                    context,
                    &format!("[query_string] query does not support [{other}]"),
                ));
            }
        }
    }
    let mut query = parse_string(context, &text, &settings)?;
    if let (QueryKind::Bool { clauses, at_least, .. }, Some(wanted)) = (&mut query.kind, minimum_should_match) {
        let optional = clauses.iter().filter(|(occur, _)| *occur == Occur::Should).count();
        *at_least = minimum(&wanted, optional);
    }
    Ok(if boost == 1.0 { query } else { query.boosted(boost) })
}

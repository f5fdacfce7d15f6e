//! Query strings in the DSL.
//!
//! Source: Elasticsearch 1.5's `QueryStringQueryParser` and `SimpleQueryStringParser`.

use serde_json::Value;

use crate::dates::TimeZone;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::text_of;
use crate::json::{Token, Tokens};
use crate::mapping::locale;
use crate::query::dsl_match::{field_boosts, fields_of};
use crate::query::dsl_parts::{parsing_error, rewrite_of, with_boost, with_minimum};
use crate::query::reader::{Form, REWRITE, Refused, Setting, fuzziness_of};
use crate::query::simple::{self, Flags, SimpleSettings};
use crate::query::text::slop_of;
use crate::query::{Context, Operator, Query, QueryKind, StringSettings, parse_string};

const LOCALE: Setting = Setting::Checked(|_, value| locale(&text_of(value)).map(drop));

/// Parses the default operator of a query string.
fn operator_of(context: &Context<'_>, value: &Value) -> Result<Operator> {
    let text = text_of(value);
    let reason = format!("Query default operator [{text}] is not allowed");
    Operator::parse(&text).ok_or_else(|| parsing_error(context, &reason))
}

/// Parses the default operator of a simple query string.
fn simple_operator_of(context: &Context<'_>, value: &Value) -> Result<Operator> {
    let text = text_of(value);
    let reason = format!("[simple_query_string] default operator [{text}] is not allowed");
    Operator::parse(&text).ok_or_else(|| parsing_error(context, &reason))
}

/// Parses the operators of a simple query string that are enabled.
fn flags_of(value: &Value) -> Result<Flags> {
    match value {
        Value::String(_) | Value::Bool(_) => Flags::parse(&text_of(value)),
        _ => Ok(Flags::ALL),
    }
}

/// Parses `time_zone`, which is only checked, as in Elasticsearch.
fn check_time_zone(context: &Context<'_>, value: &Value) -> Result<()> {
    let zone = text_of(value);
    let unknown = |_| parsing_error(context, &format!("[query_string] time_zone [{zone}] is unknown"));
    TimeZone::parse(&zone).map(drop).map_err(unknown)
}

/// Parses `simple_query_string`.
pub(super) fn simple_query_string(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[simple_query_string] query",
        settings: &[
            (&["fields"], Setting::List),
            (&["query"], Setting::Scalar),
            (&["analyzer"], Setting::Analyzer("[simple_query_string] analyzer")),
            (&["field"], Setting::Scalar),
            (
                &["default_operator", "defaultOperator"],
                Setting::Checked(|context, value| simple_operator_of(context, value).map(drop)),
            ),
            (&["flags"], Setting::Checked(|_, value| flags_of(value).map(drop))),
            (&["locale"], LOCALE),
            (&["lowercase_expanded_terms"], Setting::Flag),
            (&["lenient"], Setting::Flag),
            (&["analyze_wildcard"], Setting::Flag),
            (&["minimum_should_match"], Setting::Scalar),
            (&["_name"], Setting::Scalar),
        ],
        refused: &[Refused::Array],
    };
    let settings = form.read_with(context, tokens, |tokens, name, _| match tokens.current() {
        // Elasticsearch has another text for values.
        Token::Value(_) if !form.has_value(name) => {
            let reason = format!("[simple_query_string] unsupported field [{}]", name.unwrap_or("null"));
            Err(parsing_error(context, &reason))
        }
        _ => Ok(false),
    })?;
    let text = settings
        .text("query")
        .ok_or_else(|| parsing_error(context, "[simple_query_string] query text missing"))?;
    let fields = settings.get("fields").map(|fields| field_boosts(context, fields));
    let flags = settings.get("flags").map(flags_of).transpose()?;
    let operator = settings.get("default_operator");
    let operator = operator.map(|own| simple_operator_of(context, own)).transpose()?;
    let parsed = SimpleSettings {
        fields: match fields {
            Some(fields) if !fields.is_empty() => fields,
            _ => vec![(context.mapping.default_field().to_owned(), 1.0)],
        },
        operator: operator.unwrap_or_default().occur(),
        flags: flags.unwrap_or(Flags::ALL),
        analyzer: settings.analyzer("analyzer"),
        lowercase: settings.flag("lowercase_expanded_terms").unwrap_or(true),
        lenient: settings.flag("lenient").unwrap_or(false),
        analyzes_wildcards: settings.flag("analyze_wildcard").unwrap_or(false),
    };
    let query = match simple::parse(context, &text, &parsed)? {
        Some(query) => query,
        None if settings.get("_name").is_some() => {
            return Err(SearchError::new(500, Exception::NullPointer, "Query may not be null"));
        }
        None => QueryKind::Nothing.into(),
    };
    let query = with_minimum(query, settings.get("minimum_should_match"))?;
    Ok(settings.named(context, query))
}

/// Converts the fuzziness of a query string to a similarity.
///
/// # Errors
/// A boolean, more than two edits, a number of edits with a fraction, a text that is no number.
fn similarity_of(fuzziness: &Value) -> Result<f32> {
    let fuzziness = fuzziness_of(fuzziness)?;
    match fuzziness.as_str() {
        "1" => return Ok(0.8),
        "2" => return Ok(0.66),
        auto if auto.eq_ignore_ascii_case("auto") => return Ok(0.66),
        _ => {}
    }
    let similarity: f32 = fuzziness.parse().map_err(|_| SearchError::float(&fuzziness))?;
    match (0.0..1.0).contains(&similarity) {
        true => Ok(similarity),
        false => {
            let reason = format!("Can't get similarity from fuzziness [{fuzziness}]");
            Err(SearchError::illegal(reason))
        }
    }
}

/// Parses `query_string`.
pub(super) fn query_string(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[query_string] query",
        settings: &[
            (&["fields"], Setting::List),
            (&["query"], Setting::Scalar),
            (&["default_field", "defaultField"], Setting::Scalar),
            (
                &["default_operator", "defaultOperator"],
                Setting::Checked(|context, value| operator_of(context, value).map(drop)),
            ),
            (&["analyzer"], Setting::Analyzer("[query_string] analyzer")),
            (
                &["quote_analyzer", "quoteAnalyzer"],
                Setting::Analyzer("[query_string] quote_analyzer"),
            ),
            (&["allow_leading_wildcard", "allowLeadingWildcard"], Setting::Flag),
            (
                &["auto_generate_phrase_queries", "autoGeneratePhraseQueries"],
                Setting::Flag,
            ),
            (&["max_determinized_states", "maxDeterminizedStates"], Setting::Int),
            (&["lowercase_expanded_terms", "lowercaseExpandedTerms"], Setting::Flag),
            (
                &["enable_position_increments", "enablePositionIncrements"],
                Setting::Flag,
            ),
            (&["escape"], Setting::Flag),
            (&["use_dis_max", "useDisMax"], Setting::Flag),
            (&["fuzzy_prefix_length", "fuzzyPrefixLength"], Setting::Int),
            (&["fuzzy_max_expansions", "fuzzyMaxExpansions"], Setting::Int),
            (&["fuzzy_rewrite", "fuzzyRewrite"], REWRITE),
            (&["phrase_slop", "phraseSlop"], Setting::Int),
            (
                &["fuzziness", "fuzzy_min_sim", "fuzzyMinSim"],
                Setting::Checked(|_, value| similarity_of(value).map(drop)),
            ),
            (&["boost"], Setting::Float),
            (&["tie_breaker", "tieBreaker"], Setting::Float),
            (&["analyze_wildcard", "analyzeWildcard"], Setting::Flag),
            (&["rewrite"], REWRITE),
            (&["minimum_should_match", "minimumShouldMatch"], Setting::Scalar),
            (&["quote_field_suffix", "quoteFieldSuffix"], Setting::Scalar),
            (&["lenient"], Setting::Flag),
            (&["locale"], LOCALE),
            (&["time_zone", "timeZone"], Setting::Checked(check_time_zone)),
            (&["_name"], Setting::Scalar),
        ],
        refused: &[Refused::Array, Refused::Value, Refused::Unnamed],
    };
    let settings = form.read(context, tokens)?;
    let wanted = settings.get("minimum_should_match");
    let operator = settings.get("default_operator").map(|own| operator_of(context, own));
    let mut parsed = StringSettings {
        operator: operator.transpose()?.unwrap_or_default(),
        analyzer: settings.analyzer("analyzer"),
        quote_analyzer: settings.analyzer("quote_analyzer"),
        quote_field_suffix: settings.text("quote_field_suffix").unwrap_or_default(),
        ..StringSettings::default()
    };
    if let Some(field) = settings.text("default_field") {
        parsed.fields = Some(vec![(field, 1.0)]);
    }
    if let Some(fields) = settings.get("fields") {
        let mut fields = fields_of(context, fields);
        if let [(_, boost)] = fields.as_mut_slice() {
            // An only field is the default field, which has no boost.
            *boost = 1.0;
        }
        if !fields.is_empty() {
            parsed.fields = Some(fields);
        }
    }
    for (key, flag) in [
        ("lowercase_expanded_terms", &mut parsed.lowercase_expanded_terms),
        ("analyze_wildcard", &mut parsed.analyze_wildcard),
        ("allow_leading_wildcard", &mut parsed.allow_leading_wildcard),
        ("auto_generate_phrase_queries", &mut parsed.auto_generate_phrase_queries),
        ("enable_position_increments", &mut parsed.enable_position_increments),
        ("lenient", &mut parsed.lenient),
        ("use_dis_max", &mut parsed.use_dis_max),
    ] {
        *flag = settings.flag(key).unwrap_or(*flag);
    }
    if let Some(slop) = settings.int("phrase_slop") {
        parsed.phrase_slop = slop_of(slop);
    }
    if let Some(fuzziness) = settings.get("fuzziness") {
        parsed.fuzzy_similarity = similarity_of(fuzziness)?;
    }
    if let Some(length) = settings.int("fuzzy_prefix_length") {
        parsed.fuzzy_prefix_length = length;
    }
    if let Some(expansions) = settings.int("fuzzy_max_expansions") {
        parsed.fuzzy_max_expansions = expansions;
    }
    if let Some(tie) = settings.float("tie_breaker") {
        parsed.tie_breaker = tie;
    }
    parsed.rewrite = rewrite_of(settings.get("rewrite"))?;
    let text = settings
        .text("query")
        .ok_or_else(|| parsing_error(context, "query_string must be provided with a [query]"))?;
    let text = if settings.flag("escape").unwrap_or(false) {
        escaped(&text)
    } else {
        text
    };
    let query = with_minimum(parse_string(context, &text, &parsed)?, wanted)?;
    Ok(settings.named(context, with_boost(query, settings.boost())))
}

/// Escapes the characters of a text that have a meaning in query strings, as `QueryParser.escape` of Lucene 4.10 does.
fn escaped(text: &str) -> String {
    let special = |c: char| "\\+-!():^[]\"{}~*?|&/".contains(c);
    let letters = text
        .chars()
        .flat_map(|c| special(c).then_some('\\').into_iter().chain([c]));
    letters.collect()
}

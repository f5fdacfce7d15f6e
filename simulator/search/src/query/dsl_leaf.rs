//! Leaf queries of the DSL: queries for the values of a field.
//!
//! Source: the query parsers of Elasticsearch 1.5.

use serde_json::Value;

use crate::dates::{DateFormat, Fill, TimeZone, parse_math};
use crate::error::Result;
use crate::json::text_of;
use crate::json::{Token, Tokens};
use crate::mapping::Kind;
use crate::query::dsl_match::{match_query, multi_match};
use crate::query::dsl_parts::{
    auto_edits, check_fuzziness, fuzzy_limits, fuzzy_rewrite_of, parsing_error, rewrite_of, with_boost, with_minimum,
};
use crate::query::dsl_string::{query_string, simple_query_string};
use crate::query::field_reader::field_settings;
use crate::query::reader::{self, Form, Refused, Setting, Settings, flag, float_of, plain_text, value_of};
use crate::query::regexp_parser::operators;
use crate::query::text::{fuzzy_number, range, term_text};
use crate::query::value::{ids_of_types, number_range, number_term, rewritten, term};
use crate::query::{Context, Matcher, Occur, Query, QueryField, QueryKind};

/// Tokens that are refused for prefixes and regular expressions. Elasticsearch's parsers ignore unknown values.
const NO_VALUES: &[Refused] = &[Refused::Object, Refused::Array, Refused::Null];

fn missing_value(context: &Context<'_>, name: &str) -> crate::error::SearchError {
    parsing_error(context, &format!("No value specified for {name} query"))
}

fn term_query(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form::of_any(
        "[term] query",
        &[
            (&["value", "term"], Setting::Nullable),
            (&["boost"], Setting::Float),
            (&["_name"], Setting::Nullable),
        ],
    );
    let (field, settings) = field_settings(context, tokens, &form, plain_text)?;
    let value = settings.get("value").ok_or_else(|| missing_value(context, "term"))?;
    let query = context.of_named_type(field, with_boost(term(context, field, value)?, settings.boost()));
    Ok(settings.named(context, query))
}

fn ids(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[ids] query",
        settings: &[
            (&["type", "_type"], Setting::Names),
            (&["types"], Setting::List),
            (&["boost"], Setting::Float),
            (&["_name"], Setting::Scalar),
        ],
        refused: &[Refused::Array, Refused::Value],
    };
    let id = |tokens: &Tokens<'_>| match tokens.current() {
        Token::Value(id @ (Value::String(_) | Value::Number(_))) => Ok(text_of(id)),
        _ => {
            let token = tokens.kind();
            let reason = format!("Illegal value for id, expecting a string or number, got: {token}");
            Err(parsing_error(context, &reason))
        }
    };
    let (settings, ids) = read_ids(context, tokens, &form, id)?;
    let ids = ids.ok_or_else(|| parsing_error(context, "[ids] query, no ids values provided"))?;
    let query = match ids.is_empty() {
        true => QueryKind::Nothing.into(),
        false => with_boost(ids_of_types(context, &types_of(&settings), &ids), settings.boost()),
    };
    Ok(settings.named(context, query))
}

/// Types of an `ids` query or filter.
pub(super) fn types_of(settings: &Settings) -> Vec<String> {
    match settings.get("types").or(settings.get("type")) {
        None => vec![],
        Some(Value::Array(types)) => types.iter().map(text_of).collect(),
        Some(only) => vec![text_of(only)],
    }
}

/// Reads an `ids` query or filter: its settings, and the ids if there are some. `id` reads an id from a token of the
/// list.
pub(super) fn read_ids(
    context: &Context<'_>,
    tokens: &mut Tokens<'_>,
    form: &Form<'_>,
    id: impl Fn(&Tokens<'_>) -> Result<String>,
) -> Result<(Settings, Option<Vec<String>>)> {
    let mut ids: Option<Vec<String>> = None;
    let settings = form.read_with(context, tokens, |tokens, name, _| {
        if !matches!((tokens.current(), name), (Token::Array, Some("values"))) {
            return Ok(false);
        }
        let listed = ids.get_or_insert_default();
        while tokens.within_array().is_some() {
            listed.push(id(tokens)?);
        }
        Ok(true)
    })?;
    Ok((settings, ids))
}

/// Parses a multi-term query, and returns its field. `None`: `name` is not one.
fn multi_term<'a>(context: &Context<'_>, name: &str, tokens: &mut Tokens<'a>) -> Result<Option<(&'a str, Query)>> {
    const BOOST: (&[&str], Setting) = (&["boost"], Setting::Float);
    const REWRITE: (&[&str], Setting) = (&["rewrite"], Setting::Nullable);
    const NAME: (&[&str], Setting) = (&["_name"], Setting::Nullable);
    const NAME_ALONE: (&[&str], Setting) = (&["_name"], Setting::Scalar);
    let prefix_settings = [
        (["value", "prefix"].as_slice(), Setting::Scalar),
        BOOST,
        (&["rewrite"], Setting::Scalar),
        NAME_ALONE,
    ];
    let wildcard_settings = [
        (["value", "wildcard"].as_slice(), Setting::Nullable),
        BOOST,
        REWRITE,
        NAME,
    ];
    let regexp_settings = [
        (["value"].as_slice(), Setting::Scalar),
        BOOST,
        (&["rewrite"], Setting::Scalar),
        NAME_ALONE,
        (
            &["flags"],
            Setting::Checked(|_, value| operators(Some(value), None).map(drop)),
        ),
        // Without effect.
        (&["max_determinized_states"], Setting::Nullable),
        (&["flags_value"], Setting::Int),
    ];
    let fuzzy_settings = [
        (["value", "term"].as_slice(), Setting::Nullable),
        BOOST,
        (&["rewrite"], reader::REWRITE),
        NAME,
        (&["fuzziness", "min_similarity", "minSimilarity"], Setting::Fuzziness),
        (&["prefix_length", "prefixLength"], Setting::Int),
        (&["max_expansions", "maxExpansions"], Setting::Int),
        (&["transpositions"], Setting::Flag),
    ];
    let form = match name {
        "range" => return range_of_field(context, tokens).map(Some),
        "prefix" => Form {
            name: "[prefix] query",
            settings: &prefix_settings,
            refused: NO_VALUES,
        },
        "wildcard" => Form::of_any("[wildcard] query", &wildcard_settings),
        "regexp" => Form {
            name: "[regexp] query",
            settings: &regexp_settings,
            refused: NO_VALUES,
        },
        "fuzzy" => Form::of_any("[fuzzy] query", &fuzzy_settings),
        _ => return Ok(None),
    };
    // Only the parser of regular expressions does not take numbers for texts.
    let is_text = name != "regexp";
    let plain = if is_text { plain_text } else { value_of };
    let (field, settings) = field_settings(context, tokens, &form, plain)?;
    // Elasticsearch takes wildcards for prefixes here.
    let shown = if name == "wildcard" { "prefix" } else { name };
    let value = settings.get("value").ok_or_else(|| missing_value(context, shown))?;
    let boost = settings.boost();
    let rewrite = settings.get("rewrite");
    let rewrite = if name == "fuzzy" {
        fuzzy_rewrite_of(rewrite)
    } else {
        rewrite_of(rewrite)
    }?;
    let text = text_of(value);
    let numeric = context.numeric(field);
    if let Some(mapped) = numeric.filter(|_| name == "fuzzy") {
        let query = fuzzy_number(context, mapped, &text, &fuzziness_of(&settings))?;
        return Ok(Some((field, settings.named(context, with_boost(query, boost)))));
    }
    let given = if is_text { text.as_str().into() } else { value.clone() };
    if let Some(query) = number_term(context, numeric, &given)? {
        return Ok(Some((field, settings.named(context, query.boosted(boost)))));
    }
    let text = term_text(context, field, text)?;
    let matcher = match name {
        "prefix" => Matcher::Prefix(text),
        "wildcard" => Matcher::Wildcard(text),
        "fuzzy" => fuzzy(context, text, &settings)?,
        _ => Matcher::regexp(text, operators(settings.get("flags"), settings.int("flags_value"))?)?,
    };
    let query = rewritten(context, field, matcher, rewrite);
    Ok(Some((field, settings.named(context, query.boosted(boost)))))
}

/// Parses the leaf query `name`.
pub(super) fn leaf(context: &Context<'_>, name: &str, tokens: &mut Tokens<'_>) -> Result<Query> {
    if let Some((field, query)) = multi_term(context, name, tokens)? {
        return Ok(context.of_named_type(field, query));
    }
    match name {
        "query_string" | "queryString" => query_string(context, tokens),
        "simple_query_string" | "simpleQueryString" => simple_query_string(context, tokens),
        "match"
        | "match_phrase"
        | "matchPhrase"
        | "match_phrase_prefix"
        | "matchPhrasePrefix"
        | "match_fuzzy"
        | "fuzzy_match" => match_query(context, name, tokens),
        "multi_match" | "multiMatch" => multi_match(context, tokens),
        "term" => term_query(context, tokens),
        "terms" | "in" => terms(context, tokens),
        "ids" => ids(context, tokens),
        other => Err(parsing_error(context, &format!("No query registered for [{other}]"))),
    }
}

/// Reads the values of a `terms` query or filter.
pub(super) fn values_of(context: &Context<'_>, tokens: &mut Tokens<'_>, kind: &str) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    while tokens.within_array().is_some() {
        let value = value_of(tokens);
        let reason = || parsing_error(context, &format!("No value specified for terms {kind}"));
        values.push(value.ok_or_else(reason)?);
        context.check_values(values.len())?;
    }
    Ok(values)
}

fn terms(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[terms] query",
        settings: &[
            (&["disable_coord", "disableCoord"], Setting::Flag),
            (
                &[
                    "minimum_match",
                    "minimumMatch",
                    "minimum_should_match",
                    "minimumShouldMatch",
                ],
                Setting::Scalar,
            ),
            (&["boost"], Setting::Float),
            (&["_name"], Setting::Scalar),
        ],
        refused: &[Refused::Object, Refused::Array, Refused::Value, Refused::Null],
    };
    let mut found = None;
    let settings = form.read_with(context, tokens, |tokens, name, _| match tokens.current() {
        Token::Array if found.is_some() => {
            Err(parsing_error(context, "[terms] query does not support multiple fields"))
        }
        Token::Array => {
            found = Some((name.unwrap_or("null"), values_of(context, tokens, "query")?));
            Ok(true)
        }
        Token::EndArray => Err(parsing_error(context, &form.unsupported(name))),
        _ => Ok(false),
    })?;
    let (field, values) = found.ok_or_else(|| parsing_error(context, "No field specified for terms query"))?;
    let queries = values
        .iter()
        .map(|value| term(context, field, value))
        .collect::<Result<Vec<_>>>()?;
    let query = QueryKind::Bool {
        clauses: queries.into_iter().map(|query| (Occur::Should, query)).collect(),
        minimum_should_match: 0,
        coord: !settings.flag("disable_coord").unwrap_or(false),
    };
    let query = with_minimum(query.into(), settings.get("minimum_match"))?;
    let query = context.of_named_type(field, with_boost(query, settings.boost()));
    Ok(settings.named(context, query))
}

/// Parses `range` as a query.
fn range_of_field<'a>(context: &Context<'_>, tokens: &mut Tokens<'a>) -> Result<(&'a str, Query)> {
    let malformed = |reason: &str| parsing_error(context, &format!("[range] query malformed, {reason}"));
    let Token::Name(field) = tokens.advance() else {
        return Err(malformed("no field to indicate field name"));
    };
    if !matches!(tokens.advance(), Token::Object) {
        return Err(malformed("after field missing start object"));
    }
    let limits = Limits::read(context, tokens, "[range] query")?;
    if !matches!(tokens.advance(), Token::EndObject) {
        return Err(malformed("does not end with an object"));
    }
    let query = limits.query(context, field)?;
    Ok((field, query))
}

/// Bounds and settings of a `range` query or filter.
#[derive(Default)]
pub(super) struct Limits {
    lower: Option<Value>,
    upper: Option<Value>,
    excludes_lower: bool,
    excludes_upper: bool,
    zone: Option<TimeZone>,
    format: Option<DateFormat>,
    boost: Option<f32>,
    name: Option<Value>,
    is_filter: bool,
}

impl Limits {
    /// Reads an object of limits. `kind` is the query or filter in errors.
    pub(super) fn read(context: &Context<'_>, tokens: &mut Tokens<'_>, kind: &str) -> Result<Limits> {
        let mut limits = Limits {
            is_filter: kind.ends_with("filter"),
            ..Limits::default()
        };
        let mut name = "";
        while let Some(token) = tokens.within_object() {
            if let Token::Name(own) = token {
                name = own;
                continue;
            }
            let value = value_of(tokens);
            let given = value.clone().unwrap_or_default();
            match name {
                "from" => limits.lower = value,
                "to" => limits.upper = value,
                "gte" | "ge" => (limits.lower, limits.excludes_lower) = (value, false),
                "gt" => (limits.lower, limits.excludes_lower) = (value, true),
                "lte" | "le" => (limits.upper, limits.excludes_upper) = (value, false),
                "lt" => (limits.upper, limits.excludes_upper) = (value, true),
                "include_lower" | "includeLower" => limits.excludes_lower = !flag(tokens)?,
                "include_upper" | "includeUpper" => limits.excludes_upper = !flag(tokens)?,
                "time_zone" | "timeZone" => limits.zone = Some(TimeZone::parse(&text_of(&given))?),
                "format" => limits.format = Some(DateFormat::new(&text_of(&given))?),
                "boost" if !limits.is_filter => limits.boost = Some(float_of(tokens)?),
                "_name" if !limits.is_filter => limits.name = value,
                other => return Err(parsing_error(context, &format!("{kind} does not support [{other}]"))),
            }
        }
        Ok(limits)
    }

    /// Takes numbers for their texts.
    pub(super) fn with_texts(mut self) -> Limits {
        for bound in [&mut self.lower, &mut self.upper].into_iter().flatten() {
            *bound = text_of(bound).into();
        }
        self
    }

    /// Whether a bound is `now` without rounding.
    pub(super) fn has(&self, is_found: impl Fn(&str) -> bool) -> bool {
        let bounds = [&self.lower, &self.upper].into_iter().flatten();
        bounds.filter_map(Value::as_str).any(is_found)
    }

    /// Builds the query for a field.
    pub(super) fn query(&self, context: &Context<'_>, field: &str) -> Result<Query> {
        let mapped = context.mapped(field);
        let is_date = mapped.is_some_and(|mapped| mapped.field_type.kind == Kind::Date);
        if self.zone.is_some() && mapped.is_some() && !is_date {
            let reason = format!("[range] time_zone can not be applied to non date field [{field}]");
            return Err(parsing_error(context, &reason));
        }
        if self.zone.is_some() && is_date && [&self.lower, &self.upper].into_iter().flatten().any(Value::is_number) {
            let reason = format!(
                "[range] time_zone when using ms since epoch format as it's UTC based can not be applied to [{field}]"
            );
            return Err(parsing_error(context, &reason));
        }
        let offset = self.zone.as_ref().map_or(0, |zone| zone.offset_at(context.now));
        let [lower, upper] =
            [(&self.lower, self.excludes_lower), (&self.upper, self.excludes_upper)].map(|(value, is_excluded)| {
                let value = value.as_ref().filter(|value| **value != "*");
                value.map(|value| (value, !is_excluded))
            });
        if let Some(mapped) = mapped.filter(|mapped| mapped.field_type.kind.is_numeric()) {
            let format = self.format.as_ref().unwrap_or(&mapped.field_type.format);
            // Only queries round an excluded lower end up.
            let above = if self.is_filter { Fill::Floor } else { Fill::Ceiling };
            let range = number_range(mapped, lower, upper, above, |text, fill| match is_date {
                true => parse_math(text, format, context.now, context.upper_fill(fill), offset),
                false => mapped.field_type.encode_text(text),
            })?;
            let field = QueryField::of_terms(mapped);
            let query = QueryKind::Range { field, range };
            return Ok(self.named(context, query.into()));
        }
        let text = |bound: Option<(&Value, bool)>| bound.map(|(value, included)| (text_of(value), included));
        let (lower, upper) = (text(lower), text(upper));
        Ok(self.named(context, range(context, field, (lower, upper), offset, None)?))
    }

    /// Adds the boost, and records the query under its name.
    fn named(&self, context: &Context<'_>, query: Query) -> Query {
        let query = with_boost(query, self.boost.unwrap_or(1.0));
        context.name(self.name.as_ref(), &query);
        query
    }
}

/// The fuzziness of a fuzzy query.
fn fuzziness_of(settings: &Settings) -> String {
    settings.text("fuzziness").unwrap_or_else(|| "AUTO".to_owned())
}

/// Builds the matcher of a fuzzy query.
fn fuzzy(context: &Context<'_>, text: String, settings: &Settings) -> Result<Matcher> {
    let fuzziness = fuzziness_of(settings);
    check_fuzziness(&fuzziness)?;
    let given = |key: &str, default: i64| settings.int(key).unwrap_or(default);
    let (prefix, expansions) = fuzzy_limits(context, given("prefix_length", 0), given("max_expansions", 50))?;
    Ok(Matcher::Fuzzy {
        edits: auto_edits(&fuzziness, &text),
        term: text,
        prefix,
        expansions,
        transpositions: settings.flag("transpositions").unwrap_or(false),
    })
}

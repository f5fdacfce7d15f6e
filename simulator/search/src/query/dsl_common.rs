//! The query `common`: the terms of a text, the rare ones before the frequent ones.
//!
//! Source: Elasticsearch 1.5's `CommonTermsQueryParser`; Lucene 4.10's `CommonTermsQuery`.

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::json::{Token, Tokens, text_of};
use crate::query::dsl_parts::parsing_error;
use crate::query::field_reader::text_settings;
use crate::query::frequency::FrequencyQuery;
use crate::query::reader::{Form, Refused, Setting, Settings};
use crate::query::{Context, Operator, Query, QueryKind};

const OPERATOR: Setting = Setting::Checked(|context, value| operator_of(context, value).map(drop));

/// Parses an operator.
fn operator_of(context: &Context<'_>, value: &Value) -> Result<Operator> {
    let text = text_of(value);
    let reason = format!("[common] query requires operator to be either 'and' or 'or', not [{text}]");
    Operator::parse(&text).ok_or_else(|| parsing_error(context, &reason))
}

/// Settings of `common`.
const COMMON: Form<'_> = Form {
    name: "[common] query",
    settings: &[
        (&["query"], Setting::Scalar),
        (&["analyzer"], Setting::Analyzer("[common] analyzer")),
        (&["disable_coord", "disableCoord"], Setting::Flag),
        (&["boost"], Setting::Float),
        (&["high_freq_operator", "highFreqOperator"], OPERATOR),
        (&["low_freq_operator", "lowFreqOperator"], OPERATOR),
        (&["minimum_should_match", "minimumShouldMatch"], Setting::Scalar),
        (&["cutoff_frequency"], Setting::Float),
        (&["_name"], Setting::Scalar),
    ],
    refused: &[Refused::Object, Refused::Value],
};

/// Settings of an object as `minimum_should_match` of `common`.
const COMMON_MINIMUM: Form<'_> = Form {
    name: COMMON.name,
    settings: &[
        (&["low_freq", "lowFreq"], Setting::Nullable),
        (&["high_freq", "highFreq"], Setting::Nullable),
    ],
    refused: &[Refused::Value],
};

/// Parses `common`.
pub(super) fn common(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let mut both = Settings::default();
    let (name, settings) = text_settings(context, tokens, COMMON.name, |tokens| {
        COMMON.read_with(context, tokens, |tokens, key, _| {
            let is_minimum = matches!(
                (tokens.current(), key),
                (Token::Object, Some("minimum_should_match" | "minimumShouldMatch"))
            );
            if is_minimum {
                both = COMMON_MINIMUM.read(context, tokens).map_err(|error| SearchError {
                    reason: error.reason + " for [minimum_should_match]",
                    ..error
                })?;
            }
            Ok(is_minimum)
        })
    })?;
    let no_text = || parsing_error(context, "No text specified for text query");
    let text = settings.text("query").ok_or_else(no_text)?;
    let occur = |key: &str| {
        let operator = settings.get(key).map(|own| operator_of(context, own)).transpose();
        operator.map(|own| own.unwrap_or_default().occur())
    };
    let wanted = |key: &str| both.get(key).cloned();
    let minimum_rare = wanted("low_freq").or_else(|| settings.get("minimum_should_match").cloned());
    let minimum_frequent = wanted("high_freq");
    let analyzer = settings.analyzer("analyzer");
    if analyzer.is_none() && context.numeric(name).is_some() {
        return Err(SearchError::no_texts());
    }
    let analyzer = analyzer.unwrap_or_else(|| context.search_analyzer(name));
    analyzer.check()?;
    let terms: Vec<String> = analyzer.terms(&text).into_iter().map(|(_, term)| term).collect();
    let query = Query::from(QueryKind::ByFrequency(FrequencyQuery::Common {
        field: context.field(name),
        terms,
        cutoff: settings.float("cutoff_frequency").unwrap_or(0.01),
        rare: occur("low_freq_operator")?,
        frequent: occur("high_freq_operator")?,
        minimum_rare,
        minimum_frequent,
        coord: !settings.flag("disable_coord").unwrap_or(true),
    }))
    .boosted(settings.boost());
    Ok(settings.named(context, context.of_named_type(name, query)))
}

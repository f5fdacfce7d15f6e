//! Text form of queries, as in Lucene's `toString`, for explanations and validation.

use std::collections::BTreeSet;

use crate::index::NESTED;
use crate::json::java_number;
use crate::query::filter_label::form_label;
use crate::query::{
    FrequencyQuery, Function, Matcher, Origin, Query, QueryField, QueryKind, ScoreFunction, filter_label,
};

/// Prints a boost other than 1.
pub(crate) fn boost_label(boost: f32) -> String {
    if boost == 1.0 {
        String::new()
    } else {
        format!("^{}", java_number(boost))
    }
}

/// Returns whether a query prints with its boost.
fn prints_boost(kind: &QueryKind) -> bool {
    match kind {
        QueryKind::ByFrequency(FrequencyQuery::Fuzzy { .. } | FrequencyQuery::Similar { .. }) => false,
        QueryKind::Nested(_) => false,
        QueryKind::Related(related) => !related.is_constant,
        _ => true,
    }
}

/// Prints a query.
pub(crate) fn label(query: &Query) -> String {
    let boost = boost_label(query.boost);
    let named = |field: &QueryField, text: &str| {
        if &*field.name == "_all" {
            format!("_all:{text}")
        } else {
            format!("{}:{text}", field.name)
        }
    };
    let body = match &query.kind {
        QueryKind::All => "ConstantScore(*:*)".to_owned(),
        QueryKind::AllDocs => "*:*".to_owned(),
        QueryKind::Nothing => "MatchNoDocsQuery".to_owned(),
        QueryKind::Term { field, text } | QueryKind::RareTerm { field, text } => named(field, text),
        QueryKind::Phrase { field, slots, slop } => named(field, &phrase_label(slots, *slop)),
        QueryKind::PhrasePrefix {
            field,
            slots,
            slop,
            last,
            ..
        } => {
            let before = slots.iter().map(|(_, texts)| alternatives_label(texts));
            let prefixes = last.iter().map(|(_, prefixes)| {
                let prefixes: Vec<String> = prefixes.iter().map(|prefix| format!("{prefix}*")).collect();
                alternatives_label(&prefixes)
            });
            let texts: Vec<String> = before.chain(prefixes).collect();
            named(field, &format!("\"{}\"{}", texts.join(" "), slop_label(*slop)))
        }
        QueryKind::MultiTerm { field, matcher } => named(field, &matcher_label(matcher)),
        QueryKind::Range { field, range } => named(field, &range.to_string()),
        QueryKind::ListedTerm { field, text, .. } => named(field, text),
        QueryKind::Ids { types, ids } => {
            let texts = types
                .iter()
                .flat_map(|type_name| ids.iter().map(move |id| format!("_uid:{type_name}#{id}")));
            let texts: BTreeSet<String> = texts.collect();
            texts.into_iter().collect::<Vec<_>>().join(" ")
        }
        QueryKind::IdPattern(matcher) => format!("_uid:{}", matcher_label(matcher)),
        QueryKind::Blended { fields, text, .. } => {
            let terms: Vec<String> = fields.iter().map(|(field, _)| named(field, text)).collect();
            format!("blended(terms: [{}])", terms.join(", "))
        }
        QueryKind::Span(span) => span.label(),
        QueryKind::Boosting {
            positive,
            negative,
            is_rewritten: true,
            ..
        } => format!("+{} {}", part_label(positive), part_label(negative)),
        QueryKind::Boosting { positive, negative, .. } => format!("{}/{}", label(positive), label(negative)),
        QueryKind::Functions { query, functions, .. } => match functions.as_slice() {
            [] => format!("function score ({},function=null)", label(query)),
            [only] if only.filter.is_none() => {
                format!("function score ({},function={})", label(query), function_label(only))
            }
            several => {
                let shown = several.iter().map(|function| {
                    let filter = function.filter.as_ref().map_or_else(|| "*:*".to_owned(), filter_label);
                    format!("{{filter({filter}), function [{}]}}", function_label(function))
                });
                let shown: String = shown.collect();
                format!("function score ({}, functions: [{shown}])", label(query))
            }
        },
        // It has no text of its own.
        QueryKind::ByFrequency(FrequencyQuery::Fuzzy { .. }) => "null".to_owned(),
        QueryKind::ByFrequency(FrequencyQuery::Similar { texts, .. }) => match texts {
            Some(texts) => format!("like:[{}]", texts.join(", ")),
            None => "like:null".to_owned(),
        },
        QueryKind::Nested(nested) => format!(
            "ToParentBlockJoinQuery (filtered({})->random_access(_type:{NESTED}{}))",
            label(&nested.query),
            nested.path
        ),
        QueryKind::ByFrequency(FrequencyQuery::Rewritten { field, matcher, .. }) => {
            named(field, &matcher_label(matcher))
        }
        QueryKind::ByFrequency(FrequencyQuery::Common { field, terms, .. }) => {
            let terms: Vec<String> = terms.iter().map(|text| named(field, text)).collect();
            match boost.is_empty() {
                true => terms.join(", "),
                false => format!("({})", terms.join(", ")),
            }
        }
        QueryKind::Related(related) => format!("{}({})", related.name, label(&related.query)),
        QueryKind::Script(script) => format!("ScriptFilter({})", script.text()),
        QueryKind::Limit(_) => "org.elasticsearch.common.lucene.search.LimitFilter@1".to_owned(),
        QueryKind::Geo { field, shape } => shape.label(&field.name),
        QueryKind::Bool {
            clauses,
            minimum_should_match,
            ..
        } => {
            let parts: Vec<String> = clauses
                .iter()
                .map(|(occur, query)| format!("{}{}", occur.sign(), part_label(query)))
                .collect();
            let text = parts.join(" ");
            match minimum_should_match {
                0 if boost.is_empty() => text,
                0 => format!("({text})"),
                minimum => format!("({text})~{minimum}"),
            }
        }
        QueryKind::DisjunctionMax { queries, tie } => {
            let share = if *tie == 0.0 {
                String::new()
            } else {
                format!("~{}", java_number(*tie))
            };
            let parts: Vec<String> = queries.iter().map(part_label).collect();
            format!("({}){share}", parts.join(" | "))
        }
        QueryKind::Constant { query, form: None } => format!("ConstantScore({})", filter_label(query)),
        QueryKind::Constant {
            query,
            form: Some(form),
        } => form_label(*form, query),
        QueryKind::Filtered { query, filter } => {
            format!("filtered({})->{}", label(query), filter_label(filter))
        }
    };
    if prints_boost(&query.kind) { body + &boost } else { body }
}

/// Shows a phrase, with a `?` for each word that was removed. Words before the first are only shown if no
/// place has several.
pub(crate) fn phrase_label(slots: &[(u32, Vec<String>)], slop: u32) -> String {
    let has_several = slots.iter().any(|(_, texts)| texts.len() > 1);
    let mut next = slots
        .first()
        .map_or(0, |(first, _)| if has_several { *first } else { 0 });
    let mut shown = Vec::new();
    for (position, texts) in slots {
        shown.extend((next..*position).map(|_| "?".to_owned()));
        shown.push(alternatives_label(texts));
        next = position + 1;
    }
    format!("\"{}\"{}", shown.join(" "), slop_label(slop))
}

/// Shows the words at one place.
fn alternatives_label(texts: &[String]) -> String {
    match texts {
        [only] => only.clone(),
        several => format!("({})", several.join(" ")),
    }
}

fn slop_label(slop: u32) -> String {
    if slop > 0 { format!("~{slop}") } else { String::new() }
}

/// Prints a query within another one: a boolean query in parentheses.
fn part_label(query: &Query) -> String {
    match query.kind {
        QueryKind::Bool { .. } | QueryKind::Boosting { is_rewritten: true, .. } => format!("({})", label(query)),
        _ => label(query),
    }
}

/// Prints the class of a function, as Java's `Object.toString` does.
fn function_label(function: &ScoreFunction) -> String {
    let class = match &function.function {
        Function::Boost(factor) => return format!("boost[{}]", java_number(*factor)),
        _ if function.weight.is_some() => "common.lucene.search.function.WeightFactorFunction",
        Function::One => "common.lucene.search.function.WeightFactorFunction",
        Function::Script(script) => {
            let params = script.shown_params().unwrap_or_else(|| "null".to_owned());
            return format!("script[{}], params [{params}]", script.text());
        }
        Function::FieldValue { .. } => "common.lucene.search.function.FieldValueFactorFunction",
        Function::Decay {
            origin: Origin::Point(_),
            ..
        } => "index.query.functionscore.DecayFunctionParser$GeoFieldDataScoreFunction",
        Function::Decay { .. } => "index.query.functionscore.DecayFunctionParser$NumericFieldDataScoreFunction",
        Function::Random { .. } => "common.lucene.search.function.RandomScoreFunction",
    };
    format!("org.elasticsearch.{class}@1")
}

fn matcher_label(matcher: &Matcher) -> String {
    match matcher {
        Matcher::Prefix(text) => format!("{text}*"),
        Matcher::Wildcard(pattern) => pattern.clone(),
        Matcher::Regexp { text, .. } => format!("/{text}/"),
        Matcher::Fuzzy { term, edits, .. } => format!("{term}~{edits}"),
        Matcher::Range { lower, upper } => {
            let text = |bound: &Option<(String, bool)>| {
                bound.as_ref().map_or_else(|| "*".to_owned(), |(text, _)| text.clone())
            };
            let open = if lower.as_ref().is_none_or(|(_, included)| *included) {
                '['
            } else {
                '{'
            };
            let close = if upper.as_ref().is_none_or(|(_, included)| *included) {
                ']'
            } else {
                '}'
            };
            format!("{open}{} TO {}{close}", text(lower), text(upper))
        }
    }
}

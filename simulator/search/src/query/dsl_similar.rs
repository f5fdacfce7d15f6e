//! Queries whose clauses depend on how frequent their terms are: `more_like_this` and `common`.
//!
//! Source: Elasticsearch 1.5's `MoreLikeThisQueryParser`, `CommonTermsQueryParser`; Lucene 4.10's `CommonTermsQuery`.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use crate::analysis::Analyzer;
use crate::error::Result;
use crate::find::{extract, names, operator};
use crate::index::View;
use crate::mapping::truth;
use crate::query::dsl::{boost_of, minimum, number, refuse, unsupported};
use crate::query::dsl_leaf::{ids_of_type, one_field, text_of};
use crate::query::{Context, Occur, Query, QueryField, QueryKind};
use crate::score::idf;

/// A query that becomes another one when the frequencies of its terms are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FrequencyQuery {
    /// The terms that tell a text from others, by field.
    Similar {
        terms: Vec<(QueryField, String, u32)>,
        min_term_freq: u32,
        min_doc_freq: u32,
        max_doc_freq: u32,
        max_query_terms: usize,
        minimum_should_match: Value,
        boost_terms: f32,
    },
    /// Rare terms, and frequent ones that only add to the score.
    Common {
        field: QueryField,
        terms: Vec<String>,
        cutoff: f32,
        rare: Occur,
        frequent: Occur,
        minimum_rare: Option<Value>,
        minimum_frequent: Option<Value>,
        coord: bool,
    },
}

impl FrequencyQuery {
    /// The query for the frequencies of a view.
    pub(crate) fn resolve(&self, view: &View) -> Result<Query> {
        let doc_freq = |field: &QueryField, text: &str| match field.ordinal {
            Some(ordinal) => view.doc_freq(ordinal, text),
            None => Ok(0),
        };
        let term = |field: &QueryField, text: &str| {
            Query::from(QueryKind::Term {
                field: field.clone(),
                text: text.to_owned(),
            })
        };
        match self {
            FrequencyQuery::Similar {
                terms,
                min_term_freq,
                min_doc_freq,
                max_doc_freq,
                max_query_terms,
                minimum_should_match,
                boost_terms,
            } => {
                let mut scored = Vec::new();
                for (field, text, term_freq) in terms {
                    let freq = doc_freq(field, text)?;
                    if term_freq >= min_term_freq && freq >= *min_doc_freq && freq <= *max_doc_freq && freq > 0 {
                        scored.push((*term_freq as f32 * idf(freq, view.max_doc()), field, text));
                    }
                }
                scored.sort_by(|a, b| b.0.total_cmp(&a.0));
                scored.truncate(*max_query_terms);
                let best = scored.first().map_or(1.0, |(score, ..)| *score);
                let clauses: Vec<(Occur, Query)> = scored
                    .iter()
                    .map(|(score, field, text)| {
                        let boost = if *boost_terms > 0.0 {
                            boost_terms * score / best
                        } else {
                            1.0
                        };
                        (Occur::Should, term(field, text).boosted(boost))
                    })
                    .collect();
                if clauses.is_empty() {
                    return Ok(QueryKind::Nothing.into());
                }
                Ok(QueryKind::Bool {
                    minimum_should_match: minimum(minimum_should_match, clauses.len()),
                    clauses,
                    coord: true,
                }
                .into())
            }
            FrequencyQuery::Common {
                field,
                terms,
                cutoff,
                rare,
                frequent,
                minimum_rare,
                minimum_frequent,
                coord,
            } => {
                let (mut low, mut high) = (Vec::new(), Vec::new());
                let most = view.max_doc() as f32;
                for text in terms {
                    let freq = doc_freq(field, text)? as f32;
                    let limit = if *cutoff >= 1.0 {
                        *cutoff
                    } else {
                        (cutoff * most).ceil()
                    };
                    if freq > limit {
                        high.push(term(field, text));
                    } else {
                        low.push(term(field, text));
                    }
                }
                let bool = |queries: Vec<Query>, occur: Occur, wanted: &Option<Value>| {
                    let optional = if occur == Occur::Should { queries.len() } else { 0 };
                    Query::from(QueryKind::Bool {
                        minimum_should_match: wanted.as_ref().map_or(0, |wanted| minimum(wanted, optional)),
                        clauses: queries.into_iter().map(|query| (occur, query)).collect(),
                        coord: *coord,
                    })
                };
                Ok(match (low.is_empty(), high.is_empty()) {
                    (true, true) => QueryKind::Nothing.into(),
                    // Frequent terms alone have to match all, unless the request says how many.
                    (true, false) if *frequent == Occur::Should && minimum_frequent.is_none() => {
                        bool(high, Occur::Must, &None)
                    }
                    (true, false) => bool(high, *frequent, minimum_frequent),
                    (false, true) => bool(low, *rare, minimum_rare),
                    (false, false) => Query::bool(vec![
                        (Occur::Should, bool(high, *frequent, minimum_frequent)),
                        (Occur::Must, bool(low, *rare, minimum_rare)),
                    ]),
                })
            }
        }
    }
}

/// The query of that name, if it is one of these.
pub(super) fn similar(context: &Context<'_>, name: &str, object: &Map<String, Value>) -> Result<Option<Query>> {
    match name {
        "more_like_this" | "moreLikeThis" | "mlt" => more_like_this(context, object).map(Some),
        "common" => common(context, object).map(Some),
        _ => Ok(None),
    }
}

fn analyzer(context: &Context<'_>, field: &str, own: Option<&Value>, name: &str) -> Result<Analyzer> {
    match own.and_then(Value::as_str) {
        Some(own) => Analyzer::configured(own, context.mapping.analysis())
            .map_err(|_| refuse(context, &format!("[{name}] analyzer [{own}] not found"))),
        None => Ok(context.search_analyzer(field)),
    }
}

fn more_like_this(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    const KNOWN: [&str; 29] = [
        "fields",
        "like",
        "like_text",
        "likeText",
        "docs",
        "ids",
        "include",
        "min_term_freq",
        "minTermFreq",
        "max_query_terms",
        "maxQueryTerms",
        "min_doc_freq",
        "minDocFreq",
        "max_doc_freq",
        "maxDocFreq",
        "min_word_len",
        "min_word_length",
        "max_word_len",
        "max_word_length",
        "boost_terms",
        "boostTerms",
        "minimum_should_match",
        "percent_terms_to_match",
        "stop_words",
        "stopWords",
        "fail_on_unsupported_field",
        "analyzer",
        "boost",
        "_name",
    ];
    if let Some(key) = object.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(unsupported(context, "mlt", key));
    }
    let whole = |keys: [&str; 2], default: u32| {
        keys.iter()
            .find_map(|key| number(object.get(*key)))
            .map_or(default, |number| number as u32)
    };
    let fields = object.get("fields").map_or_else(|| vec!["_all".to_owned()], names);
    let stop_words: HashSet<String> = ["stop_words", "stopWords"]
        .iter()
        .find_map(|key| object.get(*key))
        .map(names)
        .unwrap_or_default()
        .into_iter()
        .collect();
    let (shortest, longest) = (
        whole(["min_word_length", "min_word_len"], 0) as usize,
        whole(["max_word_length", "max_word_len"], 0) as usize,
    );
    let mut counts: BTreeMap<(String, String), u32> = BTreeMap::new();
    let mut count = |field: &str, text: &str| -> Result<()> {
        for (_, term) in analyzer(context, field, object.get("analyzer"), "more_like_this")?.terms(text) {
            let length = term.chars().count();
            if length >= shortest && (longest == 0 || length <= longest) && !stop_words.contains(&term) {
                *counts.entry((field.to_owned(), term)).or_default() += 1;
            }
        }
        Ok(())
    };
    let texts = ["like_text", "likeText", "like"]
        .iter()
        .find_map(|key| object.get(*key))
        .map(|like| match like {
            Value::Array(items) => items
                .iter()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect(),
            Value::String(text) => vec![text.clone()],
            _ => vec![],
        })
        .unwrap_or_default();
    let mut documents = Vec::new();
    for id in object.get("ids").and_then(Value::as_array).into_iter().flatten() {
        documents.push((context.index.to_owned(), None, text_of(id)));
    }
    for doc in object.get("docs").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| doc.get(key).map(text_of);
        let index = text("_index").unwrap_or_else(|| context.index.to_owned());
        documents.push((index, text("_type"), text("_id").unwrap_or_default()));
    }
    if texts.is_empty() && documents.is_empty() {
        return Err(refuse(
            context,
            "more_like_this requires 'like', 'like_text', 'ids' or 'docs' to be specified",
        ));
    }
    for text in &texts {
        fields.iter().try_for_each(|field| count(field, text))?;
    }
    for (index, type_name, id) in &documents {
        let types: Vec<&str> = match type_name {
            Some(type_name) => vec![type_name],
            None => context.mapping.type_names().collect(),
        };
        for type_name in types {
            let Some(source) = context
                .documents
                .map(|documents| documents.source(index, type_name, id, None))
                .transpose()?
                .flatten()
            else {
                continue;
            };
            for field in &fields {
                for text in extract(&source, field).into_iter().filter_map(Value::as_str) {
                    count(field, text)?;
                }
            }
        }
    }
    let similar = Query::from(QueryKind::ByFrequency(FrequencyQuery::Similar {
        terms: counts
            .into_iter()
            .map(|((field, text), count)| (context.field(&field), text, count))
            .collect(),
        min_term_freq: whole(["min_term_freq", "minTermFreq"], 2),
        min_doc_freq: whole(["min_doc_freq", "minDocFreq"], 5),
        max_doc_freq: whole(["max_doc_freq", "maxDocFreq"], u32::MAX),
        max_query_terms: whole(["max_query_terms", "maxQueryTerms"], 25) as usize,
        minimum_should_match: ["minimum_should_match", "percent_terms_to_match"]
            .iter()
            .find_map(|key| object.get(*key))
            .cloned()
            .unwrap_or_else(|| "30%".into()),
        boost_terms: number(object.get("boost_terms").or_else(|| object.get("boostTerms"))).unwrap_or(0.0),
    }))
    .boosted(boost_of(object));
    if documents.is_empty() || object.get("include").is_some_and(truth) {
        return Ok(similar);
    }
    let liked = documents.iter().map(|(_, type_name, id)| {
        let types = type_name.iter().cloned().collect::<Vec<_>>();
        (Occur::MustNot, ids_of_type(context, &types, std::slice::from_ref(id)))
    });
    Ok(Query::bool(
        std::iter::once((Occur::Should, similar)).chain(liked).collect(),
    ))
}

fn common(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    let body = Value::Object(object.clone());
    let (name, settings) = one_field(context, "common", &body)?;
    let empty = Map::new();
    let (text, settings) = match settings {
        Value::Object(settings) => (
            settings
                .get("query")
                .map(text_of)
                .ok_or_else(|| refuse(context, "No text specified for text query"))?,
            settings,
        ),
        other => (text_of(other), &empty),
    };
    for key in settings.keys() {
        let known = [
            "query",
            "analyzer",
            "disable_coord",
            "disableCoord",
            "boost",
            "high_freq_operator",
            "highFreqOperator",
            "low_freq_operator",
            "lowFreqOperator",
            "minimum_should_match",
            "minimumShouldMatch",
            "cutoff_frequency",
            "_name",
        ];
        if !known.contains(&key.as_str()) {
            return Err(unsupported(context, "common", key));
        }
    }
    let occur = |keys: [&str; 2]| -> Result<Occur> {
        let text = keys.iter().find_map(|key| settings.get(*key)).and_then(Value::as_str);
        Ok(operator(text)?.occur())
    };
    let wanted = ["minimum_should_match", "minimumShouldMatch"]
        .iter()
        .find_map(|key| settings.get(*key));
    let (minimum_rare, minimum_frequent) = match wanted {
        Some(Value::Object(both)) => (both.get("low_freq").cloned(), both.get("high_freq").cloned()),
        other => (other.cloned(), None),
    };
    let mut terms: Vec<String> = analyzer(context, name, settings.get("analyzer"), "common")?
        .terms(&text)
        .into_iter()
        .map(|(_, term)| term)
        .collect();
    terms.dedup();
    Ok(Query::from(QueryKind::ByFrequency(FrequencyQuery::Common {
        field: context.field(name),
        terms,
        cutoff: number(settings.get("cutoff_frequency")).unwrap_or(0.01),
        rare: occur(["low_freq_operator", "lowFreqOperator"])?,
        frequent: occur(["high_freq_operator", "highFreqOperator"])?,
        minimum_rare,
        minimum_frequent,
        coord: !settings
            .get("disable_coord")
            .or_else(|| settings.get("disableCoord"))
            .is_some_and(truth),
    }))
    .boosted(boost_of(settings)))
}

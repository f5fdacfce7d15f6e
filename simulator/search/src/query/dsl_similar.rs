//! Queries whose clauses depend on document frequencies: `more_like_this`, `common`, `fuzzy_like_this`.
//!
//! Source: Elasticsearch 1.5's `MoreLikeThisQueryParser`, `CommonTermsQueryParser`; Lucene 4.10's `CommonTermsQuery`.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::find::{extract, names, operator};
use crate::mapping::truth;
use crate::query::dsl_leaf::one_field;
use crate::query::dsl_parts::{boost_of, number, parsing_error, text_of, unsupported};
use crate::query::frequency::{FrequencyQuery, SimilarSettings, Words};
use crate::query::text::too_many_clauses;
use crate::query::value::ids_of_types;
use crate::query::{Context, Occur, Query, QueryField, QueryKind};

/// Parses one of these queries. Returns `None` if `name` is not one.
pub(super) fn similar(context: &Context<'_>, name: &str, object: &Map<String, Value>) -> Result<Option<Query>> {
    match name {
        "more_like_this" | "moreLikeThis" | "mlt" => more_like_this(context, object).map(Some),
        "more_like_this_field" | "moreLikeThisField" | "mlt_field" => {
            let body = Value::Object(object.clone());
            let (name, settings) = one_field(context, "more_like_this_field", &body)?;
            let mut settings = settings.as_object().cloned().unwrap_or_default();
            settings.insert("fields".to_owned(), vec![name].into());
            more_like_this(context, &settings).map(Some)
        }
        "common" => common(context, object).map(Some),
        "fuzzy_like_this" | "fuzzyLikeThis" | "flt" => {
            let fields = object.get("fields").map_or_else(|| vec!["_all".to_owned()], names);
            fuzzy_like_this(context, &fields, object).map(Some)
        }
        "fuzzy_like_this_field" | "fuzzyLikeThisField" | "flt_field" => {
            let body = Value::Object(object.clone());
            let (name, settings) = one_field(context, "fuzzy_like_this_field", &body)?;
            let empty = Map::new();
            fuzzy_like_this(context, &[name.to_owned()], settings.as_object().unwrap_or(&empty)).map(Some)
        }
        _ => Ok(None),
    }
}

fn analyzer(context: &Context<'_>, field: &str, own: Option<&Value>, name: &str) -> Result<Analyzer> {
    match own.and_then(Value::as_str) {
        Some(own) => Analyzer::configured(own, context.mapping.analysis())
            .map_err(|_| parsing_error(context, &format!("[{name}] analyzer [{own}] not found"))),
        None => Ok(context.search_analyzer(field)),
    }
}

/// Parses `fuzzy_like_this`: matches terms similar to those of a text.
fn fuzzy_like_this(context: &Context<'_>, fields: &[String], object: &Map<String, Value>) -> Result<Query> {
    const KNOWN: [&str; 16] = [
        "fields",
        "like_text",
        "likeText",
        "max_query_terms",
        "maxQueryTerms",
        "ignore_tf",
        "ignoreTF",
        "fuzziness",
        "min_similarity",
        "minSimilarity",
        "prefix_length",
        "prefixLength",
        "analyzer",
        "fail_on_unsupported_field",
        "boost",
        "_name",
    ];
    if let Some(key) = object.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(unsupported(context, "flt", key));
    }
    let find = |keys: [&str; 2]| keys.iter().find_map(|key| object.get(*key));
    let text = find(["like_text", "likeText"])
        .map(text_of)
        .ok_or_else(|| parsing_error(context, "fuzzy_like_this requires 'like_text' to be specified"))?;
    let mut texts = Vec::new();
    for field in fields {
        let analyzer = analyzer(context, field, object.get("analyzer"), "fuzzy_like_this")?;
        for (_, term) in analyzer.terms(&text) {
            if !texts
                .iter()
                .any(|(known, own): &(QueryField, String)| *known.name == **field && *own == term)
            {
                texts.push((context.field(field), term));
            }
        }
    }
    if texts.len() > context.max_clauses {
        return Err(too_many_clauses(context.max_clauses));
    }
    let fuzziness = find(["fuzziness", "min_similarity"]).or(object.get("minSimilarity"));
    let (edits, min_similarity) = match fuzziness.map_or(2.0, |fuzziness| number(Some(fuzziness)).unwrap_or(1.0)) {
        similarity if similarity < 1.0 => (2, similarity),
        edits if edits.fract() != 0.0 => {
            return Err(SearchError::illegal("fractional edit distances are not allowed"));
        }
        edits if edits < 2.0 => (1, 0.0),
        _ => (2, 0.0),
    };
    Ok(Query::from(QueryKind::ByFrequency(FrequencyQuery::Fuzzy {
        texts,
        edits,
        min_similarity,
        prefix: number(find(["prefix_length", "prefixLength"])).unwrap_or(0.0) as usize,
        max_query_terms: number(find(["max_query_terms", "maxQueryTerms"])).unwrap_or(25.0) as usize,
        ignore_frequency: find(["ignore_tf", "ignoreTF"]).is_some_and(truth),
    }))
    .boosted(boost_of(object)))
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
    let mut fields = object.get("fields").map_or_else(|| vec!["_all".to_owned()], names);
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
    let count = |field: &str, text: &str, counts: &mut BTreeMap<String, u32>| -> Result<()> {
        for (_, term) in analyzer(context, field, object.get("analyzer"), "more_like_this")?.terms(text) {
            let length = term.chars().count();
            if length >= shortest && (longest == 0 || length <= longest) && !stop_words.contains(&term) {
                *counts.entry(term).or_default() += 1;
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
        return Err(parsing_error(
            context,
            "more_like_this requires 'like', 'like_text', 'ids' or 'docs' to be specified",
        ));
    }
    if fields.is_empty() {
        return Err(parsing_error(
            context,
            "more_like_this requires 'fields' to be non-empty",
        ));
    }
    let is_text = |field: &String| {
        let mapped = context.mapped(field);
        mapped.is_none_or(|field| !field.field_type.kind.is_numeric())
    };
    if let Some(field) = fields.iter().find(|field| !is_text(field))
        && object.get("fail_on_unsupported_field").is_none_or(truth)
    {
        return Err(SearchError::illegal(format!(
            "more_like_this doesn't support binary/numeric fields: [{field}]"
        )));
    }
    fields.retain(is_text);
    if fields.is_empty() {
        return Ok(QueryKind::Nothing.into());
    }
    let words = |fields: &[String], counts: BTreeMap<String, u32>| Words {
        fields: fields.iter().map(|field| context.field(field)).collect(),
        counts: counts.into_iter().collect(),
    };
    let of_texts = match fields.first().filter(|_| !texts.is_empty()) {
        Some(first) => {
            let mut counts = BTreeMap::new();
            texts.iter().try_for_each(|text| count(first, text, &mut counts))?;
            Some(words(&fields, counts))
        }
        None => None,
    };
    let all_types = context.type_names();
    let is_ambiguous = |type_name: &Option<String>| type_name.is_none() && all_types.len() > 1;
    if let Some((index, _, id)) = documents.iter().find(|(_, type_name, _)| is_ambiguous(type_name)) {
        let reason = format!("ambiguous type for item with id: {id} and index: {index}");
        return Err(parsing_error(context, &reason));
    }
    let mut sources = Vec::new();
    for (index, type_name, id) in &documents {
        let types: Vec<&str> = match type_name {
            Some(type_name) => vec![type_name],
            None => all_types.clone(),
        };
        for type_name in types {
            let source = context
                .documents
                .map(|documents| documents.source(index, type_name, id, None));
            sources.extend(source.transpose()?.flatten());
        }
    }
    let mut of_documents = Vec::new();
    for field in &fields {
        let mut counts = BTreeMap::new();
        for source in &sources {
            let texts = extract(source, field).into_iter().filter_map(Value::as_str);
            texts.into_iter().try_for_each(|text| count(field, text, &mut counts))?;
        }
        if !counts.is_empty() {
            of_documents.push(words(std::slice::from_ref(field), counts));
        }
    }
    let share = number(object.get("percent_terms_to_match")).map(|share| format!("{}%", (share * 100.0).round()));
    let similar = Query::from(QueryKind::ByFrequency(FrequencyQuery::Similar {
        texts: (!texts.is_empty()).then_some(texts),
        of_documents,
        of_texts,
        settings: SimilarSettings {
            min_term_freq: whole(["min_term_freq", "minTermFreq"], 2),
            min_doc_freq: whole(["min_doc_freq", "minDocFreq"], 5),
            max_doc_freq: whole(["max_doc_freq", "maxDocFreq"], u32::MAX),
            max_query_terms: whole(["max_query_terms", "maxQueryTerms"], 25) as usize,
            minimum_should_match: object
                .get("minimum_should_match")
                .cloned()
                .or(share.map(Value::from))
                .unwrap_or_else(|| "30%".into()),
            boost_terms: number(object.get("boost_terms").or_else(|| object.get("boostTerms"))).unwrap_or(0.0),
        },
    }))
    .boosted(boost_of(object));
    if documents.is_empty() || object.get("include").is_some_and(truth) {
        return Ok(similar);
    }
    let liked = documents.iter().map(|(_, type_name, id)| {
        let types = type_name.iter().cloned().collect::<Vec<_>>();
        (Occur::MustNot, ids_of_types(context, &types, std::slice::from_ref(id)))
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
                .ok_or_else(|| parsing_error(context, "No text specified for text query"))?,
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
    let terms: Vec<String> = analyzer(context, name, settings.get("analyzer"), "common")?
        .terms(&text)
        .into_iter()
        .map(|(_, term)| term)
        .collect();
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
            .is_none_or(truth),
    }))
    .boosted(boost_of(settings)))
}

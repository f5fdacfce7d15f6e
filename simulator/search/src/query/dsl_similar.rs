//! Queries whose clauses depend on document frequencies: `more_like_this`, `fuzzy_like_this`.
//!
//! Source: Elasticsearch 1.5's `MoreLikeThisQueryParser` and `FuzzyLikeThisQueryParser`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::find::{extract, names};
use crate::json::text_of;
use crate::json::{Token, Tokens, typed_number};
use crate::mapping::{Field, Indexing, Kind};
use crate::query::dsl_common::common;
use crate::query::dsl_parts::parsing_error;
use crate::query::field_reader::field_of;
use crate::query::frequency::{FrequencyQuery, SimilarSettings, Words};
use crate::query::reader::{Form, Refused, Setting, Settings, analyzer_of};
use crate::query::vector_items::check_item;
use crate::query::{Context, Occur, Query, QueryField, QueryKind};
use crate::ties::in_hash_order;

/// Settings of `more_like_this`.
const LIKE_THIS: [(&[&str], Setting); 19] = [
    (&["fields"], Setting::List),
    (&["like_text", "likeText"], Setting::Scalar),
    (&["min_term_freq", "minTermFreq"], Setting::Int),
    (&["max_query_terms", "maxQueryTerms"], Setting::Int),
    (&["min_doc_freq", "minDocFreq"], Setting::Int),
    (&["max_doc_freq", "maxDocFreq"], Setting::Int),
    (&["min_word_length", "min_word_len", "minWordLen"], Setting::Int),
    (&["max_word_length", "max_word_len", "maxWordLen"], Setting::Int),
    (&["boost_terms", "boostTerms"], Setting::Float),
    (&["minimum_should_match", "minimumShouldMatch"], Setting::Scalar),
    (&["percent_terms_to_match", "percentTermsToMatch"], Setting::Float),
    (&["analyzer"], Setting::Scalar),
    (&["boost"], Setting::Float),
    (&["fail_on_unsupported_field", "failOnUnsupportedField"], Setting::Flag),
    (&["stop_words", "stopWords"], Setting::List),
    (&["ids"], Setting::List),
    (&["include"], Setting::Flag),
    (&["exclude"], Setting::Flag),
    (&["_name"], Setting::Scalar),
];

/// Settings of `fuzzy_like_this`.
const FUZZY_LIKE_THIS: [(&[&str], Setting); 10] = [
    (&["fields"], Setting::List),
    (&["like_text", "likeText"], Setting::Scalar),
    (&["max_query_terms", "maxQueryTerms"], Setting::Int),
    (&["boost"], Setting::Float),
    (&["ignore_tf", "ignoreTF"], Setting::Flag),
    (&["fuzziness", "min_similarity", "minSimilarity"], Setting::Scalar),
    (&["prefix_length", "prefixLength"], Setting::Int),
    (&["analyzer"], Setting::Scalar),
    (&["fail_on_unsupported_field", "failOnUnsupportedField"], Setting::Flag),
    (&["_name"], Setting::Scalar),
];

/// Parses one of these queries. Returns `None` if `name` is not one.
pub(super) fn similar(context: &Context<'_>, name: &str, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let like_this = |name| Form {
        name,
        settings: &LIKE_THIS,
        refused: &[Refused::Array, Refused::Value, Refused::Unnamed],
    };
    let fuzzy = |name| Form {
        name,
        settings: &FUZZY_LIKE_THIS,
        refused: &[Refused::Array, Refused::Value, Refused::Unnamed],
    };
    Ok(Some(match name {
        "more_like_this" | "moreLikeThis" | "mlt" => {
            let (settings, docs) = read_like_this(context, tokens, &like_this("[mlt] query"))?;
            let fields = settings.get("fields").map(names);
            let query = more_like_this(context, "more_like_this", fields, &settings, &docs)?;
            settings.named(context, query)
        }
        "more_like_this_field" | "moreLikeThisField" | "mlt_field" => {
            let field = field_of(context, tokens, "[more_like_this_field] query")?;
            tokens.advance();
            let (settings, docs) = read_like_this(context, tokens, &like_this("[mlt_field] query"))?;
            tokens.advance();
            let query = more_like_this(
                context,
                "more_like_this_field",
                Some(vec![field.to_owned()]),
                &settings,
                &docs,
            )?;
            settings.named(context, context.of_named_type(field, query))
        }
        "common" => common(context, tokens)?,
        "fuzzy_like_this" | "fuzzyLikeThis" | "flt" => {
            let settings = fuzzy("[flt] query").read(context, tokens)?;
            let fields = settings
                .get("fields")
                .map_or_else(|| vec![context.mapping.default_field().to_owned()], names);
            let query = fuzzy_like_this(context, "more_like_this", fields, &settings)?;
            settings.named(context, query)
        }
        "fuzzy_like_this_field" | "fuzzyLikeThisField" | "flt_field" => {
            let field = field_of(context, tokens, "[fuzzy_like_this_field] query")?;
            tokens.advance();
            let settings = fuzzy("[flt_field] query").read(context, tokens)?;
            tokens.advance();
            let query = fuzzy_like_this(context, "fuzzy_like_this_field", vec![field.to_owned()], &settings)?;
            settings.named(context, context.of_named_type(field, query))
        }
        _ => return Ok(None),
    }))
}

/// Returns whether the documents of `more_like_this` can be found themselves.
fn includes_documents(settings: &Settings) -> bool {
    let excluded = settings.flag("exclude");
    excluded
        .map(|excluded| !excluded)
        .or(settings.flag("include"))
        .unwrap_or(false)
}

/// Reads `more_like_this`: its settings and `docs`.
fn read_like_this(context: &Context<'_>, tokens: &mut Tokens<'_>, form: &Form<'_>) -> Result<(Settings, Vec<Value>)> {
    let mut docs = Vec::new();
    let settings = form.read_with(context, tokens, |tokens, key, _| {
        let is_docs = matches!((tokens.current(), key), (Token::Array, Some("docs")));
        if is_docs {
            let listed = tokens.whole().and_then(Value::as_array);
            docs.extend(listed.into_iter().flatten().cloned());
            if !docs.iter().all(Value::is_object) {
                return Err(SearchError::illegal("docs array element should include an object"));
            }
        }
        Ok(is_docs)
    })?;
    Ok((settings, docs))
}

/// Analyzer that a query names. Elasticsearch ignores analyzers that there are not.
fn named_analyzer(context: &Context<'_>, settings: &Settings) -> Option<Analyzer> {
    let name = settings.text("analyzer")?;
    analyzer_of(context, "[more_like_this] analyzer", &name).ok()
}

/// Analyzer of a text that is compared with a field.
fn analyzer(context: &Context<'_>, field: &str, settings: &Settings) -> Analyzer {
    named_analyzer(context, settings).unwrap_or_else(|| context.search_analyzer(field))
}

/// Parses `fuzzy_like_this`: matches terms similar to those of a text. `name` is that of the query in errors.
fn fuzzy_like_this(context: &Context<'_>, name: &str, mut fields: Vec<String>, settings: &Settings) -> Result<Query> {
    let text = settings
        .text("like_text")
        .ok_or_else(|| parsing_error(context, "fuzzy_like_this requires 'like_text' to be specified"))?;
    if fields.is_empty() {
        let reason = "fuzzy_like_this requires 'fields' to be non-empty";
        return Err(parsing_error(context, reason));
    }
    retain_texts(context, name, &mut fields, settings)?;
    let mut texts = Vec::new();
    for field in &fields {
        let analyzer = analyzer(context, field, settings);
        analyzer.check()?;
        for (_, term) in analyzer.terms(&text) {
            if !texts
                .iter()
                .any(|(known, own): &(QueryField, String)| *known.name == **field && *own == term)
            {
                texts.push((context.field(field), term));
            }
        }
    }
    context.check_clauses(texts.len())?;
    let fuzziness = settings.get("fuzziness");
    let default = if name == "fuzzy_like_this_field" { 0.5 } else { 2.0 };
    let similarity = match fuzziness.map(text_of) {
        None => default,
        Some(text) if text.eq_ignore_ascii_case("auto") => 1.0,
        Some(text) => typed_number::<f32>(&text).ok_or_else(|| SearchError::number(&text))?,
    };
    let (edits, min_similarity) = match similarity {
        similarity if similarity < 0.0 => {
            return Err(SearchError::illegal("minimumSimilarity cannot be less than 0"));
        }
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
        prefix: settings.count("prefix_length").unwrap_or(0),
        max_query_terms: settings.count("max_query_terms").unwrap_or(25),
        ignore_frequency: settings.flag("ignore_tf").unwrap_or(false),
    }))
    .boosted(settings.boost()))
}

/// Removes the fields of numbers, which cannot be compared with texts unless an analyzer is given.
///
/// # Errors
/// A field of numbers, unless the query ignores them.
fn retain_texts(context: &Context<'_>, query: &str, fields: &mut Vec<String>, settings: &Settings) -> Result<()> {
    if named_analyzer(context, settings).is_some() {
        return Ok(());
    }
    let mapped = |field: &String| context.analyzed(field);
    let is_number = |field: &&Field| field.field_type.kind.is_numeric();
    match fields.iter().filter_map(mapped).find(is_number) {
        Some(field) if settings.flag("fail_on_unsupported_field").unwrap_or(true) => {
            let name = &field.name;
            let reason = format!("{query} doesn't support binary/numeric fields: [{name}]");
            Err(SearchError::illegal(reason))
        }
        _ => {
            fields.retain(|field| !mapped(field).as_ref().is_some_and(is_number));
            Ok(())
        }
    }
}

/// A document that `more_like_this` compares with.
struct LikedDocument<'a> {
    index: String,
    type_name: Option<String>,
    id: String,
    routing: Option<String>,
    /// The document itself, if it is not a stored one.
    own: Option<&'a Value>,
    /// Fields that count. `None`: those of the query; of a document of the request all.
    fields: Option<Vec<String>>,
}

/// A document that `more_like_this` compares with, as it was found.
struct LikedSource<'a> {
    type_name: &'a str,
    source: Value,
    is_own: bool,
    fields: Option<&'a [String]>,
}

/// Without names of fields, texts are compared with `_all`, and documents by each of their fields.
fn more_like_this(
    context: &Context<'_>,
    name: &str,
    named: Option<Vec<String>>,
    settings: &Settings,
    docs: &[Value],
) -> Result<Query> {
    // It can always name fields that are not mapped.
    let lenient = Context {
        unmapped: None,
        ..*context
    };
    let is_named = named.is_some();
    let mut fields = named.unwrap_or_else(|| vec![context.mapping.default_field().to_owned()]);
    let whole = |key: &str, default: u32| {
        let number = settings.int(key).map(u32::try_from);
        number.map_or(default, |number| number.unwrap_or(0))
    };
    let stop_words = settings.get("stop_words").map(names).unwrap_or_default();
    let stop_words: HashSet<String> = stop_words.into_iter().collect();
    let (shortest, longest) = (
        whole("min_word_length", 0) as usize,
        whole("max_word_length", 0) as usize,
    );
    let count = |analyzer: &Analyzer, text: &str, counts: &mut BTreeMap<String, u32>| {
        for (_, term) in analyzer.terms(text) {
            let length = term.chars().count();
            if length >= shortest && (longest == 0 || length <= longest) && !stop_words.contains(&term) {
                *counts.entry(term).or_default() += 1;
            }
        }
    };
    let texts: Vec<String> = settings.text("like_text").into_iter().collect();
    let mut documents = Vec::new();
    for id in settings.get("ids").and_then(Value::as_array).into_iter().flatten() {
        documents.push(LikedDocument {
            index: context.index.to_owned(),
            type_name: None,
            id: text_of(id),
            routing: None,
            own: None,
            fields: None,
        });
    }
    for doc in docs {
        check_item(doc)?;
        let text = |key: &str| doc.get(key).map(text_of);
        documents.push(LikedDocument {
            index: text("_index").unwrap_or_else(|| context.index.to_owned()),
            type_name: text("_type"),
            id: text("_id").unwrap_or_default(),
            routing: text("_routing").or_else(|| text("routing")),
            own: doc.get("doc").filter(|own| own.is_object()),
            fields: doc.get("fields").map(names).filter(|names| !names.is_empty()),
        });
    }
    if texts.is_empty() && documents.is_empty() {
        return Err(parsing_error(
            context,
            "more_like_this requires at least 'like_text' or 'ids/docs' to be specified",
        ));
    }
    if fields.is_empty() {
        return Err(parsing_error(
            context,
            "more_like_this requires 'fields' to be non-empty",
        ));
    }
    retain_texts(context, name, &mut fields, settings)?;
    if fields.is_empty() {
        return Ok(QueryKind::Nothing.into());
    }
    let words = |fields: &[String], counts: BTreeMap<String, u32>| Words {
        fields: fields
            .iter()
            .map(|field| lenient.field(field).without_boosts())
            .collect(),
        counts: counts.into_iter().collect(),
    };
    let of_texts = match fields.first().filter(|_| !texts.is_empty()) {
        Some(first) => {
            let mut counts = BTreeMap::new();
            let analyzer = analyzer(context, first, settings);
            analyzer.check()?;
            texts.iter().for_each(|text| count(&analyzer, text, &mut counts));
            Some(words(&fields, counts))
        }
        None => None,
    };
    let all_types = context.type_names();
    let is_ambiguous = |document: &&LikedDocument<'_>| document.type_name.is_none() && all_types.len() > 1;
    if let Some(LikedDocument { index, id, .. }) = documents.iter().find(is_ambiguous) {
        let reason = format!("ambiguous type for item with id: {id} and index: {index}");
        return Err(parsing_error(context, &reason));
    }
    let mut sources = Vec::new();
    let mut unlike = BTreeSet::new();
    for LikedDocument {
        index,
        type_name,
        id,
        routing,
        own,
        fields,
    } in &documents
    {
        let mut is_changed = false;
        let types: Vec<&str> = match type_name {
            Some(type_name) => vec![type_name],
            None => all_types.clone(),
        };
        for type_name in types {
            // A document that cannot be read is like no other.
            let mut stored = || {
                let found = context
                    .documents?
                    .find(index, type_name, id, routing.as_deref())
                    .ok()??;
                is_changed |= found.is_changed;
                Some(found.source)
            };
            let source = own.cloned().or_else(&mut stored);
            sources.extend(source.map(|source| LikedSource {
                type_name,
                source,
                is_own: own.is_some(),
                fields: fields.as_deref(),
            }));
        }
        // As in Elasticsearch, a document that is not read from the index is not left out.
        if own.is_none() && !is_changed {
            let types = type_name
                .as_deref()
                .map_or(all_types.clone(), |type_name| vec![type_name]);
            unlike.extend(types.into_iter().map(|type_name| (type_name, id)));
        }
    }
    let mut of_documents = Vec::new();
    let has_terms = |field: &String| {
        let field = context.mapping.exact_field(field).map(|field| &field.field_type);
        field.is_some_and(|field| field.kind == Kind::String && field.indexing != Indexing::No)
    };
    let mut all_fields = context.mapping.field_names("*");
    all_fields.retain(has_terms);
    let others = fields.iter().filter(|field| is_named && !all_fields.contains(field));
    let others: Vec<String> = others.cloned().collect();
    for field in all_fields.iter().chain(&others) {
        let mut counts = BTreeMap::new();
        let analyzer = match context.mapping.exact_field(field) {
            Some(field) => field.index_analyzer.clone(),
            None => context.search_analyzer(field),
        };
        let is_wanted = |source: &&LikedSource<'_>| match source.fields {
            Some(own) => own.contains(field),
            None => source.is_own || !is_named || fields.contains(field),
        };
        for source in sources.iter().filter(is_wanted) {
            let path = context.mapping.source_path(source.type_name, field);
            let texts = extract(&source.source, path).into_iter().filter_map(Value::as_str);
            texts.into_iter().for_each(|text| count(&analyzer, text, &mut counts));
        }
        if !counts.is_empty() {
            of_documents.push((field, words(std::slice::from_ref(field), counts)));
        }
    }
    let of_documents = in_hash_order(of_documents, |(field, _)| (*field).clone());
    let of_documents: Vec<Words> = of_documents.into_iter().map(|(_, words)| words).collect();
    let share = settings
        .float("percent_terms_to_match")
        .map(|share| format!("{}%", (share * 100.0).round()));
    let similar = Query::from(QueryKind::ByFrequency(FrequencyQuery::Similar {
        texts: (!texts.is_empty()).then_some(texts),
        of_documents: (!documents.is_empty()).then_some(of_documents),
        of_texts,
        settings: SimilarSettings {
            min_term_freq: whole("min_term_freq", 2),
            min_doc_freq: whole("min_doc_freq", 5),
            max_doc_freq: whole("max_doc_freq", u32::MAX),
            max_query_terms: whole("max_query_terms", 25) as usize,
            minimum_should_match: settings
                .get("minimum_should_match")
                .cloned()
                .or(share.map(Value::from))
                .unwrap_or_else(|| "30%".into()),
            boost_terms: settings.float("boost_terms").unwrap_or(0.0),
        },
    }))
    .boosted(settings.boost());
    if documents.is_empty() || includes_documents(settings) {
        return Ok(similar);
    }
    let unlike = unlike.into_iter().map(|(type_name, id)| {
        Query::from(QueryKind::Ids {
            types: vec![type_name.to_owned()],
            ids: vec![id.clone()],
        })
    });
    let mut clauses = vec![(Occur::Should, similar)];
    if unlike.len() > 0 {
        clauses.push((Occur::MustNot, Query::any(unlike.collect()).constant()));
    }
    Ok(Query::bool(clauses))
}

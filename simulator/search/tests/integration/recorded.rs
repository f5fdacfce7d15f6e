//! The answers of Elasticsearch 1.5.2 to recorded requests, by subject: `recorded/SUBJECT.jsonl`. Searches are of the
//! same documents (`library`, `lines`); `routes` has methods, paths and parameters at the edge of the API; `values` has
//! values of fields of each kind; `several` has searches in one request, scrolls, and closed indices; `shards` has
//! segments without live documents, and pages of several shards.
//! `ci/search_answers.py` records them.
//!
//! A line without `status` prepares the index. `answer` is without times and shard counts; `reason` is the innermost
//! error.

use std::sync::LazyLock;

use crate::support::Backend;
use regex::Regex;
use rstest::rstest;
use serde_json::{Value, json};

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| Regex::new("@[0-9a-f]+").unwrap());

/// Returns whether an answer is the recorded one. Numbers may differ by rounding, and texts by addresses of objects.
fn is_same(recorded: &Value, answered: &Value) -> bool {
    match (recorded, answered) {
        (Value::Object(recorded), Value::Object(answered)) => {
            recorded.len() == answered.len()
                && recorded
                    .iter()
                    .all(|(key, value)| answered.get(key).is_some_and(|other| is_same(value, other)))
        }
        (Value::Array(recorded), Value::Array(answered)) => {
            recorded.len() == answered.len() && recorded.iter().zip(answered).all(|(a, b)| is_same(a, b))
        }
        (Value::Number(recorded), Value::Number(answered)) => {
            let [recorded, answered] = [recorded, answered].map(|number| number.as_f64().unwrap());
            (recorded - answered).abs() <= 1e-5 * recorded.abs()
        }
        (Value::String(recorded), Value::String(answered)) => {
            ADDRESS.replace_all(recorded, "@") == ADDRESS.replace_all(answered, "@")
        }
        _ => recorded == answered,
    }
}

#[rstest]
#[case::of_a_library(include_str!("../recorded/library.jsonl"), 150)]
#[case::of_searches(include_str!("../recorded/searches.jsonl"), 560)]
#[case::of_analyzers(include_str!("../recorded/analyzers.jsonl"), 140)]
#[case::of_combined_analyzers(include_str!("../recorded/combined_analyzers.jsonl"), 600)]
#[case::of_synonym_rules(include_str!("../recorded/synonym_rules.jsonl"), 300)]
#[case::of_alternatives(include_str!("../recorded/alternatives.jsonl"), 300)]
#[case::of_term_vectors(include_str!("../recorded/term_vectors.jsonl"), 150)]
#[case::of_inner_hits(include_str!("../recorded/inner_hits.jsonl"), 60)]
#[case::of_contexts(include_str!("../recorded/contexts.jsonl"), 500)]
#[case::of_altered_requests(include_str!("../recorded/altered.jsonl"), 470)]
#[case::of_checks(include_str!("../recorded/checks.jsonl"), 220)]
#[case::of_extracted_values(include_str!("../recorded/extracted.jsonl"), 240)]
#[case::of_included_fields(include_str!("../recorded/included.jsonl"), 160)]
#[case::of_context_mappings(include_str!("../recorded/context_mappings.jsonl"), 520)]
#[case::of_mapping_settings(include_str!("../recorded/mapping_settings.jsonl"), 1590)]
#[case::of_members(include_str!("../recorded/members.jsonl"), 400)]
#[case::of_altered_writes(include_str!("../recorded/altered_writes.jsonl"), 520)]
#[case::of_settings_in_order(include_str!("../recorded/settings_in_order.jsonl"), 930)]
#[case::of_minimums(include_str!("../recorded/minimums.jsonl"), 460)]
#[case::of_phrases_without_positions(include_str!("../recorded/without_positions.jsonl"), 51)]
#[case::of_brackets(include_str!("../recorded/brackets.jsonl"), 460)]
#[case::of_spans(include_str!("../recorded/spans.jsonl"), 20)]
#[case::of_functions(include_str!("../recorded/functions.jsonl"), 15)]
#[case::of_log_lines(include_str!("../recorded/lines.jsonl"), 120)]
#[case::of_documents(include_str!("../recorded/documents.jsonl"), 150)]
#[case::of_bulk_requests(include_str!("../recorded/bulk.jsonl"), 90)]
#[case::of_mappings(include_str!("../recorded/mappings.jsonl"), 150)]
#[case::of_routes(include_str!("../recorded/routes.jsonl"), 125)]
#[case::of_aliases(include_str!("../recorded/aliases.jsonl"), 300)]
#[case::of_counts(include_str!("../recorded/counts.jsonl"), 200)]
#[case::of_several_searches(include_str!("../recorded/several.jsonl"), 250)]
#[case::of_suggestions(include_str!("../recorded/suggestions.jsonl"), 180)]
#[case::of_deletions(include_str!("../recorded/deletions.jsonl"), 100)]
#[case::of_similar_documents(include_str!("../recorded/similar.jsonl"), 120)]
#[case::of_templates(include_str!("../recorded/templates.jsonl"), 180)]
#[case::of_term_vectors(include_str!("../recorded/vectors.jsonl"), 140)]
#[case::of_highlights(include_str!("../recorded/highlights.jsonl"), 250)]
#[case::of_elements_of_a_search(include_str!("../recorded/elements.jsonl"), 700)]
#[case::of_queries(include_str!("../recorded/queries.jsonl"), 1200)]
#[case::of_cat(include_str!("../recorded/cat.jsonl"), 500)]
#[case::of_settings(include_str!("../recorded/settings.jsonl"), 400)]
#[case::of_shards(include_str!("../recorded/shards.jsonl"), 50)]
#[case::of_sorts(include_str!("../recorded/sorts.jsonl"), 300)]
#[case::of_aggregations(include_str!("../recorded/aggregations.jsonl"), 400)]
#[case::of_combined_settings(include_str!("../recorded/combined.jsonl"), 250)]
#[case::of_facets(include_str!("../recorded/facets.jsonl"), 450)]
#[case::of_cross_fields(include_str!("../recorded/cross_fields.jsonl"), 25)]
#[case::of_unmapped_fields_and_no_indices(include_str!("../recorded/unmapped.jsonl"), 60)]
#[case::of_points(include_str!("../recorded/geo.jsonl"), 100)]
#[case::of_malformed_requests(include_str!("../recorded/malformed.jsonl"), 130)]
#[case::of_blocks(include_str!("../recorded/blocks.jsonl"), 120)]
#[case::of_bodies(include_str!("../recorded/bodies.jsonl"), 600)]
#[case::of_values(include_str!("../recorded/values.jsonl"), 200)]
#[case::of_search_sources(include_str!("../recorded/sources.jsonl"), 480)]
#[case::of_types(include_str!("../recorded/types.jsonl"), 275)]
#[case::of_configured_indices(include_str!("../recorded/configured.jsonl"), 235)]
#[case::of_settings_of_fields(include_str!("../recorded/fields.jsonl"), 220)]
#[case::of_boosts_in_all(include_str!("../recorded/all_boosts.jsonl"), 150)]
#[case::of_altered_definitions(include_str!("../recorded/definitions.jsonl"), 380)]
#[case::of_similarities(include_str!("../recorded/similarities.jsonl"), 450)]
#[case::of_rejected_documents(include_str!("../recorded/rejected.jsonl"), 20)]
#[case::of_settings_of_queries(include_str!("../recorded/settings_of_queries.jsonl"), 950)]
#[case::of_rewritten_queries(include_str!("../recorded/rewritten.jsonl"), 90)]
#[case::of_parsed_documents(include_str!("../recorded/parsed_documents.jsonl"), 950)]
#[case::of_kinds_of_queries_by_field(include_str!("../recorded/kinds.jsonl"), 450)]
#[case::of_kinds_of_fields_by_query(include_str!("../recorded/kinds_of_fields.jsonl"), 540)]
#[case::of_patterns_of_names(include_str!("../recorded/name_patterns.jsonl"), 45)]
#[case::of_phrase_suggestions(include_str!("../recorded/phrase_suggestions.jsonl"), 280)]
#[case::of_cardinalities(include_str!("../recorded/cardinality.jsonl"), 260)]
#[case::of_sources_read_on(include_str!("../recorded/read_sources.jsonl"), 700)]
#[case::of_random_highlights(include_str!("../recorded/random_highlights.jsonl"), 250)]
#[case::of_completions(include_str!("../recorded/completions.jsonl"), 400)]
#[case::of_scripts(include_str!("../recorded/scripts.jsonl"), 700)]
#[case::of_random_searches(include_str!("../recorded/random_searches.jsonl"), 900)]
#[case::of_random_aggregations(include_str!("../recorded/random_aggregations.jsonl"), 550)]
#[case::of_aggregations_of_shards(include_str!("../recorded/aggregations_of_shards.jsonl"), 250)]
#[case::of_random_dates(include_str!("../recorded/random_dates.jsonl"), 380)]
#[case::of_random_queries(include_str!("../recorded/random_queries.jsonl"), 600)]
#[case::of_random_documents(include_str!("../recorded/random_documents.jsonl"), 380)]
#[case::of_sessions(include_str!("../recorded/sessions.jsonl"), 300)]
#[case::of_sessions_over_shards(include_str!("../recorded/sessions_of_shards.jsonl"), 200)]
#[case::of_sessions_of_relatives(include_str!("../recorded/sessions_of_relatives.jsonl"), 300)]
#[case::of_mixed_sessions(include_str!("../recorded/mixed_sessions.jsonl"), 950)]
#[case::of_mustache_templates(include_str!("../recorded/mustache.jsonl"), 250)]
#[case::of_regular_expressions(include_str!("../recorded/regular_expressions.jsonl"), 40)]
#[case::of_java_patterns(include_str!("../recorded/java_patterns.jsonl"), 600)]
#[case::of_lucene_expressions(include_str!("../recorded/lucene_expressions.jsonl"), 400)]
#[case::of_simple_query_strings(include_str!("../recorded/simple_query_strings.jsonl"), 300)]
#[case::of_geo_filters(include_str!("../recorded/geo_filters.jsonl"), 200)]
#[case::of_score_functions(include_str!("../recorded/score_functions.jsonl"), 200)]
#[case::of_several_suggestions(include_str!("../recorded/several_suggestions.jsonl"), 250)]
#[case::of_missing_mappings(include_str!("../recorded/missing_mappings.jsonl"), 30)]
#[case::of_nested_types(include_str!("../recorded/nested_types.jsonl"), 60)]
#[case::of_routed_writes(include_str!("../recorded/routed_writes.jsonl"), 330)]
#[case::of_query_strings(include_str!("../recorded/query_strings.jsonl"), 430)]
#[tokio::test]
async fn requests_are_answered_as_by_elasticsearch(#[case] recorded: &str, #[case] at_least: usize) {
    let backend = Backend::new();
    let mut differing = Vec::new();
    let mut count = 0;
    for line in recorded.lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| recorded[key].as_str().unwrap_or_default();
        let response = backend.send(text("method"), text("path"), text("body")).await;
        let Some(status) = recorded["status"].as_u64() else {
            assert_eq!(response.status, 200, "{}", response.text);
            continue;
        };
        count += 1;
        let mut answered: Value = serde_json::from_str(&response.text).unwrap_or_else(|_| json!({}));
        for unjudged in ["took", "timed_out", "_shards"] {
            answered.as_object_mut().and_then(|answered| answered.remove(unjudged));
        }
        let is_same = match recorded.get("answer") {
            Some(answer) => is_same(answer, &answered),
            None => {
                let error = answered["error"].as_str().unwrap_or_default();
                response.text.contains(text("reason")) || error.contains(text("reason"))
            }
        };
        if u64::from(response.status) != status || !is_same {
            differing.push(format!("{line}\n{}\n", response.text));
        }
    }
    assert!(count > at_least && differing.is_empty(), "{}", differing.join("\n"));
}

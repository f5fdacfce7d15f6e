//! Tests of the search backend through its public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

mod aggregations;
mod api;
mod data_directory;
mod divided;
mod documents;
mod edges;
mod explanations;
mod facets;
mod fields;
mod flushes;
mod frequent_phrases;
#[path = "../../../../fuzz/properties/search.rs"]
mod fuzzed;
mod geohashes;
mod highlight;
mod index_expressions;
mod joins;
mod limits;
mod mappings;
mod older_viewer;
mod properties;
mod queries;
mod query_errors;
mod recorded;
mod recorded_analysis;
mod reopened;
mod request_errors;
mod requests;
mod routed;
mod scripts;
mod statistics;
mod strictness;
mod suggest;
mod support;
mod term_order;
mod times;
mod viewer;

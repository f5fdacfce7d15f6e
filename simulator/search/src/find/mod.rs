//! Search: execution of a request over the shards of several indices, with one merged list of hits.
//!
//! Guarantees:
//! - Statistics and errors are per shard, unless the search type is a `dfs` one.
//! - Hits of equal rank are in the order of their shards, then of indexing.
//!
//! Limits: a bounded number of hits and buckets.
//!
//! Source: Elasticsearch 1.5's query-then-fetch.

mod best;
mod body;
mod collection;
mod element;
mod execute;
mod failure;
mod geo_sort;
mod hits;
mod inner_hits;
mod pages;
mod params;
mod prepare;
mod query_source;
mod request;
mod rescore;
mod rescore_settings;
mod returned;
mod searched;
mod sort;
mod sort_reader;
mod source;
mod top_docs;
mod values;

pub(crate) use best::best_of;
pub(crate) use collection::DIVIDED_DOCS;
pub(crate) use execute::{Outcome, search};
pub(crate) use failure::{Failure, all_failed, shards_json};
pub(crate) use hits::render;
pub(crate) use pages::{Lost, Scan, hits_after};
pub(crate) use prepare::{alias_filter, prepare_query};
pub(crate) use query_source::QuerySource;
pub(crate) use request::{SearchRequest, SearchType};
pub(crate) use returned::{stored_values, value_of_source};
pub(crate) use searched::Searched;
pub(crate) use sort::check_sort;
pub(crate) use source::{
    SourceFilter, check_loadable, extract, extract_members, metadata_value, names, visible_source,
};
pub(crate) use top_docs::Candidate;
pub(crate) use values::operator;

//! The members of a request for the term vectors of a document. The documents of `more_like_this` have the same.
//!
//! Source: Elasticsearch 1.5's `TermVectorRequest.parseRequest`.

use serde_json::Value;

use crate::error::{Result, SearchError};

/// The members that are one setting, with two names.
pub(crate) const FLAGS: [[&str; 2]; 5] = [
    ["offsets", "offsets"],
    ["positions", "positions"],
    ["payloads", "payloads"],
    ["term_statistics", "termStatistics"],
    ["field_statistics", "fieldStatistics"],
];

pub(crate) const NO_ARRAY: &str =
    "The parameter fields must be given as an array! Use syntax : \"fields\" : [\"field1\", \"field2\",...]";

pub(crate) const ID_AND_DOCUMENT: &str = "Either \"id\" or \"doc\" can be specified, but not both!";

/// Returns the error for a member that there is not.
pub(crate) fn unknown_member(name: &str) -> SearchError {
    SearchError::parse(format!("The parameter {name} is not valid for term vector request!"))
}

/// Fails for an unknown member, `fields` that are no array, or an id and a document.
pub(super) fn check_item(item: &Value) -> Result<()> {
    for (name, value) in item.as_object().into_iter().flatten() {
        match name.as_str() {
            "_index" | "_type" | "_id" | "_routing" | "routing" | "doc" | "per_field_analyzer" | "perFieldAnalyzer" => {
            }
            "fields" if value.is_array() => {}
            "fields" => return Err(SearchError::parse(NO_ARRAY)),
            other if FLAGS.as_flattened().contains(&other) => {}
            other => return Err(unknown_member(other)),
        }
        let is_id_or_document = matches!(name.as_str(), "_id" | "doc");
        if is_id_or_document && item.get("_id").is_some() && item.get("doc").is_some() {
            return Err(SearchError::parse(ID_AND_DOCUMENT));
        }
    }
    Ok(())
}

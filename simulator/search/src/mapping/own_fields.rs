//! Metadata fields that every type has, whatever its definition.
//!
//! Source: the root mappers of Elasticsearch 1.5.

use std::sync::LazyLock;

use super::{ALL_BOOSTS, FIELD_NAMES, Field, FieldOrdinal, FieldType, Kind, ROUTING, TIMESTAMP, TTL, TYPE, UID};
use crate::analysis::Analyzer;
use crate::similarity::Similarity;

/// The number of fields that no document has.
const NO_DOCUMENT: FieldOrdinal = ALL_BOOSTS - 1;

/// Fields of numbers. No document has them, unless its type enables them as fields of their own.
static NUMBERS: LazyLock<[Field; 4]> = LazyLock::new(|| {
    let fields = [
        (TIMESTAMP, Kind::Date),
        (TTL, Kind::Long),
        ("_size", Kind::Integer),
        ("_boost", Kind::Float),
    ];
    fields.map(|(name, kind)| Field {
        ordinal: NO_DOCUMENT,
        name: name.to_owned(),
        field_type: FieldType::of(kind),
        index_analyzer: Analyzer::keyword(),
        search_analyzer: Analyzer::keyword(),
        quote_analyzer: Analyzer::keyword(),
        similarity: Similarity::default(),
        is_boosted: false,
    })
});

/// Analyzer of the fields of [`TEXTS`].
static KEYWORD: LazyLock<Analyzer> = LazyLock::new(Analyzer::keyword);

/// Fields whose texts in queries are single terms.
const TEXTS: [&str; 8] = [
    "_field_names",
    "_id",
    "_index",
    "_parent",
    "_routing",
    "_source",
    "_type",
    "_uid",
];

/// Returns the names that a pattern with `*` matches. Others than those of [`TEXTS`] and [`NUMBERS`] have terms.
pub(super) fn matching(pattern: &str) -> impl Iterator<Item = &'static str> {
    let names = NUMBERS.iter().map(|field| field.name.as_str());
    let names = names.chain(TEXTS).chain(["_all", "_version"]);
    names.filter(move |name| crate::pattern::matches(pattern, name))
}

/// Returns a field of numbers that no document has.
pub(super) fn numbers(name: &str) -> Option<&'static Field> {
    NUMBERS.iter().find(|field| field.name == name)
}

/// Returns the analyzer of texts in queries of a field.
pub(super) fn analyzer(name: &str) -> Option<&'static Analyzer> {
    TEXTS.contains(&name).then(|| &*KEYWORD)
}

/// Returns the number of the field of terms with this name.
pub(crate) fn terms(name: &str) -> Option<FieldOrdinal> {
    match name {
        "_type" => Some(TYPE),
        "_uid" => Some(UID),
        "_routing" => Some(ROUTING),
        "_field_names" => Some(FIELD_NAMES),
        _ => None,
    }
}

/// Returns Lucene's description of how a field of texts is indexed, for error messages.
pub(crate) fn lucene_text(name: &str) -> Option<&'static str> {
    match name {
        "_id" => Some(""),
        "_source" => Some("stored"),
        "_type" | "_index" | "_field_names" => Some("indexed,omitNorms,indexOptions=DOCS_ONLY"),
        "_uid" | "_routing" | "_parent" => Some("stored,indexed,omitNorms,indexOptions=DOCS_ONLY"),
        _ => None,
    }
}

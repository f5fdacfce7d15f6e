//! A filter as text: the class that Elasticsearch 1.5 makes of it, and whether it is cached.
//!
//! Source: the `toString` of the filters of Lucene 4.10 and Elasticsearch 1.5.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::mapping::truth;
use crate::query::{Occur, Query, QueryKind, label};

/// Class of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterClass {
    /// A filter that shows as its query.
    Plain,
    /// Several terms of one field, which show sorted and once each.
    Terms,
    Prefix,
    /// A boolean filter of so many clauses. The query may have one more, which matches all documents.
    Boolean(usize),
    And,
    Or,
    Not,
    /// A query as a filter.
    Wrapper,
    /// A query that runs on a whole shard, as a filter.
    CustomWrapper,
    /// Documents that are no nested objects.
    Whole,
    MatchNone,
}

/// Caching of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caching {
    Cached,
    Uncached,
    /// Excluded from caching, alone and within other filters.
    Never,
}

impl Caching {
    /// The caching that `_cache` among a filter's settings asks for.
    pub(super) fn of(settings: &Map<String, Value>, default: bool) -> Caching {
        match settings.get("_cache").map_or(default, truth) {
            true => Caching::Cached,
            false => Caching::Uncached,
        }
    }
}

/// Class and caching of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterForm {
    pub(crate) class: FilterClass,
    pub(crate) caching: Caching,
}

/// The text of a filter. All documents are a query of its own only where no filter is meant.
pub(crate) fn filter_label(filter: &Query) -> String {
    match filter.kind {
        QueryKind::All => "*:*".to_owned(),
        _ => label(filter),
    }
}

impl FilterForm {
    /// The text of a filter with this form.
    pub(super) fn label(self, query: &Query) -> String {
        let text = self.class.label(query);
        match self.caching {
            Caching::Cached if !is_never_cached(query) && !is_cached(query) => format!("cache({text})"),
            Caching::Cached | Caching::Uncached => text,
            Caching::Never => format!("no_cache({text})"),
        }
    }
}

impl FilterClass {
    fn label(self, query: &Query) -> String {
        let clauses = clauses_of(query);
        let joined = |sign: &str| {
            let texts = clauses
                .iter()
                .map(|(_, clause)| format!("{sign}{}", filter_label(clause)));
            texts.collect::<Vec<_>>().join(" ")
        };
        match self {
            FilterClass::Plain => bare(query),
            FilterClass::Terms => {
                let texts: BTreeSet<String> = clauses.iter().map(|(_, clause)| bare(clause)).collect();
                texts.into_iter().collect::<Vec<_>>().join(" ")
            }
            FilterClass::Prefix => format!("PrefixFilter({})", bare(query).trim_end_matches('*')),
            FilterClass::Boolean(count) => {
                let shown = clauses.iter().take(count);
                let texts = shown.map(|(occur, clause)| format!("{}{}", occur.sign(), filter_label(clause)));
                format!("BooleanFilter({})", texts.collect::<Vec<_>>().join(" "))
            }
            FilterClass::And => joined("+"),
            FilterClass::Or => joined(""),
            FilterClass::Not => {
                let inner = clauses.iter().find(|(occur, _)| *occur == Occur::MustNot);
                format!(
                    "NotFilter({})",
                    inner.map(|(_, inner)| filter_label(inner)).unwrap_or_default()
                )
            }
            FilterClass::Wrapper => format!("QueryWrapperFilter({})", label(query)),
            FilterClass::CustomWrapper => format!("CustomQueryWrappingFilter({})", label(query)),
            FilterClass::Whole => "org.elasticsearch.index.search.nested.NonNestedDocsFilter@1".to_owned(),
            FilterClass::MatchNone => "MatchNoDocsFilter".to_owned(),
        }
    }
}

fn clauses_of(query: &Query) -> &[(Occur, Query)] {
    match &query.kind {
        QueryKind::Bool { clauses, .. } => clauses,
        _ => &[],
    }
}

/// The text of what a filter matches, which has no score to be made constant.
fn bare(query: &Query) -> String {
    match &query.kind {
        QueryKind::Constant { query, form: None } => filter_label(query),
        _ => label(query),
    }
}

/// Returns whether what a filter matches is cached already.
fn is_cached(query: &Query) -> bool {
    match &query.kind {
        QueryKind::Constant { query, form: None } => is_cached(query),
        QueryKind::Constant { form: Some(form), .. } => form.caching == Caching::Cached,
        _ => false,
    }
}

/// Returns whether a filter or one of its clauses is excluded from caching.
fn is_never_cached(query: &Query) -> bool {
    match &query.kind {
        QueryKind::Constant {
            query,
            form: Some(form),
        } => form.caching == Caching::Never || is_never_cached(query),
        QueryKind::Bool { clauses, .. } => clauses.iter().any(|(_, clause)| is_never_cached(clause)),
        _ => false,
    }
}

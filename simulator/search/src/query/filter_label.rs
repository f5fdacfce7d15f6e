//! Text form of filters.
//!
//! Source: the `toString` of the filters of Lucene 4.10 and Elasticsearch 1.5.

use std::collections::BTreeSet;

use crate::query::{Caching, FilterClass, FilterForm, Matcher, Occur, Query, QueryKind, label};

/// Prints a filter. Filters that match all documents or none print differently from such queries.
pub(crate) fn filter_label(filter: &Query) -> String {
    match filter.kind {
        QueryKind::All => "*:*".to_owned(),
        QueryKind::Nothing => "MatchNoDocsFilter".to_owned(),
        _ => label(filter),
    }
}

/// Prints a filter with its class and caching.
pub(super) fn form_label(form: FilterForm, query: &Query) -> String {
    let text = class_label(form.class, query);
    match form.caching {
        Caching::Cached if !is_never_cached(query) && !is_cached(query) => format!("cache({text})"),
        Caching::Cached | Caching::Uncached => text,
        Caching::Never => format!("no_cache({text})"),
    }
}

/// Prints a filter of a class.
fn class_label(class: FilterClass, query: &Query) -> String {
    let clauses = clauses_of(query);
    let joined = |sign: &str| {
        let texts = clauses
            .iter()
            .map(|(_, clause)| format!("{sign}{}", filter_label(clause)));
        texts.collect::<Vec<_>>().join(" ")
    };
    match class {
        FilterClass::Plain => bare(query),
        FilterClass::Terms => {
            let texts: BTreeSet<String> = clauses.iter().map(|(_, clause)| bare(clause)).collect();
            texts.into_iter().collect::<Vec<_>>().join(" ")
        }
        FilterClass::Prefix => {
            let text = bare(query);
            format!("PrefixFilter({})", text.strip_suffix('*').unwrap_or(&text))
        }
        FilterClass::Regexp => match &query.kind {
            QueryKind::MultiTerm {
                field,
                matcher: Matcher::Regexp { text, .. },
            } => format!("{}:{text}", field.name),
            QueryKind::IdPattern(Matcher::Regexp { text, .. }) => format!("_uid:{text}"),
            _ => bare(query),
        },
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
        FilterClass::NonNested => "org.elasticsearch.index.search.nested.NonNestedDocsFilter@1".to_owned(),
    }
}

fn clauses_of(query: &Query) -> &[(Occur, Query)] {
    match &query.kind {
        QueryKind::Bool { clauses, .. } => clauses,
        _ => &[],
    }
}

/// Prints a filter without its constant-score wrapper.
fn bare(query: &Query) -> String {
    match &query.kind {
        QueryKind::Constant { query, form: None } => filter_label(query),
        _ => label(query),
    }
}

/// Returns whether the inner filter is already cached.
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

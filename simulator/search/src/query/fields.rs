//! What queries have to know of the index that they are for.

use crate::mapping::{FIELD_NAMES, Field, Kind, Mapping, TYPE};
use crate::query::{Query, QueryField, QueryKind};

/// An index as queries see it.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) index: &'a str,
    pub(crate) mapping: &'a Mapping,
    /// Milliseconds since 1970.
    pub(crate) now: i64,
    /// Most clauses of a boolean query.
    pub(crate) most_clauses: usize,
}

impl<'a> Context<'a> {
    pub(crate) fn mapped(&self, name: &str) -> Option<&'a Field> {
        self.mapping.field(name)
    }

    pub(crate) fn field(&self, name: &str) -> QueryField {
        match name {
            "_type" => QueryField {
                name: name.into(),
                ordinal: Some(TYPE),
                norms: false,
            },
            "_field_names" => QueryField {
                name: name.into(),
                ordinal: Some(FIELD_NAMES),
                norms: false,
            },
            _ => self
                .mapped(name)
                .map_or_else(|| QueryField::unmapped(name), QueryField::of),
        }
    }

    /// The documents that have a value in a field that `pattern` names (or in an object of that name).
    pub(crate) fn exists(&self, pattern: &str) -> Query {
        let named = |name: &str| {
            Query::from(QueryKind::Term {
                field: self.field("_field_names"),
                text: name.to_owned(),
            })
        };
        if !pattern.contains('*') {
            return match pattern {
                "_all" | "_id" | "_type" | "_uid" | "_source" | "_index" => Query::from(QueryKind::All),
                _ => named(pattern),
            }
            .constant();
        }
        Query::any(
            self.mapping
                .field_names(pattern)
                .iter()
                .map(|name| named(name))
                .collect(),
        )
        .constant()
    }

    pub(crate) fn missing(&self, pattern: &str) -> Query {
        Query::not(self.exists(pattern)).constant()
    }

    pub(crate) fn of_type(&self, type_name: &str) -> Query {
        Query::from(QueryKind::Term {
            field: self.field("_type"),
            text: type_name.to_owned(),
        })
        .constant()
    }

    /// The fields that a name with stars stands for, or the name itself.
    pub(crate) fn names(&self, pattern: &str) -> Vec<String> {
        if !pattern.contains('*') {
            return vec![pattern.to_owned()];
        }
        let names: Vec<String> = self
            .mapping
            .field_names(pattern)
            .into_iter()
            .filter(|name| {
                self.mapped(name)
                    .is_some_and(|field| field.field_type.kind != Kind::Binary)
            })
            .collect();
        if names.is_empty() {
            vec![pattern.to_owned()]
        } else {
            names
        }
    }
}

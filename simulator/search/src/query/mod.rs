//! Queries against one index: query strings and request bodies with their fields resolved.
//!
//! Guarantees: fields are resolved to their ordinals; dates and numbers are numbers.
//! Source: the query tree of Lucene 4.10.

mod automaton;
mod build;
mod dsl;
mod dsl_filter;
mod dsl_function;
mod dsl_geo;
mod dsl_inner_hits;
mod dsl_leaf;
mod dsl_match;
mod dsl_parts;
mod dsl_similar;
mod dsl_span;
mod dsl_string;
mod expand;
mod expression;
mod fields;
mod filter_form;
mod filter_label;
mod frequency;
mod function;
mod geo;
mod inner_hits;
mod join;
mod label;
mod levenshtein;
mod numeric_range;
mod regexp;
mod regexp_parser;
mod settings;
mod simple;
mod span;
mod term_test;
mod text;
mod value;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::mapping::{Field, FieldOrdinal};
use crate::script::MappedScript;

pub(crate) use build::parse_string;
pub(crate) use dsl::parse_body;
pub(crate) use dsl_filter::parse_filter;
pub(crate) use dsl_inner_hits::parse_inner_hits;
pub(crate) use dsl_parts::check_nested;
pub(crate) use expand::{Expansion, Near, expand, similar_terms, starting_with, terms_of};
pub(crate) use fields::{Context, Documents, Parsers};
pub(crate) use filter_form::{Caching, FilterClass, FilterForm};
pub(crate) use filter_label::filter_label;
pub(crate) use frequency::{FrequencyQuery, Rewrite};
pub(crate) use function::{Decay, Function, FunctionSettings, Modifier, ScoreFunction};
pub(crate) use geo::{GeoPoint, GeoShape, LONGEST_GEOHASH, geohash_length, metres, neighbors};
pub(crate) use inner_hits::{InnerHits, InnerRelation};
pub(crate) use join::{JoinMode, NestedQuery, RelatedQuery, Relation};
pub(crate) use label::label;
pub(crate) use numeric_range::NumericRange;
pub(crate) use settings::{Operator, StringSettings};
pub(crate) use span::SpanQuery;
pub(crate) use term_test::TermTest;

/// The parsers of the query DSL.
pub(crate) const PARSERS: Parsers = Parsers {
    query: parse_body,
    filter: parse_filter,
};

/// A field of a query. An unmapped field has no ordinal and no documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryField {
    pub(crate) name: Arc<str>,
    pub(crate) ordinal: Option<FieldOrdinal>,
    pub(crate) norms: bool,
}

impl QueryField {
    pub(crate) fn of(field: &Field) -> QueryField {
        QueryField {
            name: field.name.as_str().into(),
            ordinal: Some(field.ordinal),
            norms: field.field_type.norms,
        }
    }

    pub(crate) fn unmapped(name: &str) -> QueryField {
        QueryField {
            name: name.into(),
            ordinal: None,
            norms: false,
        }
    }
}

/// Occurrence of a clause in a boolean query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occur {
    Must,
    Should,
    MustNot,
}

impl Occur {
    /// The sign of such a clause in the text of a query.
    fn sign(self) -> &'static str {
        match self {
            Occur::Must => "+",
            Occur::Should => "",
            Occur::MustNot => "-",
        }
    }
}

/// Which terms of a field match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Matcher {
    Prefix(String),
    Wildcard(String),
    Regexp(String),
    /// Bounds, each with whether it belongs to the range.
    Range {
        lower: Option<(String, bool)>,
        upper: Option<(String, bool)>,
    },
    Fuzzy {
        term: String,
        edits: u8,
        prefix: usize,
        expansions: usize,
        transpositions: bool,
    },
}

/// A query with its boost.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query {
    pub(crate) kind: QueryKind,
    pub(crate) boost: f32,
}

/// Kinds of queries.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueryKind {
    All,
    /// Nothing; adds nothing to the query norm.
    Nothing,
    Term {
        field: QueryField,
        text: String,
    },
    /// A term that is scored as if one document had it.
    RareTerm {
        field: QueryField,
        text: String,
    },
    /// Terms by position; several at one position are alternatives.
    Phrase {
        field: QueryField,
        slots: Vec<(u32, Vec<String>)>,
        slop: u32,
    },
    /// A phrase whose last term is a prefix.
    PhrasePrefix {
        field: QueryField,
        slots: Vec<(u32, Vec<String>)>,
        slop: u32,
        last: Option<(u32, String)>,
        expansions: usize,
    },
    /// All terms that a matcher accepts.
    MultiTerm {
        field: QueryField,
        matcher: Matcher,
    },
    Range {
        field: QueryField,
        range: NumericRange,
    },
    Ids {
        types: Vec<String>,
        ids: Vec<String>,
    },
    /// Documents whose ids fit.
    IdPattern(Matcher),
    Bool {
        clauses: Vec<(Occur, Query)>,
        minimum_should_match: usize,
        coord: bool,
    },
    /// The best of several, and a share of the others.
    DisjunctionMax {
        queries: Vec<Query>,
        tie: f32,
    },
    /// One term in several fields, scored as if they were one field.
    Blended {
        fields: Vec<(QueryField, f32)>,
        text: String,
        tie: f32,
    },
    Span(SpanQuery),
    /// The positive query; documents of the negative one have their scores lowered.
    Boosting {
        positive: Box<Query>,
        negative: Box<Query>,
        factor: f32,
    },
    Functions {
        query: Box<Query>,
        functions: Vec<ScoreFunction>,
        settings: FunctionSettings,
    },
    /// A query that depends on how frequent its terms are.
    ByFrequency(FrequencyQuery),
    Nested(Box<NestedQuery>),
    Related(Box<RelatedQuery>),
    /// Documents for which a script is not 0.
    Script(MappedScript),
    /// The first documents of each segment.
    Limit(u32),
    /// Documents with a point in a shape.
    Geo {
        field: QueryField,
        shape: GeoShape,
    },
    /// Documents of a query, all with the same score. A filter has a form.
    Constant {
        query: Box<Query>,
        form: Option<FilterForm>,
    },
    Filtered {
        query: Box<Query>,
        filter: Box<Query>,
    },
}

impl From<QueryKind> for Query {
    fn from(kind: QueryKind) -> Query {
        Query { kind, boost: 1.0 }
    }
}

impl Query {
    pub(crate) fn constant(self) -> Query {
        QueryKind::Constant {
            query: Box::new(self),
            form: None,
        }
        .into()
    }

    /// The query as a filter.
    pub(crate) fn filter(self, class: FilterClass, caching: Caching) -> Query {
        QueryKind::Constant {
            query: Box::new(self),
            form: Some(FilterForm { class, caching }),
        }
        .into()
    }

    /// The filter with another caching.
    pub(crate) fn with_caching(mut self, caching: Caching) -> Query {
        if let QueryKind::Constant { form: Some(form), .. } = &mut self.kind {
            form.caching = caching;
        }
        self
    }

    /// The filter, cached if the settings around it say so and it is not yet.
    fn cached_if(self, settings: &Map<String, Value>) -> Query {
        match (&self.kind, Caching::of(settings, false)) {
            (
                QueryKind::Constant {
                    form:
                        Some(FilterForm {
                            caching: Caching::Uncached,
                            ..
                        }),
                    ..
                },
                Caching::Cached,
            ) => self.with_caching(Caching::Cached),
            _ => self,
        }
    }

    pub(crate) fn boosted(mut self, boost: f32) -> Query {
        self.boost = boost;
        self
    }

    pub(crate) fn filtered(self, filter: Query) -> Query {
        QueryKind::Filtered {
            query: Box::new(self),
            filter: Box::new(filter),
        }
        .into()
    }

    /// All of `clauses`, in the order given.
    pub(crate) fn bool(clauses: Vec<(Occur, Query)>) -> Query {
        QueryKind::Bool {
            clauses,
            minimum_should_match: 0,
            coord: true,
        }
        .into()
    }

    pub(crate) fn any(queries: Vec<Query>) -> Query {
        Query::bool(queries.into_iter().map(|query| (Occur::Should, query)).collect())
    }

    pub(crate) fn every(queries: Vec<Query>) -> Query {
        Query::bool(queries.into_iter().map(|query| (Occur::Must, query)).collect())
    }

    pub(crate) fn not(query: Query) -> Query {
        Query::bool(vec![(Occur::Must, QueryKind::All.into()), (Occur::MustNot, query)])
    }

    /// A boolean query of prohibited clauses only matches what they leave of everything.
    pub(crate) fn fix_negative(mut self) -> Query {
        if let QueryKind::Bool { clauses, .. } = &mut self.kind
            && !clauses.is_empty()
            && clauses.iter().all(|(occur, _)| *occur == Occur::MustNot)
        {
            clauses.push((Occur::Must, QueryKind::All.into()));
        }
        self
    }
}

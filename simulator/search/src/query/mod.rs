//! Queries for one index, parsed from query strings and request bodies.
//!
//! Guarantees: fields are resolved to ordinals; dates and numbers are encoded.
//!
//! Source: the query tree of Lucene 4.10.

mod automaton;
mod build;
mod dsl;
mod dsl_common;
mod dsl_filter;
mod dsl_filter_leaf;
mod dsl_function;
mod dsl_geo;
mod dsl_inner_hits;
mod dsl_leaf;
mod dsl_match;
mod dsl_parts;
mod dsl_similar;
mod dsl_span;
mod dsl_string;
mod element;
mod expand;
mod expression;
mod field_reader;
mod fields;
mod filter_form;
mod filter_label;
mod frequency;
mod function;
mod geo;
mod geo_point;
mod inner_hits;
mod join;
mod known_terms;
mod label;
mod levenshtein;
mod multi_value_mode;
mod numeric_range;
mod reader;
mod regexp;
mod regexp_parser;
mod settings;
mod simple;
mod span;
mod term_test;
mod text;
mod value;
pub(crate) mod vector_items;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::mapping::{Field, FieldOrdinal, Indexing};
use crate::script::MappedScript;
use crate::similarity::Similarity;

pub(crate) use build::parse_string;
pub(crate) use dsl_inner_hits::parse_inner_hits;
pub(crate) use dsl_parts::check_nested;
pub(crate) use element::Rest;
pub(crate) use expand::{Expansion, ScoredTerm, expand, similar_terms, terms_of, terms_with_prefix};
pub(crate) use fields::{Context, Documents, NamedDocument, Parsers};
pub(crate) use filter_form::{Caching, FilterClass, FilterForm};
pub(crate) use filter_label::filter_label;
pub(crate) use frequency::{FrequencyQuery, Rewrite};
pub(crate) use function::{Decay, Function, FunctionSettings, Modifier, Origin, ScoreFunction};
pub(crate) use geo::{
    DistanceType, GeoShape, enclosing_geohash_length, geohash_length, metres, neighbors, unit_in_metres,
};
pub(crate) use geo_point::{GeoPoint, MAX_GEOHASH_LENGTH, is_geohash_char};
pub(crate) use inner_hits::{InnerHits, InnerRelation};
pub(crate) use join::{JoinMode, NestedQuery, RelatedQuery, Relation};
pub(crate) use label::{boost_label, label, phrase_label};
pub(crate) use multi_value_mode::MultiValueMode;
pub(crate) use numeric_range::NumericRange;
pub(crate) use reader::analyzer_of;
use regexp_parser::Operators;
pub(crate) use settings::{Operator, StringSettings};
pub(crate) use span::SpanQuery;
pub(crate) use term_test::TermTest;

/// Parsers of the query DSL.
pub(crate) const PARSERS: Parsers = Parsers {
    query: dsl::parse_query,
    filter: dsl_filter::parse_filter,
};

/// A field of a query. An unmapped field has no ordinal and no documents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryField {
    pub(crate) name: Arc<str>,
    pub(crate) ordinal: Option<FieldOrdinal>,
    pub(crate) norms: bool,
    /// Whether its postings have term frequencies.
    pub(crate) frequencies: bool,
    pub(crate) similarity: Similarity,
    /// Whether the boosts of the fields in `_all` count.
    pub(crate) is_boosted: bool,
}

impl QueryField {
    pub(crate) fn of(field: &Field) -> QueryField {
        QueryField {
            name: field.name.as_str().into(),
            ordinal: Some(field.ordinal),
            norms: field.field_type.norms,
            frequencies: field.field_type.has_frequencies(),
            similarity: field.similarity,
            is_boosted: field.is_boosted,
        }
    }

    /// The postings of a field; nothing if it is not indexed.
    pub(super) fn of_terms(field: &Field) -> QueryField {
        let is_indexed = field.field_type.indexing != Indexing::No;
        QueryField {
            ordinal: is_indexed.then_some(field.ordinal),
            ..QueryField::of(field)
        }
    }

    /// The field for terms that boosts in `_all` do not affect.
    pub(crate) fn without_boosts(self) -> QueryField {
        QueryField {
            is_boosted: false,
            ..self
        }
    }

    pub(crate) fn unmapped(name: &str) -> QueryField {
        QueryField {
            name: name.into(),
            ordinal: None,
            norms: false,
            frequencies: false,
            similarity: Similarity::default(),
            is_boosted: false,
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
    /// Sign of the clause in the text form of a query.
    fn sign(self) -> &'static str {
        match self {
            Occur::Must => "+",
            Occur::Should => "",
            Occur::MustNot => "-",
        }
    }
}

/// Condition on the terms of a multi-term query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Matcher {
    Prefix(String),
    Wildcard(String),
    Regexp {
        text: String,
        operators: Operators,
    },
    /// Each bound has a flag: whether it is inclusive.
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

impl Matcher {
    /// Creates the condition of a regular expression.
    ///
    /// # Errors
    /// A text that is no regular expression.
    fn regexp(text: String, operators: Operators) -> crate::error::Result<Matcher> {
        regexp::Regexp::parse(&text, operators)?;
        Ok(Matcher::Regexp { text, operators })
    }
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
    /// All documents, as Elasticsearch's `match_all` filter.
    All,
    /// All documents, as Lucene's `MatchAllDocsQuery`. It prints and is explained in another way.
    AllDocs,
    /// Matches nothing, and does not contribute to the query norm.
    Nothing,
    Term {
        field: QueryField,
        text: String,
    },
    /// A term that is scored with a document frequency of 1.
    RareTerm {
        field: QueryField,
        text: String,
    },
    /// Terms by position. Several terms at one position are alternatives.
    Phrase {
        field: QueryField,
        slots: Vec<(u32, Vec<String>)>,
        slop: u32,
    },
    /// A phrase whose last terms are prefixes.
    PhrasePrefix {
        field: QueryField,
        slots: Vec<(u32, Vec<String>)>,
        slop: u32,
        last: Option<(u32, Vec<String>)>,
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
    /// The documents of a query, scored as those of a term that the index does not have: a number, or `_uid`.
    ListedTerm {
        field: QueryField,
        text: String,
        docs: Box<Query>,
    },
    Ids {
        types: Vec<String>,
        ids: Vec<String>,
    },
    /// Documents whose type and id match, as `_uid` has them.
    IdPattern(Matcher),
    Bool {
        clauses: Vec<(Occur, Query)>,
        minimum_should_match: usize,
        coord: bool,
    },
    /// Scores with the best query, plus `tie` times the others.
    DisjunctionMax {
        queries: Vec<Query>,
        tie: f32,
    },
    /// One term in several fields, scored with blended document frequencies.
    Blended {
        fields: Vec<(QueryField, f32)>,
        text: String,
        tie: f32,
        /// Frequency of documents, or their number, above which a document must have the term in a rarer field, too.
        cutoff: Option<f32>,
    },
    Span(SpanQuery),
    /// Matches the positive query. Scores of documents that match the negative one are multiplied by `factor`.
    Boosting {
        positive: Box<Query>,
        negative: Box<Query>,
        factor: f32,
        /// Whether it prints as the boolean query to which Lucene rewrites it.
        is_rewritten: bool,
    },
    Functions {
        query: Box<Query>,
        functions: Vec<ScoreFunction>,
        settings: FunctionSettings,
    },
    /// A query that is rewritten with the frequencies of its terms.
    ByFrequency(FrequencyQuery),
    Nested(Box<NestedQuery>),
    Related(Box<RelatedQuery>),
    /// Documents for which the script returns a value other than 0.
    Script(MappedScript),
    /// The first N root documents of each segment.
    Limit(u32),
    /// Documents with a point in the shape.
    Geo {
        field: QueryField,
        shape: GeoShape,
    },
    /// Constant-score query. `form` is set for filters.
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

    /// Converts to a filter.
    pub(crate) fn filter(self, class: FilterClass, caching: Caching) -> Query {
        QueryKind::Constant {
            query: Box::new(self),
            form: Some(FilterForm { class, caching }),
        }
        .into()
    }

    /// Sets the caching of a filter.
    pub(crate) fn with_caching(mut self, caching: Caching) -> Query {
        if let QueryKind::Constant { form: Some(form), .. } = &mut self.kind {
            form.caching = caching;
        }
        self
    }

    /// Marks an uncached filter as cached if the surrounding settings enable that.
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

    /// Creates a boolean query.
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

    /// Any of these, whose scores do not depend on how many match.
    pub(crate) fn any_without_coord(queries: impl IntoIterator<Item = Query>) -> Query {
        QueryKind::Bool {
            clauses: queries.into_iter().map(|query| (Occur::Should, query)).collect(),
            minimum_should_match: 0,
            coord: false,
        }
        .into()
    }

    pub(crate) fn every(queries: Vec<Query>) -> Query {
        Query::bool(queries.into_iter().map(|query| (Occur::Must, query)).collect())
    }

    pub(crate) fn not(query: Query) -> Query {
        Query::bool(vec![(Occur::Must, QueryKind::All.into()), (Occur::MustNot, query)])
    }

    /// Adds a clause that matches all documents to a boolean query that has only `MustNot` clauses.
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

//! Context of query parsing: the index, its mapping and limits.

use std::cell::RefCell;

use serde_json::Value;

use crate::analysis::Analyzer;
use crate::budget::Budget;
use crate::dates::Fill;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::NESTED;
use crate::json::{Tokens, is_scalar, java_text};
use crate::mapping::{FIELD_NAMES, Field, Kind, Mapping, PARENT, ROUTING, TYPE};
use crate::query::text::too_many_clauses;
use crate::query::{Caching, FilterClass, InnerHits, Matcher, Query, QueryField, QueryKind};

/// A document that a query names.
pub(crate) struct NamedDocument {
    pub(crate) source: Value,
    /// Whether searches still see another version of it.
    pub(crate) is_changed: bool,
}

/// Access to documents to which a query refers.
pub(crate) trait Documents {
    /// Returns the last version of a document, visible to searches or not.
    ///
    /// # Errors
    /// A missing or closed index, or a type whose documents need a routing value.
    fn find(&self, index: &str, type_name: &str, id: &str, routing: Option<&str>) -> Result<Option<NamedDocument>>;

    /// Returns whether names of indices and aliases, and patterns of them, include an index. None includes all.
    fn includes(&self, names: &[String], index: &str) -> bool;
}

/// Parser of a query or a filter, whose first token is the current one. `None`: one without content. It reads on to the
/// end.
pub(super) type Parser = for<'a> fn(&Context<'_>, &mut Tokens<'a>) -> Result<Option<Query>>;

/// Parsers of nested queries and filters.
#[derive(Clone, Copy)]
pub(crate) struct Parsers {
    pub(super) query: Parser,
    pub(super) filter: Parser,
}

/// Context of query parsing.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) index: &'a str,
    pub(crate) mapping: &'a Mapping,
    /// Types of the search. Empty: all.
    pub(crate) types: &'a [String],
    /// Milliseconds since 1970.
    pub(crate) now: i64,
    /// Maximum number of clauses of a boolean query.
    pub(crate) max_clauses: usize,
    /// Whether the matching documents are deleted.
    pub(crate) deletes: bool,
    /// Number of further nesting levels that are allowed.
    pub(crate) depth: usize,
    pub(crate) documents: Option<&'a dyn Documents>,
    /// Counts the parts of queries that templates render. Default: they are not counted, since they were before.
    pub(crate) budget: Option<&'a Budget>,
    /// Collects the named queries.
    pub(crate) names: Option<&'a RefCell<Vec<(String, Query)>>>,
    /// Collects the names of fields that are not mapped.
    pub(crate) unmapped: Option<&'a RefCell<Vec<String>>>,
    /// Collects the inner hits of queries.
    pub(crate) inner_hits: Option<&'a RefCell<Vec<InnerHits>>>,
    /// Path of the nested objects that the query matches. `None` for root documents.
    pub(crate) nested_path: Option<&'a str>,
    pub(crate) parsers: Parsers,
}

impl<'a> Context<'a> {
    /// Parses a query of the DSL.
    ///
    /// # Errors
    /// A body that is not a query, or that is nested too deeply.
    pub(crate) fn parse_query(&self, body: &Value) -> Result<Query> {
        let query = self.checked(|context| context.query_at(&mut Tokens::new(body)))?;
        Ok(query.unwrap_or_else(|| QueryKind::Nothing.into()))
    }

    /// Checks a query of the DSL, and returns the tokens that it leaves: those after another query beside it.
    ///
    /// # Errors
    /// Those of [`Context::parse_query`].
    pub(crate) fn check_query<'t>(&self, body: &'t Value) -> Result<Tokens<'t>> {
        let mut tokens = Tokens::new(body);
        self.checked(|context| context.query_at(&mut tokens))?;
        Ok(tokens)
    }

    /// Parses a filter of the DSL. An empty one matches all documents.
    ///
    /// # Errors
    /// A body that is not a filter, or that is nested too deeply.
    pub(crate) fn parse_filter(&self, body: &Value) -> Result<Query> {
        let filter = self.checked(|context| context.filter_at(&mut Tokens::new(body)))?;
        Ok(filter.unwrap_or_else(|| QueryKind::All.into()))
    }

    /// Parses with an error for fields that are not mapped.
    pub(crate) fn strictly<T>(&self, parse: impl FnOnce(&Context<'_>) -> Result<T>) -> Result<T> {
        let unmapped = RefCell::default();
        let parsed = parse(&Context {
            unmapped: Some(&unmapped),
            ..*self
        });
        match unmapped.borrow().first() {
            None => parsed,
            Some(field) => Err(SearchError::query(format!(
                "[{}] Strict field resolution and no field mapping can be found for the field with name [{field}]",
                self.index
            ))),
        }
    }

    /// Parses with an error for fields that are not mapped, if the index does not allow them.
    pub(super) fn checked<T>(&self, parse: impl FnOnce(&Context<'_>) -> Result<T>) -> Result<T> {
        match self.mapping.allows_unmapped() || self.unmapped.is_some() {
            true => parse(self),
            false => self.strictly(parse),
        }
    }

    /// What the parts of an upper end that a date does not have are filled with.
    pub(super) fn upper_fill(&self, fill: Fill) -> Fill {
        if self.mapping.rounds_up() { fill } else { Fill::Floor }
    }

    /// Parses the query that begins with the current token, and reads on to its end. `None`: one without content.
    pub(super) fn query_at(&self, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
        (self.parsers.query)(self, tokens)
    }

    /// Parses the filter that begins with the current token, and reads on to its end. `None`: an empty one.
    pub(super) fn filter_at(&self, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
        (self.parsers.filter)(self, tokens)
    }

    /// Adds that a query was parsed to an error of the JSON parser.
    pub(super) fn unparsed(&self, error: SearchError) -> SearchError {
        match error.kind {
            Exception::JsonParse => SearchError::query(format!("[{}] Failed to parse", self.index)).caused_by(error),
            _ => error,
        }
    }

    /// Fails for more clauses than a boolean query may have.
    pub(super) fn check_clauses(&self, count: usize) -> Result<()> {
        match count > self.max_clauses {
            true => Err(too_many_clauses(self.max_clauses)),
            false => Ok(()),
        }
    }

    /// Fails for more values than a list of them may have.
    pub(super) fn check_values(&self, count: usize) -> Result<()> {
        let most = self.max_clauses * 64;
        match count > most {
            true => Err(too_many_clauses(most)),
            false => Ok(()),
        }
    }

    /// Names of the types that are searched.
    pub(crate) fn type_names(&self) -> Vec<&'a str> {
        let is_searched = |name: &&str| {
            let mut types = self.types.iter();
            self.types.is_empty() || types.any(|wanted| wanted == name)
        };
        self.mapping.type_names().filter(is_searched).collect()
    }

    /// Returns whether a path is mapped as nested, in the types that are searched.
    pub(crate) fn is_nested(&self, path: &str) -> bool {
        self.mapping.nests(path, self.types) == Some(true)
    }

    /// Returns a field, unless only other types than those that are searched have it. Its name may begin with a type.
    pub(crate) fn mapped(&self, name: &str) -> Option<&'a Field> {
        self.field_of_types(name, self.has_all_types())
    }

    /// Returns a field as [`Context::mapped`], but `_all` is a type like any other.
    pub(crate) fn mapped_in_types(&self, name: &str) -> Option<&'a Field> {
        self.field_of_types(name, self.types.is_empty())
    }

    fn field_of_types(&self, name: &str, has_all: bool) -> Option<&'a Field> {
        let field = self.mapping.field(name)?;
        // Every type has the metadata fields.
        let has_field = |type_name: &str| field.name.starts_with('_') || self.mapping.has_field(type_name, &field.name);
        let is_named = has_all || self.mapping.named_type(name).is_some();
        (is_named || self.type_names().into_iter().any(has_field)).then_some(field)
    }

    /// Returns the field as which texts for a name are analyzed. That of a type that is not searched has its full name.
    pub(crate) fn analyzed(&self, name: &str) -> Option<&'a Field> {
        self.mapped(name).or_else(|| self.mapping.exact_field(name))
    }

    /// Returns a mapped field, if it is of numbers.
    pub(crate) fn numeric(&self, name: &str) -> Option<&'a Field> {
        self.mapped(name).filter(|field| field.field_type.kind.is_numeric())
    }

    /// Returns a field, of any type, whose terms are texts.
    fn text_field(&self, name: &str) -> Option<&'a Field> {
        self.analyzed(name)
            .filter(|field| field.field_type.kind.has_text_terms())
    }

    fn has_all_types(&self) -> bool {
        self.types.is_empty() || self.types == ["_all"]
    }

    /// Records the name of a field that is not mapped, if this is an error.
    pub(super) fn note_unmapped(&self, name: &str) {
        if let Some(unmapped) = self.unmapped {
            unmapped.borrow_mut().push(name.to_owned());
        }
    }

    pub(crate) fn field(&self, name: &str) -> QueryField {
        let similarity = self.mapping.similarities().unnamed();
        let ordinal = match name {
            "_type" => TYPE,
            "_field_names" => FIELD_NAMES,
            "_parent" => PARENT,
            "_routing" => ROUTING,
            "_uid" => {
                return QueryField {
                    similarity,
                    ..QueryField::unmapped(name)
                };
            }
            // Terms that are texts are found in all types.
            _ => match self.mapped(name).or(self.text_field(name)) {
                Some(field) => return QueryField::of(field),
                None => {
                    self.note_unmapped(name);
                    return QueryField {
                        similarity,
                        ..QueryField::unmapped(name)
                    };
                }
            },
        };
        QueryField {
            ordinal: Some(ordinal),
            similarity,
            ..QueryField::unmapped(name)
        }
    }

    /// Returns the context for the next nesting level.
    ///
    /// # Errors
    /// Queries that are nested too deeply.
    pub(crate) fn nested(&self) -> Result<Context<'a>> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Context { depth, ..*self }),
            None => Err(crate::error::SearchError::query(format!(
                "[{}] queries are nested too deeply",
                self.index
            ))),
        }
    }

    /// Analyzer of texts in queries of a field.
    pub(crate) fn search_analyzer(&self, name: &str) -> Analyzer {
        let [search, _] = self.mapping.query_analyzers(name);
        search.clone()
    }

    /// Analyzer of quoted texts in queries of a field.
    pub(crate) fn quote_analyzer(&self, name: &str) -> Analyzer {
        let [_, quote] = self.mapping.query_analyzers(name);
        quote.clone()
    }

    /// Records a named query.
    pub(crate) fn name(&self, name: Option<&Value>, query: &Query) {
        if let (Some(name), Some(names)) = (name.filter(|name| is_scalar(name)), self.names) {
            names.borrow_mut().push((java_text(name), query.clone()));
        }
    }

    /// Returns whether the terms of a field are texts. A field that is not mapped has none.
    pub(super) fn has_texts(&self, name: &str) -> bool {
        match self.mapped(name) {
            Some(field) => field.field_type.kind.has_text_terms(),
            None => !name.starts_with('_'),
        }
    }

    /// Builds the filter for documents with a value in a field that matches `pattern`, or in an object of that name.
    pub(crate) fn exists(&self, pattern: &str) -> Query {
        self.filter_of_named_type(pattern, self.has_value(pattern))
    }

    /// Builds the filter as [`Context::exists`] does, of any type.
    fn has_value(&self, pattern: &str) -> Query {
        let below = self.mapping.field_names(&format!("{pattern}.*"));
        let names = match pattern {
            _ if pattern.contains('*') => self.mapping.field_names(pattern),
            "_all" | "_type" | "_uid" | "_source" => return QueryKind::All.into(),
            // A type is an object, and its fields are those of a type that begin with its name.
            _ if self.type_names().contains(&pattern) => {
                let is_own = |name: &String| self.mapping.has_field(pattern, name);
                below.into_iter().filter(is_own).collect()
            }
            // An object exists if one of its fields does.
            _ if self.mapping.exact_field(pattern).is_none()
                && (!below.is_empty() || self.mapping.is_object(pattern)) =>
            {
                below
            }
            _ => vec![match self.mapped(pattern) {
                Some(field) => field.name.clone(),
                None => {
                    self.note_unmapped(pattern);
                    pattern.to_owned()
                }
            }],
        };
        if names.is_empty() {
            return QueryKind::Nothing.into();
        }
        let named = names.into_iter().map(|name| self.metadata_term("_field_names", name));
        let named: Vec<Query> = named.collect();
        let count = named.len();
        Query::any(named).filter(FilterClass::Boolean(count), Caching::Cached)
    }

    /// Builds the filter for documents without a value in the fields that match `pattern`.
    pub(crate) fn missing(&self, pattern: &str) -> Query {
        let exists = self.has_value(pattern);
        let missing = match exists.kind {
            QueryKind::Nothing => QueryKind::All.into(),
            _ => Query::not(exists).filter(FilterClass::Not, Caching::Cached),
        };
        self.filter_of_named_type(pattern, missing)
    }

    /// Builds the filter for root documents.
    pub(crate) fn root_documents(&self) -> Query {
        let nested = Query::from(QueryKind::MultiTerm {
            field: self.field("_type"),
            matcher: Matcher::Prefix(NESTED.to_owned()),
        });
        Query::not(nested.constant()).filter(FilterClass::NonNested, Caching::Uncached)
    }

    /// Builds the filter for the children of a parent: `type#id`, or an id in any type without a parent of its own.
    pub(crate) fn of_parent(&self, parent: &str) -> Query {
        if parent.contains('#') {
            let term = self.metadata_term("_parent", parent.to_owned());
            return term.filter(FilterClass::Plain, Caching::Uncached);
        }
        let types = self.mapping.type_names();
        let types = types.filter(|name| self.mapping.parent_type(name).is_none());
        let terms = types.map(|name| self.metadata_term("_parent", format!("{name}#{parent}")));
        Query::any(terms.collect()).filter(FilterClass::Terms, Caching::Uncached)
    }

    /// If `name` is a field qualified with a type (`type.field`), restricts the query to that type.
    pub(crate) fn of_named_type(&self, name: &str, query: Query) -> Query {
        match self.mapping.named_type(name) {
            Some((type_name, _)) => query.filtered(self.of_type(type_name)),
            None => query,
        }
    }

    /// If `name` is a field qualified with a type (`type.field`), restricts the filter to that type.
    pub(crate) fn filter_of_named_type(&self, name: &str, filter: Query) -> Query {
        match self.mapping.named_type(name) {
            Some((type_name, _)) => {
                Query::every(vec![self.of_type(type_name), filter]).filter(FilterClass::And, Caching::Uncached)
            }
            None => filter,
        }
    }

    /// Builds the filter for documents of one type.
    pub(crate) fn of_type(&self, type_name: &str) -> Query {
        self.of_types(std::iter::once(type_name))
    }

    /// Builds the filter for documents of several types.
    pub(crate) fn of_types<'b>(&self, type_names: impl Iterator<Item = &'b str>) -> Query {
        let mut terms: Vec<Query> = type_names
            .map(|name| self.metadata_term("_type", name.to_owned()))
            .collect();
        match (terms.len(), terms.pop()) {
            (1, Some(only)) => only.filter(FilterClass::Plain, Caching::Cached),
            (_, last) => {
                Query::any(terms.into_iter().chain(last).collect()).filter(FilterClass::Terms, Caching::Cached)
            }
        }
    }

    /// Builds a term query for a metadata field.
    fn metadata_term(&self, field: &str, text: String) -> Query {
        let field = self.field(field);
        QueryKind::Term { field, text }.into()
    }

    /// Expands a pattern of field names, of whatever type. Returns the pattern itself if it has no star.
    pub(crate) fn names(&self, pattern: &str) -> Vec<String> {
        if !pattern.contains('*') {
            return vec![pattern.to_owned()];
        }
        let is_searched = |name: &String| {
            let field = self.mapping.field(name);
            field.is_some_and(|field| field.field_type.kind != Kind::Binary)
        };
        let names = self.mapping.field_names(pattern).into_iter().filter(is_searched);
        names.chain(self.mapping.own_names(pattern)).collect()
    }

    /// Expands a pattern of field names to those of each type in turn. Returns the pattern itself if it has no star.
    pub(crate) fn names_by_type(&self, pattern: &str, types: &[&str]) -> Vec<String> {
        let names = self.names(pattern);
        if !pattern.contains('*') {
            return names;
        }
        let has = |type_name: &str, name: &str| {
            self.mapping.exact_field(name).is_none() || self.mapping.has_field(type_name, name)
        };
        let of_type = |type_name: &&str| {
            names
                .iter()
                .filter(|name| has(type_name, name))
                .cloned()
                .collect::<Vec<_>>()
        };
        types.iter().flat_map(of_type).collect()
    }
}

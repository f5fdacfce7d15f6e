//! Join queries: nested objects, children and parents.
//!
//! Limits: `top_children` scores all children, not only the best ones.
//!
//! Source: the `nested`, `has_child`, `has_parent` and `top_children` parsers of Elasticsearch 1.5.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::query::dsl_inner_hits::record;
use crate::query::dsl_parts::{boost_of, join_error, parsing_error, text_of};
use crate::query::{Context, InnerRelation, Query, QueryKind};

/// Combination of the scores of several joined documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinMode {
    None,
    Avg,
    Max,
    Min,
    Sum,
}

/// Matches documents with matching nested objects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NestedQuery {
    pub(crate) path: String,
    /// Path of the nested objects that the query matches. `None` for root documents.
    pub(crate) outer: Option<String>,
    pub(crate) query: Query,
    pub(crate) mode: JoinMode,
}

/// Parent-child relation of a query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Relation {
    /// Matches documents of `parent_type` with `min` to `max` matching children.
    Children {
        parent_type: String,
        min: usize,
        max: usize,
    },
    /// Matches documents whose parent matches.
    Parent { parent_type: String },
}

/// Matches documents with matching children or parents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RelatedQuery {
    /// Name with the types, as the query prints.
    pub(crate) name: String,
    /// Whether the query is `top_children`.
    pub(crate) is_top: bool,
    /// Whether all documents have the same score. Such a query prints without its boost.
    pub(crate) is_constant: bool,
    pub(crate) relation: Relation,
    pub(crate) query: Query,
    pub(crate) mode: JoinMode,
}

/// Returns the value of the first of `keys` that exists.
fn first_of<'a>(object: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    keys.iter()
        .find_map(|key| object.get(*key))
        .filter(|value| !value.is_null())
}

/// Parses the inner query or filter.
fn inner(context: &Context<'_>, name: &str, object: &Map<String, Value>) -> Result<Query> {
    match (object.get("query"), object.get("filter")) {
        (Some(query), _) => context.parse_query(query),
        (None, Some(filter)) => context.parse_filter(filter).map(Query::constant),
        (None, None) => Err(parsing_error(
            context,
            &format!("[{name}] requires either 'query' or 'filter' field"),
        )),
    }
}

fn mode(context: &Context<'_>, name: &str, object: &Map<String, Value>, default: JoinMode) -> Result<JoinMode> {
    let keys = ["score_mode", "scoreMode", "score_type", "scoreType", "score"];
    match first_of(object, &keys).map(text_of).as_deref() {
        None => Ok(default),
        Some("none") => Ok(JoinMode::None),
        Some("avg") => Ok(JoinMode::Avg),
        Some("max") => Ok(JoinMode::Max),
        Some("min") if name == "has_child" => Ok(JoinMode::Min),
        Some("sum" | "total") => Ok(JoinMode::Sum),
        // Only `nested` and `has_parent` have messages of their own. `has_parent` has only `score` and `none`.
        Some("score") if name == "has_parent" => Ok(JoinMode::Max),
        Some(other) => Err(match name {
            "nested" => parsing_error(context, &format!("illegal score_mode for nested query [{other}]")),
            "has_parent" => {
                let reason = format!("[has_parent] query does not support [{other}] as an option for score_mode");
                parsing_error(context, &reason)
            }
            _ => SearchError::illegal(format!("No score type for child query [{other}] found")),
        }),
    }
}

/// Parses `nested`.
pub(super) fn nested(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    if !["query", "filter"].iter().any(|key| object.contains_key(*key)) {
        let reason = "[nested] requires either 'query' or 'filter' field";
        return Err(parsing_error(context, reason));
    }
    let path = first_of(object, &["path"])
        .map(text_of)
        .ok_or_else(|| parsing_error(context, "[nested] requires 'path' field"))?;
    if !context.is_nested(&path) {
        return Err(join_error(context, "nested", object));
    }
    let inside = Context {
        nested_path: Some(&path),
        ..*context
    };
    let query = inner(&inside, "nested", object)?;
    let relation = InnerRelation::Nested {
        path: path.clone(),
        outer: context.nested_path.map(str::to_owned),
    };
    record(context, object, &path, relation, &query)?;
    let nested = NestedQuery {
        outer: context.nested_path.map(str::to_owned),
        query,
        mode: mode(context, "nested", object, JoinMode::Avg)?,
        path: path.clone(),
    };
    Ok(Query::from(QueryKind::Nested(Box::new(nested))).boosted(boost_of(object)))
}

/// Fails for a query whose documents are deleted: it runs on a whole shard.
fn check_use(context: &Context<'_>, name: &str) -> Result<()> {
    match context.deletes {
        true => Err(parsing_error(
            context,
            &format!("[{name}] query and filter unsupported in delete_by_query api"),
        )),
        false => Ok(()),
    }
}

/// Parses `has_child` and `top_children`, as queries or filters.
pub(super) fn has_child(context: &Context<'_>, name: &str, object: &Map<String, Value>) -> Result<Query> {
    let known = name;
    let name = name.trim_end_matches(" filter");
    check_use(context, name)?;
    let child_type = first_of(object, &["type", "child_type", "childType"])
        .map(text_of)
        .ok_or_else(|| parsing_error(context, &format!("[{name}] requires 'type' field")))?;
    if context.mapping.type_mapping(&child_type).is_none() {
        return Err(join_error(context, known, object));
    }
    let parent_type = context
        .mapping
        .parent_type(&child_type)
        .ok_or_else(|| parsing_error(context, &format!("[{name}] _parent field not configured")))?;
    // The inner query has the boost of the outer one.
    let boost = boost_of(object);
    let query = inner(context, name, object)?
        .boosted(boost)
        .filtered(context.of_type(&child_type));
    record(
        context,
        object,
        &child_type,
        InnerRelation::Related(child_type.clone()),
        &query,
    )?;
    let number = |keys: [&str; 2], default: usize| {
        first_of(object, &keys)
            .and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
            .map_or(default, |number| usize::try_from(number).unwrap_or(usize::MAX))
    };
    let min = number(["min_children", "minChildren"], 0);
    let max = number(["max_children", "maxChildren"], 0);
    if max > 0 && max < min {
        return Err(parsing_error(
            context,
            &format!("[{name}] 'max_children' is less than 'min_children'"),
        ));
    }
    let is_top = name.starts_with("top");
    let default = if is_top { JoinMode::Max } else { JoinMode::None };
    let mode = mode(context, name, object, default)?;
    let is_constant = is_top || mode == JoinMode::None && min <= 1 && max == 0;
    let types = format!("{child_type}/{parent_type}");
    let shown_max = if max == 0 { i32::MAX as usize } else { max };
    let related = RelatedQuery {
        name: match (is_top, is_constant) {
            (true, _) => format!("score_child[{types}]"),
            (_, true) => format!("child_filter[{types}]"),
            _ => format!(
                "ChildrenQuery[min({}) max({shown_max})of {types}]",
                if min > 1 { min } else { 0 }
            ),
        },
        is_top,
        is_constant,
        relation: Relation::Children {
            parent_type: parent_type.to_owned(),
            min: min.max(1),
            max: if max == 0 { usize::MAX } else { max },
        },
        query,
        mode,
    };
    Ok(Query::from(QueryKind::Related(Box::new(related))).boosted(boost))
}

/// Parses `has_parent`, as a query or filter.
pub(super) fn has_parent(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    check_use(context, "has_parent")?;
    let parent_type = first_of(object, &["type", "parent_type", "parentType"])
        .map(text_of)
        .ok_or_else(|| parsing_error(context, "[has_parent] query requires 'parent_type' field"))?;
    if context.mapping.type_mapping(&parent_type).is_none() {
        return Err(join_error(context, "has_parent", object));
    }
    let boost = boost_of(object);
    let query = inner(context, "has_parent", object)?
        .boosted(boost)
        .filtered(context.of_type(&parent_type));
    record(
        context,
        object,
        &parent_type,
        InnerRelation::Related(parent_type.clone()),
        &query,
    )?;
    let mode = mode(context, "has_parent", object, JoinMode::None)?;
    let is_constant = mode == JoinMode::None;
    let name = if is_constant { "parent_filter" } else { "ParentQuery" };
    let related = RelatedQuery {
        name: format!("{name}[{parent_type}]"),
        is_top: false,
        is_constant,
        query,
        relation: Relation::Parent { parent_type },
        mode,
    };
    Ok(Query::from(QueryKind::Related(Box::new(related))).boosted(boost))
}

//! Join queries: nested objects, children and parents.
//!
//! Limits: `top_children` scores all children, not only the best ones.
//!
//! Source: the `nested`, `has_child`, `has_parent` and `top_children` parsers of Elasticsearch 1.5.

use crate::error::{Result, SearchError};
use crate::json::text_of;
use crate::json::{Token, Tokens};
use crate::query::dsl_inner_hits::record;
use crate::query::dsl_parts::{check_nested, parsing_error};
use crate::query::reader::{Form, Refused, Setting, Settings};
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

/// Reads the settings of a join query or filter. Its query is parsed once its path or type is known: either at once, or
/// from the whole object later.
fn read(
    context: &Context<'_>,
    tokens: &mut Tokens<'_>,
    (name, kind): (&str, &str),
    own: &[(&'static [&'static str], Setting)],
) -> Result<Settings> {
    const COMMON: [(&[&str], Setting); 3] = [
        (&["query"], Setting::Whole),
        (&["inner_hits"], Setting::Whole),
        (&["_name"], Setting::Scalar),
    ];
    const BOOST: (&[&str], Setting) = (&["boost"], Setting::Float);
    const SCORES: (&[&str], Setting) = (
        &["score_mode", "scoreMode", "score_type", "scoreType", "score"],
        Setting::Scalar,
    );
    const OF_FILTER: [(&[&str], Setting); 3] = [
        (&["filter"], Setting::Whole),
        (&["_cache"], Setting::Flag),
        (&["_cache_key", "_cacheKey"], Setting::Scalar),
    ];
    let of_kind = match (kind, name) {
        ("filter", "nested") => &[OF_FILTER.as_slice(), &[BOOST]].concat(),
        ("filter", _) => OF_FILTER.as_slice(),
        (_, "nested") => [SCORES, BOOST, (&["filter"], Setting::Whole)].as_slice(),
        _ => &[SCORES, BOOST],
    };
    let form = Form {
        name: &format!("[{name}] {kind}"),
        settings: &[COMMON.as_slice(), of_kind, own].concat(),
        refused: &[Refused::Object, Refused::Value],
    };
    form.read_with(context, tokens, |tokens, key, settings| {
        let key = match (key, tokens.current()) {
            (Some("path"), Token::Value(path)) if name == "nested" => {
                check_nested(context, &text_of(path))?;
                return Ok(false);
            }
            (Some("query"), Token::Object) => "query",
            (Some("filter"), Token::Object) if name == "nested" || kind == "filter" => "filter",
            _ => return Ok(false),
        };
        let parsed = inside(context, name, settings, |context| inner_at(context, key, tokens));
        let is_parsed = parsed.is_some();
        if let Some(parsed) = parsed {
            settings.add_parsed(key, parsed?);
        }
        Ok(is_parsed)
    })
}

/// Parses what is for the nested objects or the related documents of a query, in their context. `None`: its path or
/// type is not known.
fn inside<T>(
    context: &Context<'_>,
    name: &str,
    settings: &Settings,
    parse: impl FnOnce(&Context<'_>) -> Result<T>,
) -> Option<Result<T>> {
    if name == "nested" {
        let nested_path = settings.text("path")?;
        return Some(parse(&Context {
            nested_path: Some(&nested_path),
            ..*context
        }));
    }
    let types = [settings.text("type")?];
    Some(parse(&Context {
        types: &types,
        ..*context
    }))
}

/// Parses the inner query or filter, whose first token is the current one.
fn inner_at(context: &Context<'_>, key: &str, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    match key {
        "query" => context.query_at(tokens),
        _ => Ok(context.filter_at(tokens)?.map(Query::constant)),
    }
}

/// Returns the inner query or filter of a query with a path or a type. `None`: an empty one.
fn inner(context: &Context<'_>, name: &str, settings: &Settings) -> Result<Option<Query>> {
    for key in ["query", "filter"] {
        if let Some(parsed) = settings.parsed(key) {
            return Ok(parsed.cloned());
        }
        if let Some(whole) = settings.get(key) {
            let parsed = inside(context, name, settings, |context| {
                inner_at(context, key, &mut Tokens::new(whole))
            });
            return parsed.unwrap_or(Ok(None));
        }
    }
    Ok(None)
}

fn mode(context: &Context<'_>, name: &str, settings: &Settings, default: JoinMode) -> Result<JoinMode> {
    match settings.text("score_mode").as_deref() {
        None => Ok(default),
        Some("none") => Ok(JoinMode::None),
        Some("avg") => Ok(JoinMode::Avg),
        Some("max") => Ok(JoinMode::Max),
        Some("min") if name == "has_child" => Ok(JoinMode::Min),
        Some("sum" | "total") => Ok(JoinMode::Sum),
        // Only `nested` and `has_parent` have messages of their own. `has_parent` has only `score` and `none`.
        Some("score") if name == "has_parent" => Ok(JoinMode::Max),
        Some(_) if name == "has_parent" => Ok(JoinMode::None),
        Some(other) => Err(match name {
            "nested" => parsing_error(context, &format!("illegal score_mode for nested query [{other}]")),
            _ => SearchError::illegal(format!("No score type for child query [{other}] found")),
        }),
    }
}

/// Parses `nested`, as a query or filter: its query, and its settings.
pub(super) fn nested(context: &Context<'_>, tokens: &mut Tokens<'_>, kind: &str) -> Result<(Query, Settings)> {
    let own = [(["path"].as_slice(), Setting::Scalar), (&["join"], Setting::Flag)];
    let own = if kind == "filter" { own.as_slice() } else { &own[..1] };
    let settings = read(context, tokens, ("nested", kind), own)?;
    if !settings.has("query") && !settings.has("filter") {
        let reason = "[nested] requires either 'query' or 'filter' field";
        return Err(parsing_error(context, reason));
    }
    let path = settings
        .text("path")
        .ok_or_else(|| parsing_error(context, "[nested] requires 'path' field"))?;
    let Some(query) = inner(context, "nested", &settings)? else {
        return Ok((QueryKind::Nothing.into(), settings));
    };
    let outer = context.nested_path.map(str::to_owned);
    let relation = InnerRelation::Nested {
        path: path.clone(),
        outer: outer.clone(),
    };
    record(context, settings.values(), &path, relation, &query)?;
    let nested = NestedQuery {
        outer,
        query,
        mode: mode(context, "nested", &settings, JoinMode::Avg)?,
        path: path.clone(),
    };
    let query = Query::from(QueryKind::Nested(Box::new(nested))).boosted(settings.boost());
    Ok((query, settings))
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

/// Returns the error for a query or filter without its own query.
fn without_query(context: &Context<'_>, name: &str, kind: &str) -> SearchError {
    let reason = match (name, kind) {
        (_, "filter") => format!("[{name}] filter requires 'query' or 'filter' field"),
        ("has_parent", _) => "[has_parent] query requires 'query' field".to_owned(),
        _ => format!("[{name}] requires 'query' field"),
    };
    parsing_error(context, &reason)
}

/// Parses `has_child` and `top_children`, as queries or filters: the query, and its settings.
pub(super) fn has_child(
    context: &Context<'_>,
    tokens: &mut Tokens<'_>,
    name: &str,
    kind: &str,
) -> Result<(Query, Settings)> {
    check_use(context, name)?;
    let is_top = name.starts_with("top");
    let of_top = [
        (["type", "child_type", "childType"].as_slice(), Setting::Scalar),
        (&["factor"], Setting::Int),
        (&["incremental_factor", "incrementalFactor"], Setting::Int),
        (&["_scope"], Setting::Scalar),
    ];
    let of_children = [
        (["type", "child_type", "childType"].as_slice(), Setting::Scalar),
        (&["min_children", "minChildren"], Setting::Int),
        (&["max_children", "maxChildren"], Setting::Int),
        (&["short_circuit_cutoff"], Setting::Int),
        (&["_scope"], Setting::Scalar),
    ];
    let own = if is_top {
        of_top.as_slice()
    } else {
        of_children.as_slice()
    };
    let settings = read(context, tokens, (name, kind), own)?;
    if !settings.has("query") && !settings.has("filter") {
        return Err(without_query(context, name, kind));
    }
    let missing_type = || {
        let shown = if kind == "filter" { " filter" } else { "" };
        parsing_error(context, &format!("[{name}]{shown} requires 'type' field"))
    };
    let child_type = settings.text("type").ok_or_else(missing_type)?;
    let Some(query) = inner(context, name, &settings)? else {
        return Ok((QueryKind::Nothing.into(), settings));
    };
    let shown = if is_top || kind == "filter" { "" } else { "[has_child]" };
    let refused = |reason: &str| parsing_error(context, format!("{shown}{reason}").trim_start());
    if context.mapping.type_mapping(&child_type).is_none() {
        return Err(refused(&format!(" No mapping for for type [{child_type}]")));
    }
    let without_parent = || refused(&format!("  Type [{child_type}] does not have parent mapping"));
    let parent_type = context.mapping.parent_type(&child_type).ok_or_else(without_parent)?;
    // The inner query has the boost of the outer one.
    let boost = settings.boost();
    let query = query.boosted(boost).filtered(context.of_type(&child_type));
    let relation = InnerRelation::Related(child_type.clone());
    record(context, settings.values(), &child_type, relation, &query)?;
    let count = |key: &str| settings.count(key).unwrap_or(0);
    let (min, max) = (count("min_children"), count("max_children"));
    if max > 0 && max < min {
        return Err(parsing_error(
            context,
            &format!("[{name}] 'max_children' is less than 'min_children'"),
        ));
    }
    let default = if is_top { JoinMode::Max } else { JoinMode::None };
    let mode = mode(context, name, &settings, default)?;
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
    Ok((
        Query::from(QueryKind::Related(Box::new(related))).boosted(boost),
        settings,
    ))
}

/// Parses `has_parent`, as a query or filter: the query, and its settings.
pub(super) fn has_parent(context: &Context<'_>, tokens: &mut Tokens<'_>, kind: &str) -> Result<(Query, Settings)> {
    check_use(context, "has_parent")?;
    let own = [
        (["type", "parent_type", "parentType"].as_slice(), Setting::Scalar),
        (&["_scope"], Setting::Scalar),
    ];
    let settings = read(context, tokens, ("has_parent", kind), &own)?;
    if !settings.has("query") && !settings.has("filter") {
        return Err(without_query(context, "has_parent", kind));
    }
    let missing_type = || parsing_error(context, &format!("[has_parent] {kind} requires 'parent_type' field"));
    let parent_type = settings.text("type").ok_or_else(missing_type)?;
    let Some(query) = inner(context, "has_parent", &settings)? else {
        return Ok((QueryKind::Nothing.into(), settings));
    };
    if context.mapping.type_mapping(&parent_type).is_none() {
        let reason = format!("[has_parent] query configured 'parent_type' [{parent_type}] is not a valid type");
        return Err(parsing_error(context, &reason));
    }
    if !context.mapping.has_children() {
        return Err(parsing_error(context, "[has_parent] no _parent field configured"));
    }
    let boost = settings.boost();
    let query = query.boosted(boost).filtered(context.of_type(&parent_type));
    let relation = InnerRelation::Related(parent_type.clone());
    record(context, settings.values(), &parent_type, relation, &query)?;
    let mode = mode(context, "has_parent", &settings, JoinMode::None)?;
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
    Ok((
        Query::from(QueryKind::Related(Box::new(related))).boosted(boost),
        settings,
    ))
}

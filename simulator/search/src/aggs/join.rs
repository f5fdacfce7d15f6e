//! Aggregations `nested`, `reverse_nested` and `children`.

use serde_json::{Map, Value, json};

use crate::aggs::{Aggregation, DocSet, Matches, Scope, bucket, failed, refuse};
use crate::error::Result;
use crate::find::Searched;
use crate::index::{SegmentView, nested_docs, outer_docs};
use crate::mapping::{Mapping, PARENT};
use crate::query::Context;

/// Returns the shard and the segment of a set.
fn shard_and_segment<'a>(scope: &'a Scope<'_>, set: &DocSet) -> Option<(&'a Searched, &'a SegmentView)> {
    let searched = scope.searched.get(set.index)?;
    Some((searched, searched.view.segments.get(set.segment)?))
}

/// Checks that the type of `children` has parents, if it is mapped.
pub(super) fn check_children(aggregation: &Aggregation, mapping: &Mapping) -> Result<()> {
    let child_type = aggregation.text("type").unwrap_or("");
    match mapping.type_mapping(child_type).is_some() && mapping.parent_type(child_type).is_none() {
        true => Err(refuse("[children] _parent field not configured")),
        false => Ok(()),
    }
}

/// Checks that the path of `nested` or `reverse_nested` is one of nested objects, if it is mapped.
pub(super) fn check_path(aggregation: &Aggregation, context: &Context<'_>) -> Result<()> {
    let path = aggregation.text("path");
    match path.filter(|path| context.mapping.nests(path, context.types) == Some(false)) {
        Some(path) => {
            let kind = &aggregation.kind;
            Err(failed(format!("[{kind}] nested path [{path}] is not nested")))
        }
        None => Ok(()),
    }
}

/// Returns whether a path is mapped as nested. The bucket of one that is not is empty, without aggregations.
fn is_nested(scope: &Scope<'_>, path: &str) -> bool {
    let mut searched = scope.searched.iter();
    searched.any(|searched| searched.mapping.nests(path, &searched.types) == Some(true))
}

/// Returns whether the path of `nested` or `reverse_nested` is not one of nested objects in any shard.
fn is_unmapped(scope: &Scope<'_>, aggregation: &Aggregation) -> bool {
    aggregation.text("path").is_some_and(|path| !is_nested(scope, path))
}

/// The bucket of an aggregation that is not mapped in any shard.
fn unmapped() -> Value {
    json!({"doc_count": 0})
}

/// Computes `nested`: a bucket of the nested objects of the documents.
pub(super) fn nested(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    if is_unmapped(scope, aggregation) {
        return Ok(unmapped());
    }
    let path = aggregation.text("path").unwrap_or("");
    let inside = nested_objects(scope, path, matches)?;
    let scope = Scope {
        nested: Some(path),
        ..*scope
    };
    bucket(&scope, &aggregation.sub_aggregations, Map::new(), &inside)
}

/// Returns the nested objects of documents.
pub(super) fn nested_objects(scope: &Scope<'_>, path: &str, matches: &Matches) -> Result<Matches> {
    let mut inside = Matches::default();
    for set in &matches.sets {
        let Some((_, view)) = shard_and_segment(scope, set) else {
            continue;
        };
        let objects = nested_docs(&view.segment, path)?;
        let outer = outer_docs(&view.segment, scope.nested)?;
        let (mut docs, mut scores) = (Vec::new(), Vec::new());
        for object in objects.iter() {
            let at = outer
                .next(object + 1)
                .and_then(|owner| set.docs.binary_search(&owner).ok());
            if let Some(at) = at {
                docs.push(object);
                scores.extend(set.scores.get(at));
            }
        }
        if !docs.is_empty() {
            inside.push(set.index, set.segment, docs, scores);
        }
    }
    Ok(inside)
}

/// Computes `reverse_nested`: a bucket of the root or nested documents that contain the nested objects.
pub(super) fn reverse_nested(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    if is_unmapped(scope, aggregation) {
        return Ok(unmapped());
    }
    let path = aggregation.text("path");
    let mut outside = Matches::default();
    for set in &matches.sets {
        let Some((_, view)) = shard_and_segment(scope, set) else {
            continue;
        };
        let outer = outer_docs(&view.segment, path)?;
        let (mut docs, mut scores) = (Vec::new(), Vec::new());
        for (at, doc) in set.docs.iter().enumerate() {
            if let Some(owner) = outer.next(*doc).filter(|owner| docs.last() != Some(owner)) {
                docs.push(owner);
                scores.extend(set.scores.get(at));
            }
        }
        if !docs.is_empty() {
            outside.push(set.index, set.segment, docs, scores);
        }
    }
    let scope = Scope { nested: path, ..*scope };
    bucket(&scope, &aggregation.sub_aggregations, Map::new(), &outside)
}

/// Returns whether no shard has the type of `children`.
pub(super) fn has_no_type(scope: &Scope<'_>, aggregation: &Aggregation) -> bool {
    let child_type = aggregation.text("type").unwrap_or("");
    let mut searched = scope.searched.iter();
    searched.all(|searched| searched.mapping.type_mapping(child_type).is_none())
}

/// Computes `children`: a bucket of the child documents of the matches.
pub(super) fn children(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    if has_no_type(scope, aggregation) {
        return Ok(unmapped());
    }
    let child_type = aggregation.text("type").unwrap_or("");
    let mut found = Matches::default();
    for (index, searched) in scope.searched.iter().enumerate() {
        let mapping = &searched.mapping;
        let (Some(parent_type), Some(shard)) = (mapping.parent_type(child_type), searched.shard()) else {
            continue;
        };
        let is_matched = |segment: usize, doc: u32| {
            let own = |set: &&DocSet| (set.index, set.segment) == (index, segment);
            matches
                .sets
                .iter()
                .find(own)
                .is_some_and(|set| set.docs.binary_search(&doc).is_ok())
        };
        for (segment, view) in searched.view.segments.iter().enumerate() {
            scope.budget.check_time()?;
            let terms = view.segment.ordinals(PARENT)?;
            let mut docs = Vec::new();
            for doc in (0..view.segment.max_doc()).filter(|doc| view.is_live(*doc)) {
                let parent = terms
                    .of(doc)
                    .first()
                    .and_then(|ordinal| terms.term(*ordinal).split_once('#'));
                let Some((type_name, id)) = parent.filter(|(type_name, _)| *type_name == parent_type) else {
                    continue;
                };
                let place = shard.place(&searched.view, type_name, id)?;
                if place.is_some_and(|(segment, doc)| is_matched(segment, doc))
                    && view.segment.stored(doc)?.type_name() == child_type
                {
                    docs.push(doc);
                }
            }
            if !docs.is_empty() {
                let scores = vec![1.0; docs.len()];
                found.push(index, segment, docs, scores);
            }
        }
    }
    bucket(scope, &aggregation.sub_aggregations, Map::new(), &found)
}

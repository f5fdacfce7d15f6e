//! Bulk requests: a line per action and, except for deletions, a line for its document.
//!
//! Guarantees:
//! - A body with a malformed action changes nothing. Otherwise each action succeeds or fails by itself.
//! - The response is serialized action by action, without an intermediate JSON tree.

mod line;

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use self::line::{Line, Meta, Text};
use super::{Prepared, WriteParameters, delete_document, prepare, update, update_problems};
use crate::cluster::{Block, Index};
use crate::error::{Result, SearchError, problems};
use crate::exception::Exception;
use crate::index::{Condition, VersionType, Written};
use crate::json;
use crate::mapping::{DocumentMeta, check_ttl, ttl_millis};
use crate::routing::Placement;
use crate::shared::Shared;

/// Size of a short action with its document, in bytes.
const ACTION_BYTES: usize = 256;
/// Maximum number of actions for which memory is reserved before they are parsed.
const MAX_EXPECTED: usize = 1_024;

/// Response item of an action.
#[derive(Serialize)]
struct Item<'a> {
    _index: &'a str,
    _type: &'a str,
    _id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    _version: Option<u64>,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Result of a bulk request: the response items, and the changed indices.
#[derive(Default)]
pub(crate) struct Bulk {
    items: Vec<u8>,
    failed: bool,
    /// Shards with an action, whatever became of it, if they are to be refreshed. `None`: all of the index.
    pub(crate) touched: Vec<(String, Option<u32>)>,
}

impl Bulk {
    /// Serializes the response.
    pub(crate) fn answer(self, took: u64) -> Vec<u8> {
        let mut body = format!("{{\"took\":{took},\"errors\":{},\"items\":[", self.failed).into_bytes();
        body.extend_from_slice(&self.items);
        body.extend_from_slice(b"]}");
        body
    }

    fn push(&mut self, name: &str, item: &Item<'_>) -> Result<()> {
        if !self.items.is_empty() {
            self.items.push(b',');
        }
        self.items.push(b'{');
        serde_json::to_writer(&mut self.items, name).map_err(SearchError::engine)?;
        self.items.push(b':');
        serde_json::to_writer(&mut self.items, item).map_err(SearchError::engine)?;
        self.items.push(b'}');
        Ok(())
    }
}

/// An action with its document.
struct Action<'a> {
    name: Cow<'a, str>,
    meta: Meta<'a>,
    index: Cow<'a, str>,
    type_name: Cow<'a, str>,
    condition: Condition,
    retries: u64,
    ttl: Option<i64>,
    source: &'a [u8],
    /// Body of an update, else null.
    update: Value,
}

/// Parses a number of an action.
fn number<T: FromStr>(text: Option<&Text<'_>>) -> Result<Option<T>> {
    let parsed = text.map(|text| text.0.parse().map_err(|_| SearchError::number(&text.0)));
    parsed.transpose()
}

impl<'a> Action<'a> {
    /// Completes an action with the index and the type of the request. Returns it with its problems.
    ///
    /// # Errors
    /// An invalid value.
    fn of(line: Line<'a>, defaults: [Option<&'a str>; 2], source: &'a [u8]) -> Result<(Action<'a>, Vec<String>)> {
        let Line { name, meta } = line;
        let own = |own: &Option<Text<'a>>, default: Option<&'a str>| {
            own.as_ref().map(|text| text.0.clone()).or(default.map(Cow::Borrowed))
        };
        let [index, type_name] = defaults;
        let (index, type_name) = (own(&meta.index, index), own(&meta.type_name, type_name));
        let version = number(meta.version.as_ref())?;
        let version_type = meta.version_type.as_ref().map(|kind| VersionType::parse(&kind.0));
        let version_type = version_type.transpose()?.unwrap_or_default();
        let retries = number(meta.retries.as_ref())?.unwrap_or(0);
        let ttl = meta.ttl.as_ref().map(ttl_millis).transpose()?;
        check_ttl(ttl.filter(|_| name != "delete"))?;
        let needs_id = matches!(&*name, "update" | "delete");
        let found = problems([
            (index.is_none(), "index is missing"),
            (type_name.is_none(), "type is missing"),
            (needs_id && meta.id.is_none(), "id is missing"),
        ]);
        let mut found: Vec<String> = found.map(str::to_owned).collect();
        let mut update = Value::Null;
        if name == "update" {
            json::derivable(source).map_err(|_| SearchError::null_pointer())?;
            update = json::value(source)?;
            found.extend(update_problems(&update, version, version_type, retries)?);
        } else {
            found.extend(version_type.illegal_write(version));
        }
        let is_create = name == "create" || meta.op_type.as_ref().is_some_and(|kind| kind.0 == "create");
        let action = Action {
            condition: Condition {
                create: is_create,
                version: version_type.written(version),
                version_type,
            },
            index: index.unwrap_or_default(),
            type_name: type_name.unwrap_or_default(),
            name,
            meta,
            retries,
            ttl,
            source,
            update,
        };
        Ok((action, found))
    }

    fn id(&self) -> Option<&str> {
        self.meta.id.as_ref().map(|text| &*text.0)
    }

    /// Returns the id of an update or a deletion.
    fn required_id(&self) -> Result<&str> {
        self.id().ok_or_else(|| SearchError::validation("id is missing"))
    }

    /// Returns the id that the document contains, if the action has none.
    fn id_in_document(&self, index: &Index) -> Option<String> {
        let mapping = index.mapping();
        let own = mapping
            .type_mapping_or_default(&self.type_name)
            .filter(|_| self.id().is_none())?;
        // An invalid timestamp does not matter.
        let given = DocumentMeta {
            timestamp: Some(0),
            ..DocumentMeta::default()
        };
        own.completed(given, self.source).ok()?.id.map(Cow::into_owned)
    }

    fn parameters(&self) -> WriteParameters<'_> {
        let meta = &self.meta;
        WriteParameters {
            placement: Placement {
                routing: meta.routing.as_ref().map(|text| &*text.0),
                parent: meta.parent.as_ref().map(|text| &*text.0),
            },
            condition: self.condition,
            timestamp: meta.timestamp.as_ref().map(|text| &*text.0),
            ttl: self.ttl,
        }
    }
}

/// Parses the actions of a body.
///
/// # Errors
/// A malformed action, or one that lacks a required parameter. No action of the body is executed then.
fn actions<'a>(index: Option<&'a str>, type_name: Option<&'a str>, body: &'a [u8]) -> Result<Vec<Action<'a>>> {
    // As in Elasticsearch, text after the last line end is ignored.
    let mut ends = memchr::memchr_iter(b'\n', body);
    let mut start = 0;
    let mut lines = std::iter::from_fn(|| {
        let end = ends.next()?;
        let line = body.get(std::mem::replace(&mut start, end + 1)..end)?;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    });
    let mut actions = Vec::with_capacity(body.len().div_ceil(ACTION_BYTES).min(MAX_EXPECTED));
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let line = Line::parse(line)?;
        let source = if line.name == "delete" {
            &[][..]
        } else {
            match lines.next() {
                Some(source) => source,
                None => break,
            }
        };
        if matches!(&*line.name, "index" | "create" | "delete" | "update") {
            let (action, problems) = Action::of(line, [index, type_name], source)?;
            actions.push(action);
            found.extend(problems);
        }
    }
    if actions.is_empty() {
        found.push("no requests added".to_owned());
    }
    SearchError::validated(&found)?;
    Ok(actions)
}

/// Indices by the names that the actions use.
type Indices<'a> = Vec<(&'a str, Result<Arc<Index>>)>;

/// How an action goes on after its preparation.
enum Step<'a> {
    Write(Prepared<'a>),
    Update,
    Delete,
    /// An update without its required routing.
    Unrouted,
    /// The action reaches no shard. The document may contain its id.
    Refused(SearchError, Option<String>),
}

/// Executes a bulk request. `refreshes`: the result has the shards with an action.
///
/// # Errors
/// A body with a malformed or incomplete action, and parameters that the index or the mapping of an action does not
/// allow.
pub(crate) fn bulk(
    shared: &Shared,
    index: Option<&str>,
    type_name: Option<&str>,
    body: &[u8],
    refreshes: bool,
) -> Result<Bulk> {
    json::derivable(body)?;
    let actions = actions(index, type_name, body)?;
    let indices = indices(shared, &actions)?;
    let mut steps = Vec::with_capacity(actions.len());
    for action in &actions {
        steps.push(prepared(shared, action, &indices)?);
    }
    let mut done = Bulk::default();
    for (action, (index, step)) in actions.iter().zip(&steps) {
        let type_name = &*action.type_name;
        let own = action.id();
        let (key, id) = match step {
            // A write with a generated id is one that creates.
            Step::Write(prepared) if prepared.has_generated_id || action.condition.create => {
                ("create", Some(prepared.id()))
            }
            Step::Write(prepared) => ("index", Some(prepared.id())),
            Step::Refused(_, found) => ("index", own.or(found.as_deref())),
            // As in Elasticsearch, where the key is the name of the type.
            Step::Unrouted => (type_name, own),
            Step::Update | Step::Delete => (&*action.name, own),
        };
        let mut item = Item {
            _index: index,
            _type: type_name,
            _id: id,
            _version: None,
            status: 200,
            found: None,
            error: None,
        };
        if refreshes && let Some(shard) = shard_of(shared, action, step) {
            let touched = ((*index).to_owned(), shard);
            if !done.touched.contains(&touched) {
                done.touched.push(touched);
            }
        }
        match executed(shared, action, step) {
            Ok(written) => {
                item._version = Some(written.version);
                if matches!(step, Step::Delete) {
                    item.found = Some(written.fresh);
                    item.status = if written.fresh { 200 } else { 404 };
                } else if written.fresh {
                    item.status = 201;
                }
            }
            Err(mut error) => {
                done.failed = true;
                if matches!(step, Step::Update) && error.kind == Exception::DocumentMissing {
                    // As in Elasticsearch, the shard number is -1: it is not known when updates of a bulk are prepared.
                    let id = id.unwrap_or("");
                    error.reason = format!("[{index}][-1] [{type_name}][{id}]: document missing");
                }
                item.status = error.status;
                item.error = Some(match step {
                    Step::Unrouted => error.reason,
                    _ => error.to_string(),
                });
            }
        }
        done.push(key, &item)?;
    }
    Ok(done)
}

/// Returns the indices of actions. Creates the missing ones, with all types of the actions.
///
/// # Errors
/// A block of the cluster.
fn indices<'a>(shared: &Shared, actions: &'a [Action<'_>]) -> Result<Indices<'a>> {
    shared.cluster.check_blocks(&[], Block::Write)?;
    let mut types: Vec<(&str, Vec<&str>)> = Vec::new();
    for action in actions {
        match types.iter_mut().find(|(index, _)| *index == action.index) {
            Some((_, types)) if types.contains(&&*action.type_name) => {}
            Some((_, types)) => types.push(&action.type_name),
            None => types.push((&action.index, vec![&action.type_name])),
        }
    }
    let found = types.into_iter();
    Ok(found
        .map(|(name, types)| (name, shared.cluster.index_for_types(name, &types)))
        .collect())
}

/// Prepares an action. Returns the name of its index, too.
///
/// # Errors
/// Parameters for which Elasticsearch rejects the whole request.
fn prepared<'a>(shared: &Shared, action: &'a Action<'_>, indices: &'a Indices<'_>) -> Result<(&'a str, Step<'a>)> {
    let name = &*action.index;
    let index = match indices.iter().find(|(known, _)| *known == name) {
        Some((_, Ok(index))) => index,
        // An alias of several indices.
        Some((_, Err(error))) if error.kind == Exception::ElasticsearchIllegalArgument => return Err(error.clone()),
        Some((_, Err(error))) => return Ok((name, Step::Refused(error.clone(), None))),
        None => return Ok((name, Step::Refused(SearchError::index_missing(name), None))),
    };
    let parameters = action.parameters();
    let step = match &*action.name {
        "index" | "create" => {
            let own = (Arc::clone(index), name);
            match prepare(shared, own, &action.type_name, action.id(), parameters, action.source) {
                Ok(prepared) => Step::Write(prepared),
                Err(error) if matches!(error.kind, Exception::RoutingMissing | Exception::ElasticsearchParse) => {
                    Step::Refused(error, action.id_in_document(index))
                }
                Err(error) => return Err(error),
            }
        }
        kind => {
            let routing = shared.cluster.index_routing(name, parameters.placement.value())?;
            match kind {
                "delete" => Step::Delete,
                _ if routing.is_none() && index.mapping().needs_routing(&action.type_name) => Step::Unrouted,
                _ => Step::Update,
            }
        }
    };
    Ok((&index.name, step))
}

/// Returns the number of the shard of an action that reaches one; `None` in it for a deletion in every shard.
fn shard_of(shared: &Shared, action: &Action<'_>, step: &Step<'_>) -> Option<Option<u32>> {
    if let Step::Write(prepared) = step {
        return Some(prepared.shard().ok());
    }
    let (Step::Update | Step::Delete, Some(id)) = (step, action.id()) else {
        return None;
    };
    let index = shared.cluster.index_for_write(&action.index).ok()?;
    let routing = action.parameters().placement.value();
    let routing = shared.cluster.index_routing(&action.index, routing).ok()?;
    let everywhere = routing.is_none() && index.mapping().needs_routing(&action.type_name);
    let shard = index.shard_of(id, routing.as_deref()).ok()?.0;
    Some((!everywhere).then_some(shard))
}

/// Executes an action.
fn executed(shared: &Shared, action: &Action<'_>, step: &Step<'_>) -> Result<Written> {
    let (index, type_name) = (&*action.index, &*action.type_name);
    let parameters = action.parameters();
    match step {
        Step::Refused(error, _) => Err(error.clone()),
        Step::Unrouted => {
            let reason = "routing is required for this item";
            Err(SearchError::new(400, Exception::RoutingMissing, reason))
        }
        Step::Write(prepared) => prepared.write_in_bulk(shared, action.source),
        Step::Delete => {
            let (id, placement) = (action.required_id()?, parameters.placement);
            let deleted = delete_document(shared, index, type_name, id, placement, action.condition)?;
            Ok(deleted.0.written)
        }
        Step::Update => {
            let (id, body) = (action.required_id()?, &action.update);
            let updated = update(shared, index, type_name, id, parameters, body, action.retries)?;
            Ok(updated.indexed.written)
        }
    }
}

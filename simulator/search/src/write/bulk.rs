//! Bulk requests: a line per action and, except for deletions, a line for its document.
//!
//! Guarantees:
//! - A body with a malformed action changes nothing. Otherwise each action succeeds or fails by itself.
//! - The response is serialized action by action, without an intermediate JSON tree.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Indexed, WriteParameters, delete_document, index_document, update};
use crate::error::{Result, SearchError, problems};
use crate::index::{Condition, VersionType};
use crate::json::{self, java_text};
use crate::mapping::{illegal_ttl, ttl_millis};
use crate::routing::Placement;
use crate::shared::Shared;

/// A string, or another plain value as text.
#[derive(Clone, Debug)]
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Text<'a>, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Text<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a plain value")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_i64<E>(self, number: i64) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }
            fn visit_u64<E>(self, number: u64) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }
            fn visit_f64<E>(self, number: f64) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(json::java_number(number))))
            }
            fn visit_bool<E>(self, truth: bool) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(truth.to_string())))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Metadata of an action.
#[derive(Debug, Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "_index", alias = "index")]
    index: Option<Text<'a>>,
    #[serde(borrow, rename = "_type", alias = "type")]
    type_name: Option<Text<'a>>,
    #[serde(borrow, rename = "_id", alias = "id")]
    id: Option<Text<'a>>,
    #[serde(borrow, rename = "_routing", alias = "routing")]
    routing: Option<Text<'a>>,
    #[serde(borrow, rename = "_parent", alias = "parent")]
    parent: Option<Text<'a>>,
    #[serde(borrow, rename = "_version", alias = "version")]
    version: Option<Text<'a>>,
    #[serde(borrow, rename = "_version_type", alias = "version_type")]
    version_type: Option<Text<'a>>,
    #[serde(borrow, rename = "op_type", alias = "_op_type")]
    op_type: Option<Text<'a>>,
    #[serde(borrow, rename = "_timestamp", alias = "timestamp")]
    timestamp: Option<Text<'a>>,
    #[serde(rename = "_ttl", alias = "ttl")]
    ttl: Option<Value>,
    #[serde(borrow, rename = "_retry_on_conflict", alias = "retry_on_conflict")]
    retries: Option<Text<'a>>,
}

/// Adds the plain values of a member of an action. Returns whether the action goes on: the end of an inner object ends
/// it.
fn take_plain(key: &str, value: &Value, plain: &mut Map<String, Value>) -> bool {
    match value {
        Value::Object(inner) => {
            let _ends = inner.iter().all(|(key, value)| take_plain(key, value, plain));
            false
        }
        Value::Array(items) => items.iter().all(|item| take_plain(key, item, plain)),
        Value::Null => true,
        value => {
            plain.insert(key.to_owned(), value.clone());
            true
        }
    }
}

/// Parses an action line that has not the form of [`Line`], as Elasticsearch does: as a stream of plain values.
///
/// # Errors
/// A line that is no JSON, or has no action.
fn lenient_line(line: &[u8]) -> Result<Line<'static>> {
    let line = json::value(line)?;
    let action = line.as_object().and_then(|line| line.iter().next());
    let Some((name, meta)) = action else {
        return Err(SearchError::null_pointer());
    };
    let mut plain = Map::new();
    for (key, value) in meta.as_object().into_iter().flatten() {
        if !take_plain(key, value, &mut plain) {
            break;
        }
    }
    let text = |names: [&str; 2]| {
        let found = names.iter().filter_map(|name| plain.get(*name)).next_back();
        found.map(|value| Text(Cow::Owned(java_text(value))))
    };
    Ok(Line {
        name: Cow::Owned(name.clone()),
        meta: Meta {
            index: text(["_index", "index"]),
            type_name: text(["_type", "type"]),
            id: text(["_id", "id"]),
            routing: text(["_routing", "routing"]),
            parent: text(["_parent", "parent"]),
            version: text(["_version", "version"]),
            version_type: text(["_version_type", "version_type"]),
            op_type: text(["_op_type", "op_type"]),
            timestamp: text(["_timestamp", "timestamp"]),
            ttl: plain.get("_ttl").or_else(|| plain.get("ttl")).cloned(),
            retries: text(["_retry_on_conflict", "retry_on_conflict"]),
        },
    })
}

/// Action line: its first entry. Further entries are ignored.
struct Line<'a> {
    name: Cow<'a, str>,
    meta: Meta<'a>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Line<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Line<'a>, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Line<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an action")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Line<'de>, A::Error> {
                let Some(name) = map.next_key::<Text<'de>>()? else {
                    return Err(A::Error::custom("an action without a name"));
                };
                let meta = map.next_value()?;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Line { name: name.0, meta })
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

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
    pub(crate) touched: Vec<String>,
}

impl Bulk {
    /// Serializes the response.
    pub(crate) fn answer(self, took: u128) -> Vec<u8> {
        let mut body = format!("{{\"took\":{took},\"errors\":{},\"items\":[", self.failed).into_bytes();
        body.extend_from_slice(&self.items);
        body.extend_from_slice(b"]}");
        body
    }

    fn push(&mut self, name: &str, item: &Item<'_>) -> Result<()> {
        if !self.items.is_empty() {
            self.items.push(b',');
        }
        self.items.extend_from_slice(format!("{{\"{name}\":").as_bytes());
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
    version: Option<u64>,
    version_type: VersionType,
    retries: u64,
    ttl: Option<i64>,
    source: &'a [u8],
}

/// Parses the actions of a body.
///
/// # Errors
/// A malformed action, or one that lacks a required parameter. No action of the body is executed then.
fn actions<'a>(index: Option<&'a str>, type_name: Option<&'a str>, body: &'a [u8]) -> Result<Vec<Action<'a>>> {
    // As in Elasticsearch, text after the last line end is ignored.
    let end = body.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let mut lines = body
        .get(..end)
        .unwrap_or(&[])
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut actions = Vec::new();
    let mut missing: Vec<Cow<'static, str>> = Vec::new();
    while let Some(line) = lines.next() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let Line { name, meta } = serde_json::from_slice(line).or_else(|_| lenient_line(line))?;
        let source = if name == "delete" {
            &[][..]
        } else {
            match lines.next() {
                Some(source) => source,
                None => break,
            }
        };
        if !matches!(&*name, "index" | "create" | "delete" | "update") {
            continue;
        }
        let version = meta
            .version
            .as_ref()
            .map(|text| text.0.parse::<i64>().map_err(|_| SearchError::number(&text.0)));
        let version_type = meta.version_type.as_ref().map(|kind| VersionType::parse(&kind.0));
        let own = |own: &Option<Text<'a>>, default: Option<&'a str>| {
            own.as_ref().map(|text| text.0.clone()).or(default.map(Cow::Borrowed))
        };
        let (index, type_name) = (own(&meta.index, index), own(&meta.type_name, type_name));
        let version = version.transpose()?;
        let version_type = version_type.transpose()?.unwrap_or_default();
        let number = meta
            .retries
            .as_ref()
            .map(|text| text.0.parse().map_err(|_| SearchError::number(&text.0)));
        let retries = number.transpose()?.unwrap_or(0);
        let ttl = meta.ttl.as_ref().map(ttl_millis).transpose()?;
        if let Some(ttl) = ttl.filter(|ttl| *ttl <= 0) {
            return Err(SearchError::illegal(illegal_ttl(ttl)));
        }
        let needs_id = matches!(&*name, "update" | "delete");
        let found = problems([
            (index.is_none(), "index is missing"),
            (type_name.is_none(), "type is missing"),
            (needs_id && meta.id.is_none(), "id is missing"),
            (name == "update" && !has_change(source)?, "script or doc is missing"),
        ]);
        missing.extend(found.map(Cow::Borrowed));
        if let Some(problem) = version_type.illegal_write(version).filter(|_| name != "update") {
            missing.push(problem.into());
        }
        actions.push(Action {
            version: version_type.written(version),
            version_type,
            retries,
            ttl,
            name,
            meta,
            index: index.unwrap_or_default(),
            type_name: type_name.unwrap_or_default(),
            source,
        });
    }
    if actions.is_empty() {
        missing.push("no requests added".into());
    }
    SearchError::validated(&missing)?;
    Ok(actions)
}

/// Returns whether the body of an update has a change.
///
/// # Errors
/// A body that is no JSON.
fn has_change(body: &[u8]) -> Result<bool> {
    if json::derivable(body).is_err() {
        return Err(SearchError::null_pointer());
    }
    let body = json::value(body)?;
    Ok(["doc", "script", "script_id", "script_file"]
        .iter()
        .any(|key| body.get(*key).is_some()))
}

/// Executes a bulk request.
///
/// # Errors
/// A body with a malformed or incomplete action.
pub(crate) fn bulk(shared: &Shared, index: Option<&str>, type_name: Option<&str>, body: &[u8]) -> Result<Bulk> {
    json::derivable(body)?;
    let mut done = Bulk::default();
    let actions = actions(index, type_name, body)?;
    let refused = create_indices(shared, &actions);
    for action in &actions {
        let (name, index, type_name) = (&*action.name, &*action.index, &*action.type_name);
        let id = action.meta.id.as_ref().map(|text| &*text.0);
        let changed = match refused.iter().find(|(name, _)| *name == index) {
            Some((_, error)) => Err(error.clone()),
            None => change(shared, action),
        };
        let is_refused =
            matches!(&changed, Err(error) if is_of_index(error) || refused.iter().any(|(name, _)| *name == index));
        // An index action without an id is reported as `create`.
        let shown = if id.is_none() && name == "index" {
            "create"
        } else {
            name
        };
        match changed {
            Ok((changed, status, found)) => {
                let item = Item {
                    _index: &changed.index,
                    _type: type_name,
                    _id: Some(&changed.id),
                    _version: Some(changed.written.version),
                    status,
                    found,
                    error: None,
                };
                done.push(shown, &item)?;
                if !done.touched.contains(&changed.index) {
                    done.touched.push(changed.index);
                }
            }
            Err(mut error) => {
                done.failed = true;
                if name == "update" && error.kind == "DocumentMissingException" {
                    // As in Elasticsearch, the shard number is -1: it is not known when updates of a bulk are prepared.
                    error.reason = format!("[{index}][-1] [{type_name}][{}]: document missing", id.unwrap_or(""));
                }
                // An action that reached no shard is reported as `index`, without a generated id.
                let shown = if is_refused { "index" } else { shown };
                done.push(
                    shown,
                    &Item {
                        _index: index,
                        _type: type_name,
                        _id: id,
                        _version: None,
                        status: error.status,
                        found: None,
                        error: Some(error.to_string()),
                    },
                )?;
            }
        }
    }
    Ok(done)
}

/// Returns whether an error is about the index of an action.
fn is_of_index(error: &SearchError) -> bool {
    error.kind.contains("Index")
}

/// Creates the missing indices of the actions, with all types of the actions. Returns the indices that cannot be
/// created or written to.
fn create_indices<'a>(shared: &Shared, actions: &'a [Action<'_>]) -> Vec<(&'a str, SearchError)> {
    let mut types: Vec<(&str, Vec<&str>)> = Vec::new();
    for action in actions {
        match types.iter_mut().find(|(index, _)| *index == action.index) {
            Some((_, types)) if types.contains(&&*action.type_name) => {}
            Some((_, types)) => types.push(&action.type_name),
            None => types.push((&action.index, vec![&action.type_name])),
        }
    }
    let refused = types.into_iter().filter_map(|(index, types)| {
        let created = shared.cluster.index_for_types(index, &types);
        Some((index, created.err()?))
    });
    refused.collect()
}

/// Executes an action. Returns the document, the status, and for a deletion whether the document existed.
fn change(shared: &Shared, action: &Action<'_>) -> Result<(Indexed, u16, Option<bool>)> {
    let Action { meta, source, .. } = action;
    let (name, index, type_name) = (&*action.name, &*action.index, &*action.type_name);
    let id = meta.id.as_ref().map(|text| &*text.0);
    let create = name == "create" || meta.op_type.as_ref().is_some_and(|kind| kind.0 == "create");
    let condition = Condition {
        create,
        version: action.version,
        version_type: action.version_type,
    };
    let placement = Placement {
        routing: meta.routing.as_ref().map(|text| &*text.0),
        parent: meta.parent.as_ref().map(|text| &*text.0),
    };
    let parameters = WriteParameters {
        placement,
        condition,
        timestamp: meta.timestamp.as_ref().map(|text| &*text.0),
        ttl: action.ttl,
    };
    let required_id = || id.ok_or_else(|| SearchError::validation("id is missing"));
    match name {
        "delete" => {
            let done = delete_document(shared, index, type_name, required_id()?, placement, condition)?;
            let found = done.written.fresh;
            Ok((done, if found { 200 } else { 404 }, Some(found)))
        }
        "update" => {
            let body = json::value(source)?;
            let done = update(
                shared,
                index,
                type_name,
                required_id()?,
                parameters,
                &body,
                action.retries,
            )?
            .indexed;
            let status = if done.written.fresh { 201 } else { 200 };
            Ok((done, status, None))
        }
        _ => {
            let done = index_document(shared, index, type_name, id, parameters, source)?;
            let status = if done.written.fresh { 201 } else { 200 };
            Ok((done, status, None))
        }
    }
}

//! Writes of documents: single and bulk.
//!
//! Source: Elasticsearch 1.5's index, delete, update and bulk operations.

mod bulk;
mod update;

pub(crate) use bulk::bulk;
pub(crate) use update::{SCRIPTS, update, update_problems};

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::cluster::{Block, Index};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::{Condition, Written};
use crate::json;
use crate::mapping::{DocumentMeta, TimestampSettings, TypeMapping, WriteTime, check_ttl, check_type_name};
use crate::routing::Placement;
use crate::shared::Shared;

/// Maximum length of an id, in bytes.
const MAX_ID_BYTES: usize = 512;

/// A document that was written: name of its concrete index, id, version.
pub(crate) struct Indexed {
    pub(crate) index: String,
    /// Number of its shard; `None` for a deletion in every shard.
    pub(crate) shard: Option<u32>,
    pub(crate) id: String,
    pub(crate) written: Written,
}

/// Parameters of a write.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteParameters<'a> {
    pub(crate) placement: Placement<'a>,
    pub(crate) condition: Condition,
    /// Timestamp of the document: a date, or milliseconds since 1970. Default: from the mapping.
    pub(crate) timestamp: Option<&'a str>,
    /// Time to live in milliseconds. Default: from the mapping.
    pub(crate) ttl: Option<i64>,
}

/// A write of a document before it reaches its shard.
pub(crate) struct Prepared<'a> {
    index: Arc<Index>,
    type_name: &'a str,
    id: Cow<'a, str>,
    /// Whether neither the request nor the document has an id.
    has_generated_id: bool,
    routing: Option<String>,
    parent: Option<&'a str>,
    time: WriteTime,
    condition: Condition,
}

/// Prepares a write to an index, which a request names as `name`. Default of `id`: the one that the document contains,
/// or else a generated one.
///
/// # Errors
/// Parameters that the mapping of the type does not allow.
fn prepare<'a>(
    shared: &Shared,
    (index, name): (Arc<Index>, &str),
    type_name: &'a str,
    id: Option<&'a str>,
    parameters: WriteParameters<'a>,
    source: &[u8],
) -> Result<Prepared<'a>> {
    let ttl = parameters.ttl;
    check_ttl(ttl)?;
    let placement = parameters.placement;
    let routing = shared.cluster.index_routing(name, placement.value())?;
    let mapping = index.mapping();
    let of_type = mapping.type_mapping_or_default(type_name);
    let default;
    let settings = match of_type {
        Some(own) => &own.times.timestamp,
        None => {
            default = TimestampSettings::default();
            &default
        }
    };
    let given = DocumentMeta {
        id: id.map(Cow::Borrowed),
        routing,
        timestamp: parameters.timestamp.map(|given| settings.parse(given)).transpose()?,
    };
    let DocumentMeta { id, routing, timestamp } = match of_type {
        Some(own) => own.completed(given, source)?,
        None => given,
    };
    if of_type.is_some_and(TypeMapping::needs_routing) && routing.is_none() {
        return Err(SearchError::routing_missing(
            &index.name,
            type_name,
            id.as_deref().unwrap_or("null"),
        ));
    }
    if placement.parent.is_some() && of_type.and_then(TypeMapping::parent_type).is_none() {
        return Err(SearchError::illegal(
            "Can't specify parent if no parent field has been configured",
        ));
    }
    let now = shared.cluster.now();
    let timestamp = timestamp.map_or_else(|| settings.default_time(now), Ok)?;
    Ok(Prepared {
        type_name,
        has_generated_id: id.is_none(),
        id: id.unwrap_or_else(|| Cow::Owned(shared.ids.next())),
        routing: routing.map(Cow::into_owned),
        parent: placement.parent,
        time: WriteTime { now, timestamp, ttl },
        condition: parameters.condition,
        index,
    })
}

/// Checks that a type is mapped or may be, and returns whether it is.
fn check_type(index: &Index, type_name: &str) -> Result<bool> {
    let is_mapped = index.mapping().type_mapping(type_name).is_some();
    if !is_mapped && index.settings.read().get("index.mapper.dynamic") == Some("false") {
        let reason = "trying to auto create mapping, but dynamic mapping is disabled";
        let reason = format!("[{}] type[[{type_name}, {reason}]] missing", index.name);
        return Err(SearchError::new(404, Exception::TypeMissing, reason));
    }
    Ok(is_mapped)
}

/// Parses the source of a document.
fn parsed(source: &[u8]) -> Result<Map<String, Value>> {
    if source.iter().all(u8::is_ascii_whitespace) {
        return Err(SearchError::mapping("failed to parse, document is empty"));
    }
    if source.trim_ascii_start().first() != Some(&b'{') {
        return Err(SearchError::mapping("failed to parse").caused_by(json::underivable_part(source)));
    }
    json::object(source).map_err(|error| SearchError::mapping("failed to parse").caused_by(error))
}

impl Prepared<'_> {
    /// Returns the id of the document.
    fn id(&self) -> &str {
        &self.id
    }

    /// Returns the number of the document's shard.
    fn shard(&self) -> Result<u32> {
        let routing = self.routing.as_deref().or(self.parent);
        Ok(self.index.shard_of(&self.id, routing)?.0)
    }

    /// Writes the document.
    fn write(&self, shared: &Shared, source: &[u8]) -> Result<Indexed> {
        let is_mapped = self.check()?;
        Ok(Indexed {
            written: self.write_checked(shared, source, is_mapped)?,
            index: self.index.name.clone(),
            shard: Some(self.shard()?),
            id: self.id().to_owned(),
        })
    }

    /// Writes the document as an action of a bulk request, where an invalid document of a new type has another error.
    fn write_in_bulk(&self, shared: &Shared, source: &[u8]) -> Result<Written> {
        let is_mapped = self.check()?;
        let written = self.write_checked(shared, source, is_mapped);
        written.map_err(|error| match error.kind {
            Exception::MapperParsing if !is_mapped => {
                SearchError::new(error.status, Exception::WriteFailure, "").caused_by(error)
            }
            _ => error,
        })
    }

    /// Checks the names of the document, and returns whether its type is mapped.
    fn check(&self) -> Result<bool> {
        let (index, type_name, id) = (&self.index, self.type_name, &*self.id);
        index.check_block(Block::Write)?;
        check_type_name(type_name)?;
        if id.len() > MAX_ID_BYTES {
            return Err(SearchError::illegal(format!(
                "id is too long, must be no longer than {MAX_ID_BYTES} bytes"
            )));
        }
        check_type(index, type_name)
    }

    /// Writes the document. An invalid document of a new type maps the type, with what comes before the error.
    fn write_checked(&self, shared: &Shared, source: &[u8], is_mapped: bool) -> Result<Written> {
        let (index, type_name, id) = (&self.index, self.type_name, &*self.id);
        let placement = Placement {
            routing: self.routing.as_deref(),
            parent: self.parent,
        };
        let document = match parsed(source) {
            Ok(document) => document,
            Err(error) => {
                if !is_mapped {
                    // The error of the JSON matters, not one of the members before it.
                    let members = json::members_before_error(source);
                    drop(index.parse(type_name, id, placement, self.time, source, &members));
                }
                return Err(error);
            }
        };
        let now = (shared.cluster.options.ticks)();
        index.write(
            type_name,
            id,
            placement,
            self.time,
            source,
            &document,
            self.condition,
            now,
        )
    }
}

/// Writes a document. Default of `id`: a generated one.
pub(crate) fn index_document(
    shared: &Shared,
    index: &str,
    type_name: &str,
    id: Option<&str>,
    parameters: WriteParameters<'_>,
    source: &[u8],
) -> Result<Indexed> {
    shared.cluster.check_blocks(&[], Block::Write)?;
    let own = shared.cluster.index_for_types(index, &[type_name])?;
    prepare(shared, (own, index), type_name, id, parameters, source)?.write(shared, source)
}

/// Deletes a document. Without the routing that its type needs, it is deleted in every shard; the second part of the
/// result is whether it was.
pub(crate) fn delete_document(
    shared: &Shared,
    index: &str,
    type_name: &str,
    id: &str,
    placement: Placement<'_>,
    condition: Condition,
) -> Result<(Indexed, bool)> {
    let name = index;
    let index = shared.cluster.index_for_write(name)?;
    let routing = shared.cluster.index_routing(name, placement.value())?;
    // A deletion creates the type, as a write does.
    if type_name != "_default_" {
        check_type_name(type_name)?;
        check_type(&index, type_name)?;
    }
    let now = (shared.cluster.options.ticks)();
    let everywhere = routing.is_none() && index.mapping().needs_routing(type_name);
    let written = match everywhere {
        true => index.delete_everywhere(type_name, id, condition, now)?,
        false => index.delete(type_name, id, routing.as_deref(), condition, now)?,
    };
    let shard = index.shard_of(id, routing.as_deref())?.0;
    let indexed = Indexed {
        index: index.name.clone(),
        shard: (!everywhere).then_some(shard),
        id: id.to_owned(),
        written,
    };
    Ok((indexed, everywhere))
}

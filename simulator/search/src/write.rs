//! Writes of documents: single and bulk.
//!
//! Source: Elasticsearch 1.5's index, delete, update and bulk operations.

mod bulk;
mod update;

pub(crate) use bulk::bulk;
pub(crate) use update::update;

use crate::error::{Result, SearchError};
use crate::index::{Condition, Written};
use crate::json;
use crate::mapping::{TimestampSettings, WriteTime, check_type_name, illegal_ttl};
use crate::routing::Placement;
use crate::shared::Shared;

/// Maximum length of an id, in bytes.
const MAX_ID_BYTES: usize = 512;

/// A document that was written: name of its concrete index, id, version.
pub(crate) struct Indexed {
    pub(crate) index: String,
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

/// Writes a document. Default of `id`: a generated one.
pub(crate) fn index_document(
    shared: &Shared,
    index: &str,
    type_name: &str,
    id: Option<&str>,
    parameters: WriteParameters<'_>,
    source: &[u8],
) -> Result<Indexed> {
    let ttl = parameters.ttl;
    if let Some(ttl) = ttl.filter(|ttl| *ttl <= 0) {
        return Err(SearchError::illegal(illegal_ttl(ttl)));
    }
    let name = index;
    let index = shared.cluster.index_for_types(name, &[type_name])?;
    let routing = shared.cluster.index_routing(name, parameters.placement.value())?;
    let placement = Placement {
        routing: routing.as_deref(),
        parent: parameters.placement.parent,
    };
    check_type_name(type_name)?;
    if id.is_some_and(|id| id.len() > MAX_ID_BYTES) {
        return Err(SearchError::illegal(format!(
            "id is too long, must be no longer than {MAX_ID_BYTES} bytes"
        )));
    }
    if source.iter().all(u8::is_ascii_whitespace) {
        return Err(SearchError::mapping("failed to parse, document is empty"));
    }
    if source.trim_ascii_start().first() != Some(&b'{') {
        return Err(SearchError::mapping("failed to parse").caused_by(json::underivable_part(source)));
    }
    let document = json::object(source).map_err(|error| SearchError::mapping("failed to parse").caused_by(error))?;
    let id = id.map_or_else(|| shared.ids.next(), str::to_owned);
    let mapping = index.mapping();
    if mapping.needs_routing(type_name) && placement.value().is_none() {
        return Err(SearchError::routing_missing(&index.name, type_name, &id));
    }
    let of_type = mapping.type_mapping(type_name);
    let default;
    let settings = match of_type.or_else(|| mapping.type_mapping("_default_")) {
        Some(own) => &own.times.timestamp,
        None => {
            default = TimestampSettings::default();
            &default
        }
    };
    let now = shared.cluster.now();
    let time = WriteTime {
        now,
        timestamp: settings.of(parameters.timestamp, &document, now)?,
        ttl,
    };
    let is_mapped = of_type.is_some();
    if !is_mapped && index.settings.read().get("index.mapper.dynamic") == Some("false") {
        return Err(SearchError::new(
            404,
            "TypeMissingException",
            format!(
                "[{}] type[[{type_name}, trying to auto create mapping, but dynamic mapping is disabled]] missing",
                index.name
            ),
        ));
    }
    if placement.parent.is_some() && mapping.parent_type(type_name).is_none() {
        return Err(SearchError::illegal(
            "Can't specify parent if no parent field has been configured",
        ));
    }
    let now = (shared.cluster.options.ticks)();
    let condition = parameters.condition;
    let written = index.write(type_name, &id, placement, time, source, &document, condition, now)?;
    Ok(Indexed {
        index: index.name.clone(),
        id,
        written,
    })
}

/// Deletes a document.
pub(crate) fn delete_document(
    shared: &Shared,
    index: &str,
    type_name: &str,
    id: &str,
    placement: Placement<'_>,
    condition: Condition,
) -> Result<Indexed> {
    let name = index;
    let index = shared.cluster.index_for_write(name)?;
    let routing = shared.cluster.index_routing(name, placement.value())?;
    // A deletion creates the type, as a write does.
    if type_name != "_default_" {
        check_type_name(type_name)?;
    }
    let now = (shared.cluster.options.ticks)();
    let written = index.delete(type_name, id, routing.as_deref(), condition, now)?;
    Ok(Indexed {
        index: index.name.clone(),
        id: id.to_owned(),
        written,
    })
}

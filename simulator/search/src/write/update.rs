//! Updates: a document changed in part.
//!
//! Limits: partial documents only; scripts are refused, as a backend with scripting disabled refuses them.

use serde_json::Value;

use super::{Indexed, WriteParameters, index_document};
use crate::error::{Result, SearchError};
use crate::find::visible_source;
use crate::index::{Condition, Written};
use crate::routing::Placement;
use crate::shared::Shared;

/// A document that was updated.
pub(crate) struct Updated {
    pub(crate) indexed: Indexed,
    /// What it is now.
    pub(crate) source: Value,
}

/// Lays `doc` of `body` on a document; makes it of `upsert` if it is not there. Tries again, as often as told, when another change comes between.
pub(crate) fn update(
    shared: &Shared,
    index: &str,
    type_name: &str,
    id: &str,
    parameters: WriteParameters<'_>,
    body: &Value,
    retries: u64,
) -> Result<Updated> {
    let (placement, version) = (parameters.placement, parameters.condition.version);
    if body.get("script").is_some() || body.get("script_id").is_some() || body.get("script_file").is_some() {
        let disabled = SearchError::new(400, "ScriptException", "dynamic scripting for [groovy] disabled");
        return Err(SearchError::illegal("failed to execute script").caused_by(disabled));
    }
    let doc = body.get("doc");
    let upsert = body
        .get("upsert")
        .or_else(|| doc.filter(|_| body.get("doc_as_upsert").is_some_and(crate::mapping::truth)));
    if doc.is_none() {
        return Err(SearchError::validation("script or doc is missing"));
    }
    let mut tries = 0;
    loop {
        let own = shared.cluster.index_for_write(index)?;
        let routing = shared.cluster.index_routing(index, placement.value())?;
        if routing.is_none() && own.mapping().needs_routing(type_name) {
            return Err(SearchError::routing_missing(&own.name, type_name, id));
        }
        let (number, shard) = own.shard_of(id, routing.as_deref())?;
        let known = shard.get(type_name, id)?;
        let (source, condition, unchanged) = match (&known, upsert) {
            (None, None) => {
                return Err(SearchError::new(
                    404,
                    "DocumentMissingException",
                    format!("[{}][{number}] [{type_name}][{id}]: document missing", own.name),
                ));
            }
            (None, Some(upsert)) => (
                upsert.clone(),
                Condition {
                    create: true,
                    ..Condition::default()
                },
                false,
            ),
            (Some((current, stored)), _) => {
                let whole: Value = serde_json::from_slice(stored.source()).map_err(SearchError::engine)?;
                let Some(before) = visible_source(&own.mapping(), type_name, &whole) else {
                    let reason = format!("[{}][{number}] [{type_name}][{id}]: document source missing", own.name);
                    return Err(SearchError::new(400, "DocumentSourceMissingException", reason));
                };
                let before = before.into_owned();
                let mut after = before.clone();
                if let Some(doc) = doc {
                    crate::cluster::merge(&mut after, doc);
                }
                let unchanged = body.get("detect_noop").is_some_and(crate::mapping::truth) && before == after;
                (
                    after,
                    Condition {
                        version: Some(version.unwrap_or(*current)),
                        ..Condition::default()
                    },
                    unchanged,
                )
            }
        };
        if let (true, Some((current, _))) = (unchanged, &known) {
            let indexed = Indexed {
                index: index.to_owned(),
                id: id.to_owned(),
                written: Written {
                    version: *current,
                    fresh: false,
                },
            };
            return Ok(Updated { indexed, source });
        }
        // What it was written with stays, but for its time.
        let before = known.as_ref().map(|(_, stored)| stored);
        let expiry = before.and_then(|stored| stored.times().expiry);
        let parameters = WriteParameters {
            placement: Placement {
                routing: placement.routing,
                parent: placement.parent.or(before.and_then(|stored| stored.parent())),
            },
            condition,
            timestamp: parameters.timestamp,
            ttl: parameters.ttl.or(expiry.map(|expiry| expiry - shared.cluster.now())),
        };
        match index_document(
            shared,
            index,
            type_name,
            Some(id),
            parameters,
            source.to_string().as_bytes(),
        ) {
            Ok(indexed) => return Ok(Updated { indexed, source }),
            Err(error) if error.status == 409 && version.is_none() && tries < retries.min(100) => tries += 1,
            Err(error) => return Err(error),
        }
    }
}

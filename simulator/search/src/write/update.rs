//! Updates with partial documents.
//!
//! Limits: scripts are rejected, as by an Elasticsearch with scripting disabled.

use serde_json::Value;

use super::{Indexed, WriteParameters, index_document};
use crate::error::{Result, SearchError, problems};
use crate::exception::Exception;
use crate::find::{check_loadable, visible_source};
use crate::index::{Condition, VersionType, Written};
use crate::mapping::{check_ttl, strict_flag, truth};
use crate::routing::Placement;
use crate::script::Script;
use crate::shared::Shared;

/// A document that was updated.
pub(crate) struct Updated {
    pub(crate) indexed: Indexed,
    /// Source after the update.
    pub(crate) source: Value,
    /// Whether there was nothing to change.
    pub(crate) unchanged: bool,
}

/// Keys of a script.
pub(crate) const SCRIPTS: [&str; 3] = ["script", "script_id", "script_file"];

fn has_script(body: &Value) -> bool {
    Script::texts(body).next().is_some()
}

/// Returns the problems of an update with its body and its version.
///
/// # Errors
/// A flag that is no boolean, number or text.
pub(crate) fn update_problems(
    body: &Value,
    version: Option<i64>,
    version_type: VersionType,
    retries: u64,
) -> Result<Vec<String>> {
    for name in ["detect_noop", "doc_as_upsert", "scripted_upsert"] {
        body.get(name).map(strict_flag).transpose()?;
    }
    let has_script = has_script(body);
    let has_doc = body.get("doc").is_some();
    let unsupported = format!(
        "version type [{}] is not supported by the update API",
        version_type.name()
    );
    let is_supported = matches!(version_type, VersionType::Internal | VersionType::Force);
    let has_version = version_type.written(version).is_some();
    let illegal = version_type.illegal_write(version).filter(|_| is_supported);
    let found = problems([
        (!is_supported, &*unsupported),
        (
            is_supported && has_version && retries > 0,
            "can't provide both retry_on_conflict and a specific version",
        ),
        (illegal.is_some(), illegal.as_deref().unwrap_or_default()),
        (!has_script && !has_doc, "script or doc is missing"),
        (has_script && has_doc, "can't provide both script and doc"),
        (
            body.get("doc_as_upsert").is_some_and(truth) && !has_doc,
            "doc must be specified if doc_as_upsert is enabled",
        ),
    ]);
    Ok(found.map(str::to_owned).collect())
}

/// Merges `doc` of `body` into a document, or creates it from `upsert` if it does not exist. Retries up to `retries`
/// times after a version conflict.
pub(crate) fn update(
    shared: &Shared,
    index: &str,
    type_name: &str,
    id: &str,
    parameters: WriteParameters<'_>,
    body: &Value,
    retries: u64,
) -> Result<Updated> {
    let (placement, given) = (parameters.placement, parameters.condition);
    // A forced version is the new one, any other the one that the document must have.
    let version = given.version.filter(|_| given.version_type != VersionType::Force);
    let is_set = |key: &str| body.get(key).is_some_and(truth);
    let has_script = has_script(body);
    let doc = body.get("doc");
    let upsert = doc.filter(|_| is_set("doc_as_upsert")).or_else(|| body.get("upsert"));
    let mut tries = 0;
    loop {
        let own = shared.cluster.index_for_write(index)?;
        let routing = shared.cluster.index_routing(index, placement.value())?;
        if routing.is_none() && own.mapping().needs_routing(type_name) {
            return Err(SearchError::routing_missing(&own.name, type_name, id));
        }
        let (number, shard) = own.shard_of(id, routing.as_deref())?;
        let known = shard.get(type_name, id)?;
        if let (Some((current, _)), Some(wanted)) = (&known, version) {
            own.check_version(number, type_name, id, (*current, wanted))?;
        }
        let runs_script = has_script && (known.is_some() || upsert.is_some() && is_set("scripted_upsert"));
        if runs_script {
            let cause = match Script::parse(body) {
                Err(error) if error.kind == Exception::ScriptParameterParse => return Err(error),
                Err(error) => error,
                Ok(_) => {
                    let reason = "Cannot use expressions for updates";
                    SearchError::new(400, Exception::UnsupportedOperation, reason)
                }
            };
            return Err(SearchError::illegal("failed to execute script").caused_by(cause));
        }
        let (source, condition, unchanged) = match (&known, upsert) {
            (None, None) => {
                return Err(SearchError::new(
                    404,
                    Exception::DocumentMissing,
                    format!("[{}][{number}] [{type_name}][{id}]: document missing", own.name),
                ));
            }
            (None, Some(upsert)) => (
                upsert.clone(),
                Condition {
                    create: version.is_none(),
                    version: given.version,
                    version_type: given.version_type,
                },
                false,
            ),
            (Some((current, stored)), _) => {
                let whole = crate::json::value(stored.source())?;
                let Some(before) = visible_source(&own.mapping(), type_name, &whole) else {
                    let reason = format!("[{}][{number}] [{type_name}][{id}]: document source missing", own.name);
                    return Err(SearchError::new(400, Exception::DocumentSourceMissing, reason));
                };
                if doc.is_some_and(|doc| !doc.is_object()) {
                    return Err(SearchError::null_pointer());
                }
                check_loadable(stored.source(), &whole)?;
                let before = before.into_owned();
                let mut after = before.clone();
                if let Some(doc) = doc {
                    crate::cluster::merge(&mut after, doc);
                }
                let unchanged = is_set("detect_noop") && before == after;
                (
                    after,
                    Condition {
                        create: false,
                        version: given.version.or(Some(*current)),
                        version_type: given.version_type,
                    },
                    unchanged,
                )
            }
        };
        if let (true, Some((current, _))) = (unchanged, &known) {
            let indexed = Indexed {
                index: own.name.clone(),
                shard: Some(number),
                id: id.to_owned(),
                written: Written {
                    version: *current,
                    fresh: false,
                },
            };
            return Ok(Updated {
                indexed,
                source,
                unchanged,
            });
        }
        // Routing, parent and expiry are kept, the timestamp is not.
        let before = known.as_ref().map(|(_, stored)| stored);
        let expiry = before.and_then(|stored| stored.times().expiry);
        let ttl = parameters.ttl.or(expiry.map(|expiry| expiry - shared.cluster.now()));
        check_ttl(ttl)?;
        let parameters = WriteParameters {
            placement: before.map_or(placement, |stored| Placement {
                routing: placement.value().or(stored.routing()),
                parent: placement.parent.or(stored.parent()),
            }),
            condition,
            timestamp: parameters.timestamp,
            ttl,
        };
        match index_document(
            shared,
            index,
            type_name,
            Some(id),
            parameters,
            source.to_string().as_bytes(),
        ) {
            Ok(indexed) => {
                return Ok(Updated {
                    indexed,
                    source,
                    unchanged: false,
                });
            }
            Err(error) if error.status == 409 && version.is_none() && tries < retries.min(100) => tries += 1,
            Err(error) => return Err(error),
        }
    }
}

//! The document APIs: index, get, update, delete, multi-get and bulk.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::cluster::{Block, Index};
use crate::error::{Result, SearchError};
use crate::find::{SourceFilter, extract, metadata_value, names, visible_source};
use crate::index::{Condition, Stored, VersionType};
use crate::json;
use crate::mapping::ttl_millis;
use crate::rest::{Answer, Content, RestRequest};
use crate::routing::Placement;
use crate::shared::Shared;
use crate::write::{self, WriteParameters};

/// Returns the routing value and the parent of a request.
fn placement(request: &RestRequest) -> Placement<'_> {
    Placement {
        routing: request.param("routing"),
        parent: request.param("parent"),
    }
}

fn condition(request: &RestRequest, create: bool) -> Result<Condition> {
    check_write(request)?;
    let (version, version_type) = request.version()?;
    Ok(Condition {
        create: create || request.param("op_type") == Some("create"),
        version,
        version_type,
    })
}

/// Returns the parameters of a write.
fn write_parameters(request: &RestRequest, condition: Condition) -> Result<WriteParameters<'_>> {
    let ttl = request.param("ttl").filter(|text| !text.is_empty());
    Ok(WriteParameters {
        placement: placement(request),
        condition,
        timestamp: request.param("timestamp"),
        ttl: ttl.map(|text| ttl_millis(&json!(text))).transpose()?,
    })
}

/// Validates the parameters that all writes share.
fn check_write(request: &RestRequest) -> Result<()> {
    request.check_duration("timeout")?;
    match request.param("consistency") {
        None | Some("default" | "one" | "quorum" | "all") => {}
        Some(text) => return Err(SearchError::illegal(format!("No write consistency match [{text}]"))),
    }
    match request.param("replication") {
        None | Some("default" | "sync" | "async") => Ok(()),
        Some(text) => Err(SearchError::illegal(format!(
            "No replication type match for [{text}], should be either `async`, or `sync`"
        ))),
    }
}

/// Refreshes a written index, if the request has `refresh`.
fn refresh(shared: &Shared, request: &RestRequest, index: &str) -> Result<()> {
    match shared.cluster.index(index) {
        Some(index) if request.flag("refresh") => crate::cluster::refresh(&[index]),
        _ => Ok(()),
    }
}

/// `PUT|POST /index/type[/id[/_create]]`.
pub(crate) fn index(
    shared: &Shared,
    request: &RestRequest,
    index: &str,
    type_name: &str,
    id: Option<&str>,
    create: bool,
) -> Result<Answer> {
    if let Some(kind) = request
        .param("op_type")
        .filter(|kind| !matches!(*kind, "index" | "create"))
    {
        let reason = format!("opType [{kind}] not allowed, either [index] or [create] are allowed");
        return Ok(Answer::json(400, json!({"error": reason})));
    }
    let done = write::index_document(
        shared,
        index,
        type_name,
        id,
        write_parameters(request, condition(request, create)?)?,
        request.body_or_source(),
    )?;
    refresh(shared, request, &done.index)?;
    let status = if done.written.fresh { 201 } else { 200 };
    Ok(Answer::json(
        status,
        json!({
            "_index": done.index,
            "_type": type_name,
            "_id": done.id,
            "_version": done.written.version,
            "created": done.written.fresh,
        }),
    ))
}

/// `DELETE /index/type/id`.
pub(crate) fn delete(shared: &Shared, request: &RestRequest, index: &str, type_name: &str, id: &str) -> Result<Answer> {
    let done = write::delete_document(
        shared,
        index,
        type_name,
        id,
        placement(request),
        condition(request, false)?,
    )?;
    refresh(shared, request, &done.index)?;
    let status = if done.written.fresh { 200 } else { 404 };
    Ok(Answer::json(
        status,
        json!({
            "found": done.written.fresh,
            "_index": done.index,
            "_type": type_name,
            "_id": id,
            "_version": done.written.version,
        }),
    ))
}

/// `POST /index/type/id/_update`.
pub(crate) fn update(shared: &Shared, request: &RestRequest, index: &str, type_name: &str, id: &str) -> Result<Answer> {
    check_write(request)?;
    let body = request.body_or_source();
    if !body.is_empty() && json::derivable(body).is_err() {
        return Err(SearchError::new(500, "NullPointerException", "null"));
    }
    let body = request
        .json()?
        .ok_or_else(|| SearchError::validation("script or doc is missing"))?;
    let retries = request.count("retry_on_conflict")?.unwrap_or(0);
    let (version, version_type) = request.version()?;
    if !matches!(version_type, VersionType::Internal | VersionType::Force) {
        let reason = format!(
            "version type [{}] is not supported by the update API",
            version_type.name()
        );
        return Err(SearchError::validation(&reason));
    }
    if version.is_some() && retries > 0 {
        let reason = "can't provide both retry_on_conflict and a specific version";
        return Err(SearchError::validation(reason));
    }
    let condition = Condition {
        version,
        ..Condition::default()
    };
    let done = write::update(
        shared,
        index,
        type_name,
        id,
        write_parameters(request, condition)?,
        &body,
        retries,
    )?;
    refresh(shared, request, &done.indexed.index)?;
    let status = if done.indexed.written.fresh { 201 } else { 200 };
    let mut response =
        json!({"_index": done.indexed.index, "_type": type_name, "_id": id, "_version": done.indexed.written.version});
    if let Some(fields) = request.param("fields") {
        let mut get = json!({"found": true});
        let mut taken = Map::new();
        for field in fields.split(',').filter(|field| *field != "_source") {
            // An array is returned as one value.
            let value = match (done.source.get(field), extract(&done.source, field).as_slice()) {
                (Some(whole), _) => whole.clone(),
                (None, [only]) => (*only).clone(),
                (None, several) => json!(several),
            };
            if !(value.is_null() || value == json!([])) {
                taken.insert(field.to_owned(), json!([value]));
            }
        }
        if fields.split(',').any(|field| field == "_source") {
            get["_source"] = done.source;
        }
        if !taken.is_empty() {
            get["fields"] = taken.into();
        }
        response["get"] = get;
    }
    Ok(Answer::json(status, response))
}

/// A document and its version.
type Versioned = (u64, Stored);

/// Returns the document with an id. If the type is `_all`, the document may have any type.
fn find(
    shared: &Shared,
    index: &str,
    type_name: &str,
    id: &str,
    routing: Option<&str>,
) -> Result<(Arc<Index>, Option<Versioned>)> {
    let expand = crate::cluster::Expand::default();
    let name = index;
    let indices = shared.cluster.named(name, expand)?;
    let index = match indices.as_slice() {
        [only] => only,
        _ => {
            return Err(SearchError::illegal(format!(
                "Alias [{name}] has more than one indices associated with it, can't execute a single index op"
            )));
        }
    };
    index.check_block(Block::Read)?;
    let routing = shared.cluster.index_routing(name, routing)?;
    let routing = routing.as_deref();
    let types: Vec<String> = if type_name == "_all" {
        index.mapping().type_names().map(str::to_owned).collect()
    } else {
        vec![type_name.to_owned()]
    };
    let mapping = index.mapping();
    if let (None, Some(type_name)) = (routing, types.iter().find(|name| mapping.needs_routing(name)))
        && types.len() == 1
    {
        return Err(SearchError::routing_missing(&index.name, type_name, id));
    }
    let (_, shard) = index.shard_of(id, routing)?;
    let began = std::time::Instant::now();
    for type_name in &types {
        if let Some(found) = shard.get(type_name, id)? {
            shard.counters.found.add(began);
            return Ok((index.clone(), Some(found)));
        }
    }
    shard.counters.missed.add(began);
    Ok((index.clone(), None))
}

/// Returns the parts of a document that a response contains: metadata, filtered source, and fields.
pub(super) fn contents(
    index: &Index,
    stored: &Stored,
    filter: Option<&SourceFilter>,
    fields: Option<&[String]>,
    now: i64,
) -> Result<Map<String, Value>> {
    let mapping = index.mapping();
    let whole = crate::json::value(stored.source())?;
    let source = visible_source(&mapping, stored.type_name(), &whole);
    let mut response = Map::new();
    let wants_source = fields.is_none_or(|fields| fields.iter().any(|field| field == "_source"));
    match (filter, &source) {
        (Some(filter), Some(source)) if filter.enabled => {
            response.insert("_source".to_owned(), filter.apply(source));
        }
        (None, Some(source)) if wants_source => {
            response.insert("_source".to_owned(), source.clone().into_owned());
        }
        _ => {}
    }
    let mut taken = Map::new();
    for field in fields.into_iter().flatten().filter(|field| *field != "_source") {
        if let Some(value) = metadata_value(&mapping, stored, field, now) {
            response.insert(field.clone(), value);
            continue;
        }
        if mapping.is_object(field) {
            return Err(SearchError::illegal(format!("field [{field}] isn't a leaf field")));
        }
        // Unmapped fields are not returned.
        let Some(own) = mapping.field(field) else {
            continue;
        };
        let from = if own.field_type.store {
            Some(&whole)
        } else {
            source.as_deref()
        };
        let values: Vec<Value> = from.map_or(vec![], |from| extract(from, field).into_iter().cloned().collect());
        if !values.is_empty() {
            taken.insert(field.clone(), values.into());
        }
    }
    if !taken.is_empty() {
        response.insert("fields".to_owned(), taken.into());
    }
    Ok(response)
}

/// Returns the response for one document, found or not.
fn document_json(
    index: &Index,
    type_name: &str,
    id: &str,
    found: Option<Versioned>,
    filter: Option<&SourceFilter>,
    fields: Option<&[String]>,
    now: i64,
) -> Result<Value> {
    let Some((version, stored)) = found else {
        return Ok(json!({"_index": index.name, "_type": type_name, "_id": id, "found": false}));
    };
    let mut response =
        json!({"_index": index.name, "_type": stored.type_name(), "_id": id, "_version": version, "found": true});
    if let Value::Object(response) = &mut response {
        response.extend(contents(index, &stored, filter, fields, now)?);
    }
    Ok(response)
}

/// Fails if the document has a version other than the wanted one.
fn check_version(
    index: &Index,
    (type_name, id): (&str, &str),
    routing: Option<&str>,
    wanted: Option<u64>,
    found: Option<&Versioned>,
) -> Result<()> {
    match (wanted, found) {
        (Some(wanted), Some((version, _))) if wanted != *version => {
            let (number, _) = index.shard_of(id, routing)?;
            let reason = format!(
                "[{}][{number}] [{type_name}][{id}]: version conflict, current [{version}], provided [{wanted}]",
                index.name
            );
            Err(SearchError::new(409, "VersionConflictEngineException", reason))
        }
        _ => Ok(()),
    }
}

fn source_filter(request: &RestRequest) -> Option<SourceFilter> {
    let list = |name: [&str; 2]| {
        name.iter()
            .find_map(|name| request.param(name))
            .map(|text| names(&json!(text)))
    };
    let mut filter = request.param("_source").map(|text| SourceFilter::parse(&json!(text)));
    if let Some(include) = list(["_source_include", "_source_includes"]) {
        filter.get_or_insert_default().include = include;
    }
    if let Some(exclude) = list(["_source_exclude", "_source_excludes"]) {
        filter.get_or_insert_default().exclude = exclude;
    }
    filter
}

/// `GET|HEAD /index/type/id`.
pub(crate) fn get(shared: &Shared, request: &RestRequest, index: &str, type_name: &str, id: &str) -> Result<Answer> {
    let (index, mut found) = find(shared, index, type_name, id, placement(request).value())?;
    if request.param("realtime") == Some("false") {
        let (_, shard) = index.shard_of(id, placement(request).value())?;
        found = found.filter(|(_, stored)| {
            let place = shard.locate(stored.type_name(), id);
            place.is_some_and(|place| shard.view().place(place).is_some())
        });
    }
    let (wanted, version_type) = request.version()?;
    let wanted = wanted.filter(|_| version_type != VersionType::Force);
    check_version(
        &index,
        (type_name, id),
        placement(request).value(),
        wanted,
        found.as_ref(),
    )?;
    let status = if found.is_some() { 200 } else { 404 };
    let fields = request.param("fields").map(|text| names(&json!(text)));
    Ok(Answer::json(
        status,
        document_json(
            &index,
            type_name,
            id,
            found,
            source_filter(request).as_ref(),
            fields.as_deref(),
            shared.cluster.now(),
        )?,
    ))
}

/// `GET|HEAD /index/type/id/_source`.
pub(crate) fn source(shared: &Shared, request: &RestRequest, index: &str, type_name: &str, id: &str) -> Result<Answer> {
    let (index, found) = find(shared, index, type_name, id, placement(request).value())?;
    let missing = || Answer {
        status: 404,
        content: Content::Written(Vec::new()),
    };
    let Some((_, stored)) = found else {
        return Ok(missing());
    };
    let whole = crate::json::value(stored.source())?;
    let source = visible_source(&index.mapping(), stored.type_name(), &whole);
    Ok(source.map_or_else(missing, |source| {
        Answer::ok(source_filter(request).map_or_else(|| source.clone().into_owned(), |filter| filter.apply(&source)))
    }))
}

/// `GET|POST [/index[/type]]/_mget`.
pub(crate) fn mget(
    shared: &Shared,
    request: &RestRequest,
    index: Option<&str>,
    type_name: Option<&str>,
) -> Result<Answer> {
    json::derivable(request.body_or_source())?;
    let body = request.json()?.unwrap_or_default();
    let items: Vec<Value> = match (
        body.get("docs").and_then(Value::as_array),
        body.get("ids").and_then(Value::as_array),
    ) {
        (Some(docs), _) if docs.iter().any(|doc| !doc.is_object()) => {
            return Err(SearchError::illegal("docs array element should include an object"));
        }
        (None, Some(ids)) if ids.iter().any(|id| id.is_null() || id.is_array() || id.is_object()) => {
            return Err(SearchError::illegal("ids array element should only contain ids"));
        }
        (Some(docs), _) if !docs.is_empty() => docs.clone(),
        (None, Some(ids)) if !ids.is_empty() => ids.iter().map(|id| json!({"_id": id})).collect(),
        _ => {
            return Err(SearchError::new(
                400,
                "ActionRequestValidationException",
                "Validation Failed: 1: no documents to get;",
            ));
        }
    };
    let filter = source_filter(request);
    let default_fields = request.param("fields").map(|text| names(&json!(text)));
    let docs = items.iter().enumerate().map(|(at, item)| {
        let text = |key: &str| {
            item.get(key)
                .filter(|value| !value.is_null())
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        let missing = |what: &str| SearchError::validation(&format!("{what} is missing for doc {at}"));
        let index = text("_index")
            .or_else(|| index.map(str::to_owned))
            .ok_or_else(|| missing("index"))?;
        let type_name = text("_type")
            .or_else(|| type_name.map(str::to_owned))
            .unwrap_or_else(|| "_all".to_owned());
        let id = text("_id").ok_or_else(|| missing("id"))?;
        let own = item.get("_source").map(SourceFilter::parse);
        let fields = item.get("fields").map(names).or_else(|| default_fields.clone());
        let own_routing = text("_routing").or_else(|| text("routing"));
        let own_routing = own_routing.or_else(|| text("_parent")).or_else(|| text("parent"));
        let version = item
            .get("_version")
            .or_else(|| item.get("version"))
            .and_then(Value::as_u64);
        let routing = own_routing.as_deref().or(placement(request).value());
        let read = find(shared, &index, &type_name, &id, routing).and_then(|(index, found)| {
            check_version(&index, (&type_name, &id), routing, version, found.as_ref())?;
            let filter = own.as_ref().or(filter.as_ref());
            document_json(
                &index,
                &type_name,
                &id,
                found,
                filter,
                fields.as_deref(),
                shared.cluster.now(),
            )
        });
        Ok(read.unwrap_or_else(|error| json!({"_index": index, "_type": type_name, "_id": id, "error": error.reason})))
    });
    Ok(Answer::ok(json!({"docs": docs.collect::<Result<Vec<_>>>()?})))
}

/// `POST [/index[/type]]/_bulk`.
pub(crate) fn bulk(
    shared: &Shared,
    request: &RestRequest,
    index: Option<&str>,
    type_name: Option<&str>,
) -> Result<Answer> {
    check_write(request)?;
    let began = (shared.cluster.options.ticks)();
    let done = write::bulk(shared, index, type_name, request.body_or_source())?;
    for index in &done.touched {
        refresh(shared, request, index)?;
    }
    let took = (shared.cluster.options.ticks)().saturating_sub(began).as_millis();
    Ok(Answer {
        status: 200,
        content: Content::Written(done.answer(took)),
    })
}

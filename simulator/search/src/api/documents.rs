//! The APIs of single documents (index, get, update, delete), and bulk.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::search::check_preference;
use crate::cluster::{Index, refresh_shard};
use crate::error::{Result, SearchError};
use crate::find::{
    SourceFilter, check_loadable, extract, metadata_value, names, stored_values, value_of_source, visible_source,
};
use crate::index::{Condition, Stored, VersionType};
use crate::json;
use crate::mapping::{Kind, check_ttl, ttl_millis};
use crate::rest::{Answer, Content, RestRequest};
use crate::routing::Placement;
use crate::shared::Shared;
use crate::write::{self, SCRIPTS, WriteParameters, update_problems};

/// Returns the routing value and the parent of a request.
pub(super) fn placement(request: &RestRequest) -> Placement<'_> {
    Placement {
        routing: request.param("routing"),
        parent: request.param("parent"),
    }
}

fn condition(request: &RestRequest, create: bool) -> Result<Condition> {
    let (given, version_type) = request.version()?;
    check_write(request)?;
    if let Some(problem) = version_type.illegal_write(given) {
        return Err(SearchError::validation(&problem));
    }
    Ok(Condition {
        create,
        version: version_type.written(given),
        version_type,
    })
}

/// Returns the parameters of a write.
fn write_parameters(request: &RestRequest, condition: Condition) -> Result<WriteParameters<'_>> {
    let ttl = request.param("ttl").filter(|text| !text.is_empty());
    let ttl = ttl.map(|text| ttl_millis(&json!(text))).transpose()?;
    check_ttl(ttl)?;
    Ok(WriteParameters {
        placement: placement(request),
        condition,
        timestamp: request.param("timestamp"),
        ttl,
    })
}

/// Validates the parameters that all writes share.
pub(super) fn check_write(request: &RestRequest) -> Result<()> {
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

/// Refreshes a shard of a written index, or all of them, if the request has `refresh`.
fn refresh(shared: &Shared, request: &RestRequest, index: &str, shard: Option<u32>) -> Result<()> {
    let index = shared.cluster.index(index).filter(|_| request.flag("refresh"));
    match (index, shard) {
        (Some(index), Some(shard)) => refresh_shard(&index, shard),
        (Some(index), None) => crate::cluster::refresh(&[index]),
        (None, _) => Ok(()),
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
    let kind = request.param("op_type").filter(|_| !create);
    let is = |own: &str| kind.is_some_and(|kind| kind.eq_ignore_ascii_case(own));
    let parameters = write_parameters(request, condition(request, create || is("create"))?)?;
    if let Some(kind) = kind.filter(|_| !is("create") && !is("index")) {
        let reason = format!("opType [{kind}] not allowed, either [index] or [create] are allowed");
        return Ok(Answer::json(400, json!({"error": reason})));
    }
    let done = write::index_document(shared, index, type_name, id, parameters, request.body_or_source())?;
    refresh(shared, request, &done.index, done.shard)?;
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
    let (done, everywhere) = write::delete_document(
        shared,
        index,
        type_name,
        id,
        placement(request),
        condition(request, false)?,
    )?;
    refresh(shared, request, &done.index, done.shard)?;
    let status = if done.written.fresh { 200 } else { 404 };
    // A document that was deleted in every shard, and was in none, has the version that matches any.
    let version = match everywhere && !done.written.fresh {
        true => json!(-3),
        false => json!(done.written.version),
    };
    Ok(Answer::json(
        status,
        json!({
            "found": done.written.fresh,
            "_index": done.index,
            "_type": type_name,
            "_id": id,
            "_version": version,
        }),
    ))
}

/// `POST /index/type/id/_update`.
pub(crate) fn update(shared: &Shared, request: &RestRequest, index: &str, type_name: &str, id: &str) -> Result<Answer> {
    check_write(request)?;
    let retries = request.integer("retry_on_conflict")?;
    let retries = retries.and_then(|retries| u64::try_from(retries).ok()).unwrap_or(0);
    let (given, version_type) = request.version()?;
    let body = request.body_or_source();
    if !body.is_empty() && json::derivable(body).is_err() {
        return Err(SearchError::null_pointer());
    }
    let script = SCRIPTS.iter().find_map(|name| Some((*name, request.param(name)?)));
    let mut body = match (request.json()?, script) {
        (None, None) => return Err(SearchError::validation("script or doc is missing")),
        (body, _) => body.unwrap_or_else(|| json!({})),
    };
    if let (Some((name, script)), Value::Object(body)) = (script, &mut body) {
        body.entry(name).or_insert_with(|| script.into());
    }
    SearchError::validated(&update_problems(&body, given, version_type, retries)?)?;
    let condition = Condition {
        create: false,
        version: version_type.written(given),
        version_type,
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
    if !done.unchanged {
        refresh(shared, request, &done.indexed.index, done.indexed.shard)?;
    }
    let status = if done.indexed.written.fresh { 201 } else { 200 };
    let mut response =
        json!({"_index": done.indexed.index, "_type": type_name, "_id": id, "_version": done.indexed.written.version});
    if let Some(fields) = request.param("fields").filter(|fields| !fields.is_empty()) {
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

/// Returns the document with an id. If the type is `_all`, the document may have any type. A read that is not
/// `realtime` finds only refreshed documents, and `refreshes` their shard before.
pub(super) fn find(
    shared: &Shared,
    index: &str,
    (type_name, id): (&str, &str),
    routing: Option<&str>,
    (realtime, refreshes): (bool, bool),
) -> Result<(Arc<Index>, Option<Versioned>)> {
    let (index, routing) = &shared.cluster.readable(index, routing)?;
    let routing = routing.as_deref();
    let mapping = index.mapping();
    if routing.is_none() && mapping.needs_routing(type_name) {
        return Err(SearchError::routing_missing(&index.name, type_name, id));
    }
    let types: Vec<String> = if type_name == "_all" {
        mapping.type_names().map(str::to_owned).collect()
    } else {
        vec![type_name.to_owned()]
    };
    let (number, shard) = index.shard_of(id, routing)?;
    if refreshes && !realtime {
        refresh_shard(index, number)?;
    }
    let began = std::time::Instant::now();
    for type_name in &types {
        let found = match realtime {
            true => shard.get(type_name, id),
            false => shard.visible(type_name, id),
        };
        if let Some(found) = found? {
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
            if !filter.is_plain() {
                json::check_integers(stored.source(), &whole)?;
            }
            response.insert("_source".to_owned(), filter.apply(source));
        }
        // Elasticsearch filters what is not there.
        (Some(filter), None) if filter.enabled && !filter.is_plain() => return Err(SearchError::null_pointer()),
        (None, Some(source)) if wants_source => {
            response.insert("_source".to_owned(), source.clone().into_owned());
        }
        _ => {}
    }
    let mut taken = Map::new();
    for field in fields.into_iter().flatten().filter(|field| *field != "_source") {
        if let Some(value) = metadata_value(&mapping, stored, field, now) {
            taken.insert(field.clone(), value);
            continue;
        }
        // Fields that are not mapped, or not named in full, are not returned.
        let Some(own) = mapping.exact_field(field) else {
            if mapping.is_object_of(field, &[stored.type_name().to_owned()]) && mapping.field(field).is_none() {
                return Err(SearchError::illegal(format!("field [{field}] isn't a leaf field")));
            }
            continue;
        };
        let path = mapping.source_path(stored.type_name(), &own.name);
        let values: Vec<Value> = match source.as_deref() {
            _ if own.field_type.store => stored_values(&mapping, stored.type_name(), own, (&whole, stored.source())),
            Some(source) if own.field_type.kind != Kind::TokenCount => {
                check_loadable(stored.source(), &whole)?;
                let values = extract(source, path).into_iter().filter(|value| !value.is_object());
                let values = values.map(|value| value_of_source(&own.field_type, value));
                values.collect::<Result<_>>()?
            }
            _ => vec![],
        };
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
pub(super) fn document_json(
    index: &Index,
    type_name: Option<&str>,
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
pub(super) fn check_version(
    index: &Index,
    id: &str,
    routing: Option<&str>,
    wanted: Option<u64>,
    found: Option<&Versioned>,
) -> Result<()> {
    match (wanted, found) {
        (Some(wanted), Some((version, stored))) => {
            let (number, _) = index.shard_of(id, routing)?;
            index.check_version(number, stored.type_name(), id, (*version, wanted))
        }
        _ => Ok(()),
    }
}

/// Finds the document of a read, with the parameters of the request.
fn read(
    shared: &Shared,
    request: &RestRequest,
    index: &str,
    type_name: &str,
    id: &str,
) -> Result<(Arc<Index>, Option<Versioned>)> {
    let realtime = request.flag_or("realtime", true);
    let refreshes = request.flag("refresh");
    let routing = placement(request).value();
    let found = find(shared, index, (type_name, id), routing, (realtime, refreshes))?;
    check_preference(shared, request.param("preference"))?;
    Ok(found)
}

/// Returns the version that a document must have to be read.
pub(super) fn read_version((given, version_type): (Option<i64>, VersionType)) -> Result<Option<u64>> {
    if let Some(problem) = version_type.illegal_read(given) {
        return Err(SearchError::validation(&problem));
    }
    Ok(version_type
        .written(given)
        .filter(|_| version_type != VersionType::Force))
}

/// `GET|HEAD /index/type/id`.
pub(crate) fn get(shared: &Shared, request: &RestRequest, index: &str, type_name: &str, id: &str) -> Result<Answer> {
    // A check of existence ignores the version and the fields.
    let is_check = request.method == http::Method::HEAD;
    let given = if is_check {
        (None, VersionType::Internal)
    } else {
        request.version()?
    };
    let wanted = read_version(given)?;
    let (index, found) = read(shared, request, index, type_name, id)?;
    check_version(&index, id, placement(request).value(), wanted, found.as_ref())?;
    let status = if found.is_some() { 200 } else { 404 };
    let fields = request.param("fields").filter(|_| !is_check);
    let fields = fields.map(|text| names(&json!(text)));
    Ok(Answer::json(
        status,
        document_json(
            &index,
            Some(type_name),
            id,
            found,
            SourceFilter::of_params(&request.params).as_ref(),
            fields.as_deref(),
            shared.cluster.now(),
        )?,
    ))
}

/// `GET|HEAD /index/type/id/_source`.
pub(crate) fn source(shared: &Shared, request: &RestRequest, index: &str, type_name: &str, id: &str) -> Result<Answer> {
    let filter = SourceFilter::of_params(&request.params);
    if filter.as_ref().is_some_and(|filter| !filter.enabled) {
        return Err(SearchError::validation("fetching source can not be disabled"));
    }
    let (index, found) = read(shared, request, index, type_name, id)?;
    let missing = || Answer {
        status: 404,
        content: Content::Written(Vec::new()),
    };
    let Some((_, stored)) = found else {
        return Ok(missing());
    };
    let whole = crate::json::value(stored.source())?;
    let source = visible_source(&index.mapping(), stored.type_name(), &whole);
    // Elasticsearch returns what is not there.
    let source = source.ok_or_else(SearchError::null_pointer)?;
    if filter.as_ref().is_some_and(|filter| !filter.is_plain()) {
        json::check_integers(stored.source(), &whole)?;
    }
    let text = match (filter, source) {
        (Some(filter), source) => filter.apply(&source).to_string().into_bytes(),
        (None, Cow::Owned(source)) => source.to_string().into_bytes(),
        (None, Cow::Borrowed(_)) => stored.source().to_vec(),
    };
    Ok(Answer {
        status: 200,
        content: Content::Source(text),
    })
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
    let refreshes = request.flag("refresh");
    let done = write::bulk(shared, index, type_name, request.body_or_source(), refreshes)?;
    for (index, shard) in &done.touched {
        refresh(shared, request, index, *shard)?;
    }
    Ok(Answer {
        status: 200,
        content: Content::Written(done.answer(shared.cluster.took(began))),
    })
}

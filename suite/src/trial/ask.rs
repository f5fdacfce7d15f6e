//! The request of a case, in its world.

use http::Method;
use serde_json::{Value, json};

use super::world::{World, WorldError};
use crate::catalog::{Body, Case, Encoding, Row};
use crate::request::{Bindings, Media, Request, encode, merge};

/// Builds the request of a row. What it is to send may have to be read first.
pub(super) async fn request(world: &World<'_>, row: &Row) -> Result<Request, WorldError> {
    let case = &row.case;
    let bindings = bindings(world, row)?;
    let mut path = bindings.fill_path(&row.operation.path)?;
    if case.slash {
        path.push('/');
    }
    let mut request = Request::new(row.operation.method.clone(), path);
    request.credential = case.credential;
    for (name, value) in &case.headers {
        request.headers.push((name.clone(), bindings.fill(value)?));
    }
    for (name, value) in &case.query {
        request.query.push((name.clone(), bindings.fill(value)?));
    }
    request.accept = case.accept.clone();
    if let Some(body) = &case.body {
        request.body = Some(bytes(world, body, &request.path).await?.into());
        request.content_type = match case.content_type.as_deref() {
            None => Some("application/json".to_owned()),
            Some("none") => None,
            Some(media_type) => Some(media_type.to_owned()),
        };
    }
    Ok(request)
}

/// The names that a case may use: those of its world, and those of its request.
pub(super) fn bindings(world: &World<'_>, row: &Row) -> Result<Bindings, WorldError> {
    let case = &row.case;
    let mut bindings = world.bindings();
    let absent = bindings.get("absent")?.to_owned();
    if let Some(name) = name(case, world)? {
        bindings.bind(
            "name",
            if name == "absent" {
                absent.clone()
            } else {
                bindings.fill(&name)?
            },
        );
    }
    if let Some(namespace) = case.namespace.clone() {
        bindings.bind("namespace", if namespace == "absent" { absent } else { namespace });
    }
    bindings.bind("method", row.operation.method.as_str());
    bindings.bind("path", case.path.clone().unwrap_or_default());
    let root = row
        .operation
        .path
        .strip_suffix("/{path}")
        .unwrap_or(&row.operation.path);
    // Where a row does not say which object it is about, there is no root either.
    if let Ok(root) = bindings.fill_path(root) {
        bindings.bind("root", root);
    }
    Ok(bindings)
}

/// The name in the path: of the letter that the case says, or of the first object.
fn name(case: &Case, world: &World<'_>) -> Result<Option<String>, WorldError> {
    match &case.name {
        Some(name) if case.given.contains_key(name) => world.name_of(name).map(Some),
        Some(name) => Ok(Some(name.clone())),
        None => case.given.keys().next().map(|letter| world.name_of(letter)).transpose(),
    }
}

pub(super) async fn bytes(world: &World<'_>, body: &Body, path: &str) -> Result<String, WorldError> {
    if let Some(text) = &body.text {
        return Ok(text.clone());
    }
    let first = || world.bindings().get("a.name").map(|_| "a".to_owned());
    let (mut value, letter) = if let Some(letter) = &body.sample {
        (world.part(letter, crate::catalog::Part::Sample)?, letter.clone())
    } else if let Some(letter) = &body.current {
        (world.current(letter).await?, letter.clone())
    } else if body.resource {
        (
            world
                .must("reading what is to be replaced", &Request::new(Method::GET, path))
                .await?,
            first()?,
        )
    } else if let Some(parts) = &body.patch {
        let letter = first()?;
        let mut patch = json!({});
        for part in parts {
            merge(&mut patch, &world.part(&letter, *part)?);
        }
        (patch, letter)
    } else {
        (
            world
                .bindings()
                .fill_value(body.json.as_ref().unwrap_or(&Value::Null))?,
            String::new(),
        )
    };
    for part in &body.apply {
        merge(&mut value, &world.part(&letter, *part)?);
    }
    if let Some(set) = &body.set {
        merge(&mut value, &world.bindings().fill_value(set)?);
    }
    let media = match body.encoding {
        Encoding::Json => Media::Json,
        Encoding::Yaml => Media::Yaml,
    };
    encode(&value, media).map_err(WorldError::Row)
}

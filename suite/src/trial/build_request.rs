//! Builds the request of a case for its environment.

use http::Method;
use serde_json::{Value, json};

use super::environment::Environment;
use super::environment_error::EnvironmentError;
use crate::catalog::{Body, Case, CaseData, Encoding, Part};
use crate::request::{Bindings, Media, Request, encode, merge, operations};
use crate::target::all_values;

/// Builds the request of a case. Some bodies require reading an object first.
pub(super) async fn request(environment: &Environment<'_>, case: &Case) -> Result<Request, EnvironmentError> {
    let data = &case.data;
    let bindings = bindings(environment, case)?;
    let mut path = bindings.fill_path(&case.operation.path)?;
    if data.slash {
        path.push('/');
    }
    let method = match &data.method {
        Some(method) => method
            .parse()
            .map_err(|_| EnvironmentError::Case(format!("unknown method {method:?}")))?,
        None => case.operation.method.clone(),
    };
    let mut request = Request::new(method, path);
    request.credential = data.credential;
    for (name, values) in &data.headers {
        for value in values.all() {
            request.headers.push((name.clone(), bindings.fill(value)?));
        }
    }
    for (name, value) in &data.query {
        request.query.push((name.clone(), bindings.fill(value)?));
    }
    request.raw_query = data
        .raw_query
        .as_deref()
        .map(|query| bindings.fill(query))
        .transpose()?;
    request.accept = data.accept.clone();
    if let Some(body) = &data.body {
        request.body = Some(bytes(environment, body, &request.path).await?.into());
        request.content_type = match data.content_type.as_deref() {
            None => Some("application/json".to_owned()),
            Some("none") => None,
            Some(media_type) => Some(media_type.to_owned()),
        };
    }
    Ok(request)
}

/// Returns the names that the templates of a case may use: those of its environment and of its request.
pub(super) fn bindings(environment: &Environment<'_>, case: &Case) -> Result<Bindings, EnvironmentError> {
    let data = &case.data;
    let mut bindings = environment.bindings();
    let absent = bindings.get("absent")?.to_owned();
    if let Some(name) = name(data, environment)? {
        let filled = bindings.fill(&name)?;
        bindings.bind("name", if name == "absent" { absent.clone() } else { filled });
    }
    if let Some(namespace) = &data.namespace {
        let filled = bindings.fill(namespace)?;
        bindings.bind("namespace", if namespace == "absent" { absent } else { filled });
    }
    bindings.bind("method", case.operation.method.as_str());
    bindings.bind("path", bindings.fill(data.path.as_deref().unwrap_or_default())?);
    let template = &case.operation.path;
    let root = template.strip_suffix("/{path}").unwrap_or(template);
    // A case without an object has no root.
    if let Ok(root) = bindings.fill_path(root) {
        bindings.bind("root", root);
    }
    Ok(bindings)
}

/// Returns the name in the path: the one that the case gives, or that of its first object.
fn name(data: &CaseData, environment: &Environment<'_>) -> Result<Option<String>, EnvironmentError> {
    match &data.name {
        Some(name) if data.given.contains_key(name) => environment.name_of(name).map(Some),
        Some(name) => Ok(Some(name.clone())),
        None => data
            .given
            .keys()
            .next()
            .map(|letter| environment.name_of(letter))
            .transpose(),
    }
}

/// Returns parts of the sample file as one merge patch.
fn patch(environment: &Environment<'_>, letter: &str, parts: &[Part]) -> Result<Value, EnvironmentError> {
    let mut patch = json!({});
    for part in parts {
        merge(&mut patch, &environment.part(letter, *part)?);
    }
    Ok(patch)
}

/// Returns the bytes of a request body.
pub(super) async fn bytes(environment: &Environment<'_>, body: &Body, path: &str) -> Result<Vec<u8>, EnvironmentError> {
    if let Some(text) = &body.text {
        return Ok(environment.bindings().fill(text)?.into_bytes());
    }
    if let Some(count) = body.bytes {
        return Ok(all_values(count));
    }
    let first = || environment.bindings().get("a.name").map(|_| "a".to_owned());
    let (mut value, letter) = if let Some(letter) = &body.sample {
        (environment.part(letter, Part::Sample)?, letter.clone())
    } else if let Some(letter) = &body.current {
        (environment.current(letter).await?, letter.clone())
    } else if body.resource {
        (environment.must(&Request::new(Method::GET, path)).await?, first()?)
    } else if let Some(parts) = &body.patch {
        let letter = first()?;
        (patch(environment, &letter, parts)?, letter)
    } else if let Some(parts) = &body.operations {
        let letter = first()?;
        let current = environment.current(&letter).await?;
        (operations(&current, &patch(environment, &letter, parts)?), letter)
    } else {
        let literal = body.json.as_ref().unwrap_or(&Value::Null);
        (environment.bindings().fill_value(literal)?, String::new())
    };
    for part in &body.apply {
        merge(&mut value, &environment.part(&letter, *part)?);
    }
    if let Some(set) = &body.set {
        merge(&mut value, &environment.bindings().fill_value(set)?);
    }
    let media = match body.encoding {
        Encoding::Json => Media::Json,
        Encoding::Yaml => Media::Yaml,
    };
    encode(&value, media)
        .map(String::into_bytes)
        .map_err(EnvironmentError::Case)
}

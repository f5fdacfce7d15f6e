//! An answer against what its case expects, and the environment afterwards.

use serde_json::{Value, json};

use super::build_request;
use super::environment::{Environment, EnvironmentError};
use crate::catalog::profile::DeleteResult;
use crate::catalog::{After, Expect, ExpectedType, ObjectState, Media as Wanted, Part, PartialState, Profile, Case};
use crate::check::{self, Answer, Mismatch};
use crate::request::{Media, decode, merge};

/// The status code that a case expects.
pub(super) fn expected_status(case: &Case, profile: Profile) -> Result<u16, EnvironmentError> {
    match &case.data.expect.status {
        None if case.data.socket.is_some() => Ok(101),
        None => Ok(200),
        Some(word) => profile
            .status(word)
            .ok_or_else(|| EnvironmentError::Case(format!("{word:?} stands for no status"))),
    }
}

/// Everything about an answer that is not as the case expects.
pub(super) fn answer(
    environment: &Environment<'_>,
    case: &Case,
    profile: Profile,
    answer: &Answer,
) -> Result<Vec<Mismatch>, EnvironmentError> {
    let expect = &case.data.expect;
    let code = expected_status(case, profile)?;
    if answer.status != code {
        return Ok(vec![status(code, answer)]);
    }
    let outward = outward(environment, case, answer)?;
    if !outward.is_empty() || expect.media == Some(Wanted::Text) {
        return Ok(outward);
    }
    let (body, mut found) = match body(expect, answer) {
        Ok(body) => body,
        Err(mismatch) => return Ok(vec![mismatch]),
    };
    if code >= 400 && expect.expected_type == Some(ExpectedType::Any) {
        return Ok(found);
    }
    if code >= 400 {
        found.extend(check::refusal(code, expect.reason.as_deref(), &body));
        return Ok(found);
    }
    found.extend(outside(case, profile, &body));
    found.extend(inside(environment, case, &body)?);
    Ok(found)
}

/// What is wrong with the headers, and with the body as it was sent.
fn outward(environment: &Environment<'_>, case: &Case, answer: &Answer) -> Result<Vec<Mismatch>, EnvironmentError> {
    let expect = &case.data.expect;
    let mut found = Vec::new();
    if expect.headers.is_empty() && expect.texts.is_empty() {
        return Ok(found);
    }
    let bindings = build_request::bindings(environment, case)?;
    for (name, value) in &expect.headers {
        let wanted = bindings.fill(value)?;
        let came = answer.header(name).unwrap_or_else(|| "none".to_owned());
        if wanted != came {
            found.push(Mismatch::new(format!("header {name}"), wanted, came));
        }
    }
    let body = answer.text();
    for text in &expect.texts {
        let wanted = bindings.fill(text)?;
        if !body.contains(&wanted) {
            found.push(Mismatch::new("body", format!("a text that contains {wanted}"), &body));
        }
    }
    Ok(found)
}

/// The mismatch of a status code; it shows what the server said about it.
pub(super) fn status(code: u16, answer: &Answer) -> Mismatch {
    let told = http::StatusCode::from_u16(code).map_or_else(|_| code.to_string(), |status| status.to_string());
    let mut text = answer.text();
    if text.len() > 600 {
        text = text.chars().take(600).chain(['…']).collect();
    }
    Mismatch::new("status", told, format!("{}\n{text}", answer.status))
}

/// The body as a value, and what is wrong with how it is written.
fn body(expect: &Expect, answer: &Answer) -> Result<(Value, Vec<Mismatch>), Mismatch> {
    let mut found = Vec::new();
    let content_type = answer.content_type.clone().unwrap_or_default();
    let came = Media::of(&content_type);
    let wanted = match expect.media.unwrap_or(Wanted::Json) {
        Wanted::Json => Some((Media::Json, "application/json")),
        Wanted::Yaml => Some((Media::Yaml, "application/yaml")),
        Wanted::Any | Wanted::Text => None,
    };
    if let Some((media, name)) = wanted
        && came != Some(media)
    {
        found.push(Mismatch::new("content type", name, &content_type));
    }
    let media = came.or(wanted.map(|(media, _)| media)).unwrap_or(Media::Json);
    let text = answer.text();
    let value = decode(&text, media)
        .map_err(|reason| Mismatch::new("body", format!("{media:?}"), format!("{reason}\n{text}")))?;
    if wanted.is_some_and(|(media, _)| media == Media::Yaml) && text.trim_start().starts_with('{') {
        found.push(Mismatch::new("body", "YAML as people write it", text.clone()));
    }
    if expect.pretty && !check::is_pretty(&text) {
        found.push(Mismatch::new("layout", "indented lines", text));
    }
    Ok((value, found))
}

/// The type of an answer of success.
fn outside(case: &Case, profile: Profile, body: &Value) -> Option<Mismatch> {
    let kind = &case.kind;
    match case.data.expect.expected_type {
        Some(ExpectedType::Any) => None,
        Some(ExpectedType::Bound) if profile.binding_is_answered_with_binding() => check::result_type("Binding", "v1", body),
        Some(ExpectedType::Bound) => check::status_of_success(body),
        Some(expected_type) => match profile.delete_result(expected_type, &kind.name) {
            DeleteResult::Status => check::status_of_success(body),
            DeleteResult::Object => check::result_type(&kind.name, &kind.api_version, body),
            DeleteResult::List => check::result_type(&format!("{}List", kind.name), &kind.api_version, body),
        },
        None => {
            let result = case.operation.result.as_ref()?;
            check::result_type(&result.kind, &result.api_version, body)
        }
    }
}

/// What the answer holds.
fn inside(environment: &Environment<'_>, case: &Case, body: &Value) -> Result<Vec<Mismatch>, EnvironmentError> {
    let expect = &case.data.expect;
    let mut found = Vec::new();
    let bindings = build_request::bindings(environment, case)?;
    if !expect.object.is_empty() {
        found.extend(check::contains("object", &parts(environment, "a", &expect.object)?, body));
    }
    for part in &expect.unlike {
        let left_out = environment.part("a", *part)?;
        if check::contains("", &left_out, body).is_none() {
            found.push(Mismatch::new(
                "object",
                "something else than what was smuggled in",
                check::pretty(&left_out),
            ));
        }
    }
    if let Some(contained) = &expect.contains {
        found.extend(check::contains("object", &bindings.fill_value(contained)?, body));
    }
    if let Some(resources) = &expect.resources {
        found.extend(check::resources(resources, body));
    }
    if let Some(letter) = &expect.same {
        found.extend(same(environment, letter, body));
    }
    if let Some(letter) = &expect.newer {
        let older = bindings.get(&format!("{letter}.resourceVersion"))?.to_owned();
        let version = body
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if version.is_empty() || version == older {
            found.push(Mismatch::new(
                "/metadata/resourceVersion",
                format!("another one than {older}"),
                version,
            ));
        }
    }
    if let Some(stem) = &expect.generated {
        let stem = bindings.fill(stem)?;
        let name = body
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !name.starts_with(&stem) || name == stem {
            found.push(Mismatch::new(
                "/metadata/name",
                format!("{stem} and something more"),
                name,
            ));
        }
    }
    found.extend(
        expect
            .present
            .iter()
            .filter_map(|pointer| check::pointer_presence(pointer, true, body)),
    );
    found.extend(
        expect
            .types
            .iter()
            .filter_map(|(pointer, wanted)| check::of_type(pointer, *wanted, body)),
    );
    found.extend(
        expect
            .absent
            .iter()
            .filter_map(|pointer| check::pointer_presence(pointer, false, body)),
    );
    if let Some(letters) = &expect.items {
        let names = letters
            .iter()
            .map(|letter| environment.name_of(letter))
            .collect::<Result<Vec<_>, _>>()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        found.extend(check::items(&environment.prefix(), &names, &environment.written(), body));
    }
    if let Some(item) = &expect.some_item {
        let item = bindings.fill_value(item)?;
        let items = body.get("items").and_then(Value::as_array);
        if !items
            .into_iter()
            .flatten()
            .any(|each| check::contains("", &item, each).is_none())
        {
            found.push(Mismatch::new(
                "items",
                format!("one that contains {item}"),
                check::pretty(body),
            ));
        }
    }
    Ok(found)
}

/// Parts of the sample file, merged in their order.
fn parts(environment: &Environment<'_>, letter: &str, parts: &[Part]) -> Result<Value, EnvironmentError> {
    let mut whole = json!({});
    for part in parts {
        merge(&mut whole, &environment.part(letter, *part)?);
    }
    Ok(whole)
}

/// Whether an object is as it was last written; of a version that the trial did not write (a controller's), everything
/// but its metadata and status.
fn same(environment: &Environment<'_>, letter: &str, body: &Value) -> Option<Mismatch> {
    let last = environment.versions(letter).last().cloned().unwrap_or_default();
    let text = |pointer| {
        body.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let key = (text("/metadata/name"), text("/metadata/resourceVersion"));
    let about = format!("object {letter}");
    if key.1.is_empty() || environment.written().contains_key(&key) || last.get("status").is_none() {
        return check::equal(&about, &last, body);
    }
    let mutable = ["metadata", "status"];
    check::equal(
        &about,
        &check::without(&last, &mutable),
        &check::without(body, &mutable),
    )
}

/// What an object is to be afterwards.
pub(super) async fn afterwards(environment: &Environment<'_>, after: &After) -> Result<Option<(Mismatch, String)>, EnvironmentError> {
    let letter = match after {
        After::Contains(state) => &state.read,
        After::State(
            ObjectState::There(x) | ObjectState::Gone(x) | ObjectState::Leaving(x) | ObjectState::Unchanged(x) | ObjectState::Changed(x) | ObjectState::Status(x),
        ) => x,
    };
    let path = match after {
        After::Contains(PartialState { at: Some(path), .. }) => environment.bindings().fill(path)?,
        _ => environment.path_of(letter)?,
    };
    let (request, answer) = environment.read(path).await?;
    let object: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let found = match (after, answer.status) {
        (After::State(ObjectState::Gone(_) | ObjectState::Leaving(_)), 404) => None,
        (After::State(ObjectState::Gone(_)), _) => Some(status(404, &answer)),
        (_, code) if code != 200 => Some(status(200, &answer)),
        (After::State(ObjectState::Leaving(_)), _) => check::pointer_presence("/metadata/deletionTimestamp", true, &object),
        (After::State(ObjectState::There(_) | ObjectState::Unchanged(_)), _) => same(environment, letter, &object),
        (After::State(ObjectState::Changed(_)), _) => {
            check::contains("object", &parts(environment, letter, &[Part::Sample, Part::Change])?, &object)
        }
        (After::State(ObjectState::Status(_)), _) => check::contains("object", &environment.part(letter, Part::Status)?, &object),
        (After::Contains(state), _) => {
            check::contains("object", &environment.bindings().fill_value(&state.contains)?, &object)
        }
    };
    Ok(found.map(|mut mismatch| {
        mismatch.about = format!("afterwards, {}", mismatch.about);
        (mismatch, request.curl(environment.target().base()))
    }))
}

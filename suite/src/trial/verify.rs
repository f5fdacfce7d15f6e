//! An answer against what its row expects, and the world afterwards.

use serde_json::{Value, json};

use super::ask;
use super::world::{World, WorldError};
use crate::catalog::profile::Removed;
use crate::catalog::{After, Expect, Face, Kept, Media as Wanted, Part, PartialState, Profile, Row};
use crate::check::{self, Answer, Mismatch};
use crate::request::{Media, decode, merge};

/// The status code that a row expects.
pub(super) fn expected_status(row: &Row, profile: Profile) -> Result<u16, WorldError> {
    match &row.case.expect.status {
        None if row.case.socket.is_some() => Ok(101),
        None => Ok(200),
        Some(word) => profile
            .status(word)
            .ok_or_else(|| WorldError::Row(format!("{word:?} stands for no status"))),
    }
}

/// Everything about an answer that is not as the row expects.
pub(super) fn answer(
    world: &World<'_>,
    row: &Row,
    profile: Profile,
    answer: &Answer,
) -> Result<Vec<Mismatch>, WorldError> {
    let expect = &row.case.expect;
    let code = expected_status(row, profile)?;
    if answer.status != code {
        return Ok(vec![status(code, answer)]);
    }
    let outward = outward(world, row, answer)?;
    if !outward.is_empty() || expect.media == Some(Wanted::Text) {
        return Ok(outward);
    }
    let (body, mut found) = match body(expect, answer) {
        Ok(body) => body,
        Err(mismatch) => return Ok(vec![mismatch]),
    };
    if code >= 400 && expect.face == Some(Face::Any) {
        return Ok(found);
    }
    if code >= 400 {
        found.extend(check::refusal(code, expect.reason.as_deref(), &body));
        return Ok(found);
    }
    found.extend(outside(row, profile, &body));
    found.extend(inside(world, row, &body)?);
    Ok(found)
}

/// What is wrong with the headers, and with the body as it was sent.
fn outward(world: &World<'_>, row: &Row, answer: &Answer) -> Result<Vec<Mismatch>, WorldError> {
    let expect = &row.case.expect;
    let mut found = Vec::new();
    if expect.headers.is_empty() && expect.texts.is_empty() {
        return Ok(found);
    }
    let bindings = ask::bindings(world, row)?;
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
fn outside(row: &Row, profile: Profile, body: &Value) -> Option<Mismatch> {
    let kind = &row.kind;
    match row.case.expect.face {
        Some(Face::Any) => None,
        Some(Face::Bound) if profile.answers_bindings() => check::result_type("Binding", "v1", body),
        Some(Face::Bound) => check::status_of_success(body),
        Some(face) => match profile.removed(face, &kind.name) {
            Removed::Status => check::status_of_success(body),
            Removed::Object => check::result_type(&kind.name, &kind.api_version, body),
            Removed::List => check::result_type(&format!("{}List", kind.name), &kind.api_version, body),
        },
        None => {
            let result = row.operation.result.as_ref()?;
            check::result_type(&result.kind, &result.api_version, body)
        }
    }
}

/// What the answer holds.
fn inside(world: &World<'_>, row: &Row, body: &Value) -> Result<Vec<Mismatch>, WorldError> {
    let expect = &row.case.expect;
    let mut found = Vec::new();
    let bindings = ask::bindings(world, row)?;
    if !expect.object.is_empty() {
        found.extend(check::contains("object", &parts(world, "a", &expect.object)?, body));
    }
    for part in &expect.unlike {
        let left_out = world.part("a", *part)?;
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
        found.extend(same(world, letter, body));
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
            .filter_map(|pointer| check::lacks(pointer, true, body)),
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
            .filter_map(|pointer| check::lacks(pointer, false, body)),
    );
    if let Some(letters) = &expect.items {
        let names = letters
            .iter()
            .map(|letter| world.name_of(letter))
            .collect::<Result<Vec<_>, _>>()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        found.extend(check::items(&world.prefix(), &names, &world.written(), body));
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
fn parts(world: &World<'_>, letter: &str, parts: &[Part]) -> Result<Value, WorldError> {
    let mut whole = json!({});
    for part in parts {
        merge(&mut whole, &world.part(letter, *part)?);
    }
    Ok(whole)
}

/// Whether an object is as it was last written; of a version that the trial did not write (a controller's), everything
/// but its metadata and status.
fn same(world: &World<'_>, letter: &str, body: &Value) -> Option<Mismatch> {
    let last = world.versions(letter).last().cloned().unwrap_or_default();
    let text = |pointer| {
        body.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let key = (text("/metadata/name"), text("/metadata/resourceVersion"));
    let about = format!("object {letter}");
    if key.1.is_empty() || world.written().contains_key(&key) || last.get("status").is_none() {
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
pub(super) async fn afterwards(world: &World<'_>, after: &After) -> Result<Option<(Mismatch, String)>, WorldError> {
    let letter = match after {
        After::Contains(state) => &state.read,
        After::State(
            Kept::There(x) | Kept::Gone(x) | Kept::Leaving(x) | Kept::Unchanged(x) | Kept::Changed(x) | Kept::Status(x),
        ) => x,
    };
    let path = match after {
        After::Contains(PartialState { at: Some(path), .. }) => world.bindings().fill(path)?,
        _ => world.path_of(letter)?,
    };
    let (request, answer) = world.read(path).await?;
    let object: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let found = match (after, answer.status) {
        (After::State(Kept::Gone(_) | Kept::Leaving(_)), 404) => None,
        (After::State(Kept::Gone(_)), _) => Some(status(404, &answer)),
        (_, code) if code != 200 => Some(status(200, &answer)),
        (After::State(Kept::Leaving(_)), _) => check::lacks("/metadata/deletionTimestamp", true, &object),
        (After::State(Kept::There(_) | Kept::Unchanged(_)), _) => same(world, letter, &object),
        (After::State(Kept::Changed(_)), _) => {
            check::contains("object", &parts(world, letter, &[Part::Sample, Part::Change])?, &object)
        }
        (After::State(Kept::Status(_)), _) => check::contains("object", &world.part(letter, Part::Status)?, &object),
        (After::Contains(state), _) => {
            check::contains("object", &world.bindings().fill_value(&state.contains)?, &object)
        }
    };
    Ok(found.map(|mut mismatch| {
        mismatch.about = format!("afterwards, {}", mismatch.about);
        (mismatch, request.curl(world.target().base()))
    }))
}

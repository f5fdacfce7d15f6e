//! Comparison of the content of a successful response with what its case expects.

use serde_json::{Value, json};

use super::build_request;
use super::environment::Environment;
use super::environment_error::EnvironmentError;
use crate::catalog::{Document, Expect, Level, Part};
use crate::check::{self, Mismatch};
use crate::request::{Bindings, merge};

/// Returns the mismatches of the content.
pub(super) fn content(environment: &Environment<'_>, body: &Value) -> Result<Vec<Mismatch>, EnvironmentError> {
    let case = environment.case();
    let expect = &case.data.expect;
    let bindings = build_request::bindings(environment, case)?;
    let mut found = object(environment, expect, &bindings, body)?;
    found.extend(identity(expect, &bindings, body)?);
    let pointers = |pointers: &[String], present| {
        let check = |pointer: &String| check::pointer_presence(pointer, present, body);
        pointers.iter().filter_map(check).collect::<Vec<_>>()
    };
    found.extend(pointers(&expect.present, true));
    found.extend(pointers(&expect.absent, false));
    let of_type = |(pointer, wanted): (&String, &_)| check::of_type(pointer, *wanted, body);
    found.extend(expect.types.iter().filter_map(of_type));
    for (pointer, value) in &expect.differs {
        found.extend(check::differs(pointer, &bindings.fill_value(value)?, body));
    }
    found.extend(match expect.document {
        Some(Document::Version) => check::version(body),
        Some(Document::Addresses) => check::addresses(body),
        Some(Document::Description) => check::description(&case.described, body),
        None => Vec::new(),
    });
    if let Some(resources) = &expect.resources {
        found.extend(check::resources(resources, body));
    }
    if let Some(namespaced) = &expect.namespaced {
        found.extend(check::namespaced(namespaced, body));
    }
    found.extend(items(environment, expect, &bindings, body)?);
    Ok(found)
}

/// Returns the mismatches of the object's fields.
fn object(
    environment: &Environment<'_>,
    expect: &Expect,
    bindings: &Bindings,
    body: &Value,
) -> Result<Vec<Mismatch>, EnvironmentError> {
    let mut found = Vec::new();
    if !expect.object.is_empty() {
        found.extend(check::contains(
            "object",
            &parts(environment, "a", &expect.object)?,
            body,
        ));
    }
    for part in &expect.unlike {
        let left_out = environment.part("a", *part)?;
        if check::contains("", &left_out, body).is_none() {
            let actual = check::pretty(&left_out);
            found.push(Mismatch::new(
                "object",
                "a value other than the one that must be ignored",
                actual,
            ));
        }
    }
    if let Some(contained) = &expect.contains {
        found.extend(check::contains("object", &bindings.fill_value(contained)?, body));
    }
    if let Some(letter) = &expect.same {
        found.extend(same(environment, letter, body));
    }
    if let Some(letter) = &expect.like {
        // The response is the last known version. The version that it must equal is the first.
        let first = environment.versions(letter).first().cloned().unwrap_or_default();
        let about = "object without metadata and status";
        let ours = |object: &Value| check::without(object, &["metadata", "status"]);
        found.extend(check::equal(about, &ours(&first), &ours(body)));
    }
    Ok(found)
}

/// Returns the mismatches of the object's version and name.
fn identity(expect: &Expect, bindings: &Bindings, body: &Value) -> Result<Vec<Mismatch>, EnvironmentError> {
    let mut found = Vec::new();
    let text = |pointer| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if let Some(letter) = &expect.newer {
        let older = bindings.get(&format!("{letter}.resourceVersion"))?.to_owned();
        let version = text("/metadata/resourceVersion");
        if !check::is_later(version, &older) {
            let expected = format!("a version later than {older}");
            found.push(Mismatch::new("/metadata/resourceVersion", expected, version).at(Level::Should));
        }
    }
    if let Some(stem) = &expect.generated {
        let stem = bindings.fill(stem)?;
        let name = text("/metadata/name");
        if !name.starts_with(&stem) || name == stem {
            found.push(Mismatch::new("/metadata/name", format!("{stem} and a suffix"), name));
        }
    }
    Ok(found)
}

/// Returns the mismatches of the items of a list.
fn items(
    environment: &Environment<'_>,
    expect: &Expect,
    bindings: &Bindings,
    body: &Value,
) -> Result<Vec<Mismatch>, EnvironmentError> {
    let mut found = Vec::new();
    if let Some(letters) = &expect.items {
        let names = letters
            .iter()
            .map(|letter| environment.name_of(letter))
            .collect::<Result<Vec<_>, _>>()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        found.extend(check::items(
            &environment.prefix(),
            &names,
            &environment.written(),
            body,
        ));
    }
    if let Some(end) = &expect.some_name_ends {
        let end = bindings.fill(end)?;
        let items = body.get("items").and_then(Value::as_array);
        let name = |item: &Value| {
            item.pointer("/metadata/name")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let names: Vec<String> = items.into_iter().flatten().map(name).collect();
        if !names.iter().any(|name| name.ends_with(&end)) {
            let actual = format!("{} items, none with such a name", names.len());
            found.push(Mismatch::new(
                "items",
                format!("one whose name ends with {end}"),
                actual,
            ));
        }
    }
    if let Some(item) = &expect.some_item {
        let item = bindings.fill_value(item)?;
        let items = body.get("items").and_then(Value::as_array);
        if !items
            .into_iter()
            .flatten()
            .any(|each| check::contains("", &item, each).is_none())
        {
            let actual = check::pretty(&check::confined(body));
            found.push(Mismatch::new("items", format!("one that contains {item}"), actual));
        }
    }
    Ok(found)
}

/// Returns parts of the sample file, merged in order.
pub(super) fn parts(environment: &Environment<'_>, letter: &str, parts: &[Part]) -> Result<Value, EnvironmentError> {
    let mut whole = json!({});
    for part in parts {
        merge(&mut whole, &environment.part(letter, *part)?);
    }
    Ok(whole)
}

/// Checks that an object equals its last written version. If another client (a controller) has changed it since, its
/// version must be later, and its metadata or status must differ.
pub(super) fn same(environment: &Environment<'_>, letter: &str, body: &Value) -> Option<Mismatch> {
    let last = environment.versions(letter).last().cloned().unwrap_or_default();
    let version = |object: &Value| {
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        version.unwrap_or_default().to_owned()
    };
    let about = format!("object {letter}");
    let (written, actual) = (version(&last), version(body));
    if body.pointer("/metadata/name") != last.pointer("/metadata/name")
        || actual == written
        || !check::is_later(&actual, &written)
        || check::number(&actual).is_none()
    {
        return check::equal(&about, &last, body);
    }
    if !check::changed(&last, body) {
        let mismatch = Mismatch::new(format!("version of {about}"), written, actual);
        return Some(mismatch.at(Level::Should));
    }
    let ours = |object: &Value| check::without(object, &check::WRITTEN_BY_OTHERS);
    check::equal(&about, &ours(&last), &ours(body)).or_else(|| labels(&last, body))
}

/// Checks that two objects have the same labels, which no controller changes.
fn labels(last: &Value, body: &Value) -> Option<Mismatch> {
    let of = |object: &Value| object.pointer("/metadata/labels").cloned().unwrap_or_default();
    check::equal("/metadata/labels", &of(last), &of(body)).map(|mismatch| mismatch.at(Level::Should))
}

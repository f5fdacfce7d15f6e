//! Checks of the state of objects after the response.

use std::time::Duration;

use http::Method;
use serde_json::Value;

use super::environment::Environment;
use super::environment_error::EnvironmentError;
use super::{inspect, verify};
use crate::catalog::profile::ExpectedStatus;
use crate::catalog::{After, Case, Level, ObjectState, Part, PartialState, RefusedMethod};
use crate::check::{self, Answer, Mismatch, shown_body};
use crate::request::Request;

/// Interval between reads of a state that must be reached within a time limit.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the checks of a case: its own, and those that every write implies. A successful write can be read, and a
/// refused one changes nothing.
pub(super) fn checks(environment: &Environment<'_>, request: &Request, answer: &Answer) -> Vec<(After, Level)> {
    let data = &environment.case().data;
    let case: Vec<(After, Level)> = data.after.iter().map(|after| (after.clone(), Level::Must)).collect();
    let template = &environment.case().operation.path;
    let writes = [Method::POST, Method::PUT, Method::PATCH].contains(&request.method);
    let of_kind = environment
        .case()
        .kind
        .path
        .as_deref()
        .is_some_and(|path| template.starts_with(path));
    if data.needs_full_cluster()
        || !writes
        || !of_kind
        || !data.setup.is_empty()
        || data.race.is_some()
        || data.patches.is_some()
    {
        return case;
    }
    let Some((letter, precondition)) = data.given.first() else {
        return case;
    };
    let state = if answer.status >= 400 && precondition.later {
        ObjectState::Gone(letter.clone())
    } else if answer.status >= 400 && !environment.versions(letter).is_empty() {
        ObjectState::Unchanged(letter.clone())
    } else if addresses_objects(environment.case())
        && data.expect.generated.is_none()
        && !environment.versions(letter).is_empty()
    {
        ObjectState::There(letter.clone())
    } else {
        return case;
    };
    let mut checks = case;
    if !checks.iter().any(|(after, _)| *after == After::State(state.clone())) {
        checks.push((After::State(state), Level::Should));
    }
    checks
}

/// Checks all objects of the trial in their collection after a write: each is as it was last written, and there are no
/// others. Returns the mismatch and the curl line of the request that shows it.
pub(super) async fn check_collection(
    environment: &Environment<'_>,
    request: &Request,
) -> Result<Option<(Mismatch, String)>, EnvironmentError> {
    let case = environment.case();
    // Concurrent clients do not remember what they have written.
    let concurrent = case.data.race.is_some() || case.data.patches.is_some();
    if request.method == Method::GET || concurrent || case.data.needs_full_cluster() || !addresses_objects(case) {
        return Ok(None);
    }
    let path = environment.bindings().get("collection")?.to_owned();
    let (request, answer) = environment.read(path).await?;
    let Some(mut list) = serde_json::from_slice::<Value>(&answer.body)
        .ok()
        .filter(|_| answer.status == 200)
    else {
        return Ok(None);
    };
    // Controllers write to an object until it is removed.
    if case.kind.controlled
        && environment.target().has_controllers().await?
        && let Some(Value::Array(items)) = list.get_mut("items")
    {
        items.retain(|item| item.pointer("/metadata/deletionTimestamp").is_none());
    }
    // The audit of the responses checks which objects exist.
    let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
    let names = items.filter_map(|item| item.pointer("/metadata/name")?.as_str());
    let prefix = environment.prefix();
    let names: Vec<&str> = names.filter(|name| name.starts_with(&prefix)).collect();
    let wrong = check::items(&prefix, &names, &environment.written(), &list)
        .into_iter()
        .next();
    Ok(wrong.map(|mut mismatch| {
        mismatch.about = format!("afterwards, {}", mismatch.about);
        (mismatch.at(Level::Should), environment.target().curl(&request))
    }))
}

/// Returns whether the path of a case is a collection, an object or its status.
fn addresses_objects(case: &Case) -> bool {
    let (template, path) = (&case.operation.path, case.kind.path.as_deref());
    let of_object = template.ends_with("{name}") || template.ends_with("{name}/status") || path == Some(template);
    of_object && path.is_some_and(|path| template.starts_with(path))
}

/// Checks a state. Returns the mismatch and the curl line of the request that shows it.
pub(super) async fn check(
    environment: &Environment<'_>,
    after: &After,
) -> Result<Option<(Mismatch, String)>, EnvironmentError> {
    if let After::Contains(state) = after
        && !environment.serves(state.if_served.as_deref()).await?
    {
        return Ok(None);
    }
    let wait = match after {
        After::Contains(state) => Duration::from_secs(state.within),
        After::State(_) | After::Refused(_) => Duration::ZERO,
    };
    let deadline = tokio::time::Instant::now() + wait;
    loop {
        match read_all(environment, after).await? {
            Some(_) if tokio::time::Instant::now() < deadline => tokio::time::sleep(POLL_INTERVAL).await,
            found => return Ok(found),
        }
    }
}

async fn read_all(
    environment: &Environment<'_>,
    after: &After,
) -> Result<Option<(Mismatch, String)>, EnvironmentError> {
    let After::Contains(PartialState { each: Some(list), .. }) = after else {
        return read_once(environment, after).await;
    };
    let (request, answer) = environment.read(environment.bindings().fill(list)?).await?;
    let list: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let items = list.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    if items.is_empty() {
        let mismatch = Mismatch::new("afterwards, items", "at least one", shown_body(&answer));
        return Ok(Some((mismatch, environment.target().curl(&request))));
    }
    for item in items {
        let name = item.pointer("/metadata/name").and_then(Value::as_str);
        environment.save("each", name.unwrap_or_default().to_owned());
        let found = read_once(environment, after).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

async fn read_once(
    environment: &Environment<'_>,
    after: &After,
) -> Result<Option<(Mismatch, String)>, EnvironmentError> {
    let letter = match after {
        After::Refused(one) => return refused(environment, one).await,
        After::Contains(state) => &state.read,
        After::State(
            ObjectState::There(x)
            | ObjectState::Gone(x)
            | ObjectState::Leaving(x)
            | ObjectState::Unchanged(x)
            | ObjectState::Changed(x)
            | ObjectState::Status(x),
        ) => x,
    };
    let path = match after {
        After::Contains(PartialState { at: Some(path), .. }) => environment.bindings().fill(path)?,
        _ => environment.path_of(letter)?,
    };
    let (request, answer) = environment.read(path).await?;
    let object: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let unlike = |code| Some(verify::status(ExpectedStatus::Code(code), &answer));
    let found = match (after, answer.status) {
        (After::State(ObjectState::Gone(_) | ObjectState::Leaving(_)), 404) => None,
        (After::State(ObjectState::Gone(_)), _) => unlike(404),
        (After::Contains(PartialState { contains: None, .. }), 404) => None,
        (
            After::Contains(PartialState {
                contains: None,
                equal,
                present,
                absent,
                ..
            }),
            _,
        ) if equal.is_empty() && present.is_empty() && absent.is_empty() => unlike(404),
        (_, code) if code != 200 => unlike(200),
        (After::State(ObjectState::Leaving(_)), _) => {
            check::pointer_presence("/metadata/deletionTimestamp", true, &object)
        }
        (After::State(ObjectState::There(_) | ObjectState::Unchanged(_)), _) => {
            inspect::same(environment, letter, &object)
        }
        (After::State(ObjectState::Changed(_)), _) => {
            let changed = inspect::parts(environment, letter, &[Part::Sample, Part::Change])?;
            check::contains("object", &changed, &object)
        }
        (After::State(ObjectState::Status(_)), _) => {
            check::contains("object", &environment.part(letter, Part::Status)?, &object)
        }
        (After::Contains(state), _) => partial(environment, state, &object)?,
        (After::Refused(_), _) => None,
    };
    Ok(found.map(|mut mismatch| {
        mismatch.about = format!("afterwards, {}", mismatch.about);
        (mismatch, environment.target().curl(&request))
    }))
}

/// Checks that the target refuses a method at a path with 405.
async fn refused(
    environment: &Environment<'_>,
    RefusedMethod { at, refused: method }: &RefusedMethod,
) -> Result<Option<(Mismatch, String)>, EnvironmentError> {
    let unknown = |_| EnvironmentError::Case(format!("unknown method {method:?}"));
    let request = Request::new(method.parse().map_err(unknown)?, environment.bindings().fill(at)?);
    let answer = environment.target().send(&request).await?;
    let found = (answer.status != 405).then(|| verify::status(ExpectedStatus::Code(405), &answer));
    Ok(found.map(|mut mismatch| {
        mismatch.about = format!("afterwards, {} to {method}", mismatch.about);
        (mismatch, environment.target().curl(&request))
    }))
}

fn partial(
    environment: &Environment<'_>,
    state: &PartialState,
    object: &Value,
) -> Result<Option<Mismatch>, EnvironmentError> {
    if let Some(contains) = &state.contains {
        let expected = environment.bindings().fill_value(contains)?;
        if let Some(mismatch) = check::contains("object", &expected, object) {
            return Ok(Some(mismatch));
        }
    }
    for (pointer, text) in &state.equal {
        let (wanted, found) = (environment.bindings().fill(text)?, object.pointer(pointer));
        let found = match found {
            Some(Value::String(text)) => text.clone(),
            found => found.map(Value::to_string).unwrap_or_default(),
        };
        if wanted != found {
            return Ok(Some(Mismatch::new(pointer, wanted, found)));
        }
    }
    let found = |pointers: &[String], there| {
        let mut pointers = pointers.iter();
        pointers.find_map(|pointer| check::pointer_presence(pointer, there, object))
    };
    Ok(found(&state.present, true).or_else(|| found(&state.absent, false)))
}

//! Comparison of a response with what its case expects: status, headers, encoding, type, and the Status object of an
//! error.

use serde_json::Value;

use super::environment::Environment;
use super::environment_error::EnvironmentError;
use super::{build_request, inspect};
use crate::catalog::profile::{DeleteResult, ExpectedStatus};
use crate::catalog::{After, Case, Expect, ExpectedType, Level, Media as Wanted, ObjectState, Profile, Scope};
use crate::check::{self, Answer, Identity, Mismatch, shown_body};
use crate::request::{Media, Request, decode};
use crate::target::all_values;

/// Kinds and resources that an error can name in addition to the kind of its path, by a part of the path: bodies of
/// subresources, the pod of a binding, the endpoints behind a service, a namespace that does not exist.
const OTHER_KINDS: [(&str, &[&str]); 7] = [
    ("/scale", &["Scale"]),
    ("/rollback", &["DeploymentRollback"]),
    ("/binding", &["Binding", "Pod", "pods"]),
    ("/pods/", &["pods"]),
    ("/services/", &["services", "endpoints"]),
    ("/nodes/", &["nodes"]),
    ("", &["namespaces"]),
];

/// Returns the status that a case expects.
pub(super) fn expected_status(case: &Case, profile: Profile) -> Result<ExpectedStatus, EnvironmentError> {
    match &case.data.expect.status {
        None if case.data.socket.is_some() => Ok(ExpectedStatus::Code(101)),
        None => Ok(ExpectedStatus::Code(200)),
        Some(word) => profile
            .status(word)
            .ok_or_else(|| EnvironmentError::Case(format!("{word:?} is not a status"))),
    }
}

/// Returns the mismatches of a response.
pub(super) fn answer(
    environment: &Environment<'_>,
    profile: Profile,
    request: &Request,
    answer: &Answer,
) -> Result<Vec<Mismatch>, EnvironmentError> {
    let case = environment.case();
    let expect = &case.data.expect;
    let expected = expected_status(case, profile)?;
    if !expected.accepts(answer.status) {
        return Ok(vec![status(expected, answer)]);
    }
    let raw = raw_mismatches(environment, case, answer)?;
    if !raw.is_empty() || expect.media == Some(Wanted::Text) || expect.bytes.is_some() {
        return Ok(raw);
    }
    let (body, mut found) = match body(expect, answer) {
        Ok(body) => body,
        Err(mismatch) => return Ok(vec![mismatch]),
    };
    if expected.is_error() {
        if expect.expected_type != Some(ExpectedType::Any) {
            let reason = expect.reason.as_deref();
            let level = if expected == ExpectedStatus::Refused {
                Level::Should
            } else {
                Level::Must
            };
            let named = check::Named {
                names: names(case, request),
                kinds: kinds(case),
                whole: body_name(request).is_some() || request.method == http::Method::PATCH,
            };
            let status = check::error_status(answer.status, reason, &named, &expect.causes, &body);
            found.extend(status.into_iter().map(|mismatch| mismatch.at(level)));
        }
        return Ok(found);
    }
    found.extend(result_type(case, profile, answer.status, &body));
    found.extend(collected(environment, profile, &body)?);
    found.extend(system_fields(environment, request, &body)?);
    found.extend(inspect::content(environment, &body)?);
    if request.path.ends_with("/_search") {
        let mismatch = check::search_result(&body).or_else(|| check::search_hits(&body, &request.query));
        found.extend(mismatch.map(|mismatch| mismatch.at(Level::Should)));
    }
    Ok(found)
}

/// Returns the names that the details of an error may have: those in the path and in the body.
fn names(case: &Case, request: &Request) -> Vec<String> {
    // In v1.2, errors about kinds without a path have no details.
    if case.kind.path.is_none() {
        return Vec::new();
    }
    let mut names: Vec<String> = request.path.split(['/', ':']).map(str::to_owned).collect();
    names.retain(|name| !name.is_empty());
    let body: Value = request
        .body
        .as_ref()
        .and_then(|body| serde_json::from_slice(body).ok())
        .unwrap_or_default();
    for pointer in ["/metadata/name", "/metadata/namespace", "/name"] {
        names.extend(body.pointer(pointer).and_then(Value::as_str).map(str::to_owned));
    }
    names
}

/// Returns the values that the kind in the details of an error may have.
fn kinds(case: &Case) -> Vec<String> {
    let mut kinds = vec![
        case.kind.name.clone(),
        case.kind.plural.clone(),
        case.kind.name.to_lowercase(),
    ];
    let others = OTHER_KINDS
        .iter()
        .filter(|(part, _)| case.operation.path.contains(part));
    kinds.extend(others.flat_map(|(_, kinds)| *kinds).map(|kind| (*kind).to_owned()));
    kinds
}

/// Returns the name of the object in a request's body.
fn body_name(request: &Request) -> Option<String> {
    let body: Value = serde_json::from_slice(request.body.as_ref()?).ok()?;
    let name = body.pointer("/metadata/name")?.as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the mismatches of the headers and of the raw body.
fn raw_mismatches(
    environment: &Environment<'_>,
    case: &Case,
    answer: &Answer,
) -> Result<Vec<Mismatch>, EnvironmentError> {
    let expect = &case.data.expect;
    let mut found = Vec::new();
    let bindings = build_request::bindings(environment, case)?;
    for (name, value) in &expect.headers {
        let wanted = bindings.fill(value)?;
        let came = answer.header(name).unwrap_or_else(|| "none".to_owned());
        let fine = match (wanted.as_str(), wanted.strip_suffix('*')) {
            ("any", _) => came != "none",
            (_, Some(prefix)) => came.starts_with(prefix),
            _ => wanted == came,
        };
        if !fine {
            found.push(Mismatch::new(format!("header {name}"), wanted, came));
        }
    }
    let text = answer.text();
    for expected in &expect.texts {
        let wanted = bindings.fill(expected)?;
        if !text.contains(&wanted) {
            let expected = format!("a text that contains {wanted}");
            found.push(Mismatch::new("body", expected, shown_body(answer)));
        }
    }
    if let Some(pattern) = &expect.matches {
        let pattern = bindings.fill(pattern)?;
        let whole = regex::Regex::new(&format!("^(?:{pattern})$"))
            .map_err(|error| EnvironmentError::Case(format!("{pattern}: {error}")))?;
        if !whole.is_match(&text) {
            let expected = format!("a text that matches {pattern}");
            found.push(Mismatch::new("body", expected, shown_body(answer)));
        }
    }
    if let Some(count) = expect.bytes
        && answer.body != all_values(count)
    {
        let actual = format!("{} bytes, or different ones", answer.body.len());
        found.push(Mismatch::new(
            "body",
            format!("the {count} bytes that were sent"),
            actual,
        ));
    }
    Ok(found)
}

/// Returns the mismatch of a status code, with the body of the response.
pub(super) fn status(expected: ExpectedStatus, answer: &Answer) -> Mismatch {
    let expected = match expected {
        ExpectedStatus::Code(code) => {
            http::StatusCode::from_u16(code).map_or_else(|_| code.to_string(), |status| status.to_string())
        }
        ExpectedStatus::Refused => "an error".to_owned(),
    };
    Mismatch::new("status", expected, format!("{}\n{}", answer.status, shown_body(answer)))
}

/// Returns the decoded body, and the mismatches of its encoding.
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
    if !answer.is_encoded() {
        let encoding = answer.header("content-encoding").unwrap_or_default();
        found.push(Mismatch::new(
            "content encoding",
            "the actual encoding of the body",
            encoding,
        ));
    }
    let media = came.or(wanted.map(|(media, _)| media)).unwrap_or(Media::Json);
    let text = answer.text();
    let value = decode(&text, media).map_err(|reason| {
        Mismatch::new(
            "body",
            format!("{media:?}"),
            format!("{reason}\n{}", shown_body(answer)),
        )
    })?;
    if wanted.is_some_and(|(media, _)| media == Media::Yaml) && text.trim_start().starts_with('{') {
        found.push(Mismatch::new("body", "block YAML", shown_body(answer)));
    }
    if expect.pretty && !check::is_pretty(&text) {
        found.push(Mismatch::new("layout", "indented lines", "another layout"));
    }
    if expect.compact && !check::is_compact(&text) {
        found.push(Mismatch::new("layout", "one line", "several lines"));
    }
    Ok((value, found))
}

/// Returns the mismatches of the type of a successful response.
fn result_type(case: &Case, profile: Profile, status: u16, body: &Value) -> Vec<Mismatch> {
    let kind = &case.kind;
    let of = |name: &str, version: &str| check::result_type(name, version, body).into_iter().collect();
    match case.data.expect.expected_type {
        Some(ExpectedType::Any) => Vec::new(),
        Some(ExpectedType::Bound) if profile.binding_returns_binding() => of("Binding", "v1"),
        Some(ExpectedType::Bound) => check::status_of_success(status, body),
        Some(expected) => match profile.delete_result(expected, &kind.name) {
            DeleteResult::Status => check::status_of_success(status, body),
            DeleteResult::Object => of(&kind.name, &kind.api_version),
            DeleteResult::List => of(&format!("{}List", kind.name), &kind.api_version),
        },
        None => match &case.operation.result {
            Some(result) => of(&result.kind, &result.api_version),
            None => Vec::new(),
        },
    }
}

/// Returns the mismatches of the list that the deletion of a collection returns in some profiles: it must have the
/// objects that no longer exist afterwards.
fn collected(environment: &Environment<'_>, profile: Profile, body: &Value) -> Result<Vec<Mismatch>, EnvironmentError> {
    let case = environment.case();
    let gone = case.data.after.iter().filter_map(|after| match after {
        After::State(ObjectState::Gone(letter)) => Some(environment.name_of(letter)),
        _ => None,
    });
    let gone = gone.collect::<Result<Vec<_>, _>>()?;
    let lists = case.data.expect.expected_type == Some(ExpectedType::Collected)
        && profile.delete_result(ExpectedType::Collected, &case.kind.name) == DeleteResult::List;
    // Objects that were deleted before are not in the list.
    if !lists || gone.is_empty() || !case.data.before.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = gone.iter().map(String::as_str).collect();
    let found = check::items(&environment.prefix(), &names, &environment.written(), body);
    Ok(found.into_iter().map(|mismatch| mismatch.at(Level::Should)).collect())
}

/// Returns the mismatches of the system fields of an object, or of the metadata of a list.
fn system_fields(
    environment: &Environment<'_>,
    request: &Request,
    body: &Value,
) -> Result<Vec<Mismatch>, EnvironmentError> {
    let case = environment.case();
    let kind = body.get("kind").and_then(Value::as_str).unwrap_or_default();
    let namespaced = case.kind.scope() == Scope::Namespaced;
    let namespace = build_request::bindings(environment, case)?.get("namespace")?.to_owned();
    let exports = request
        .query
        .iter()
        .any(|(name, value)| name == "export" && value == "true");
    let of_kind = case.kind.path.as_deref().is_some_and(|path| {
        let of_all = path.replace("/namespaces/{namespace}", "");
        case.operation.path.starts_with(path) || case.operation.path == of_all
    });
    if exports || request.method == http::Method::DELETE || !of_kind {
        return Ok(Vec::new());
    }
    if kind == format!("{}List", case.kind.name) {
        let of_namespace = case.operation.path.contains("{namespace}") && namespaced;
        let namespace = of_namespace.then_some(namespace.as_str());
        return Ok(check::list_metadata(
            &request.path,
            namespace,
            &environment.latest(),
            body,
        ));
    }
    if kind != case.kind.name {
        return Ok(Vec::new());
    }
    let name = body
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (name, path) = match request.method {
        http::Method::POST => (name.to_owned(), format!("{}/{name}", request.path)),
        _ => {
            let in_path = build_request::bindings(environment, case)?;
            (in_path.get("name").unwrap_or(name).to_owned(), request.path.clone())
        }
    };
    let earlier = environment
        .last_of(&name)
        .filter(|_| request.method != http::Method::POST);
    let identity = Identity {
        name,
        namespace: namespaced.then_some(namespace),
        path,
    };
    let mut found = check::system_fields(&identity, body);
    found.extend(
        earlier
            .into_iter()
            .flat_map(|earlier| check::same_identity(&earlier, body)),
    );
    Ok(found)
}

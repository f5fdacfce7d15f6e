//! Validation of case data when the catalog is loaded.

use http::Method;

use super::expect::StatusWord;
use super::{Action, Body, CaseData, Kind, Need, Profile, Socket};

/// Returns an error if a case cannot be run.
pub(super) fn validate(kind: &Kind, case: &CaseData) -> Result<(), String> {
    if case.requirement.is_empty() {
        return Err("the case has no requirement".to_owned());
    }
    if let Some(word @ StatusWord::Word(text)) = &case.expect.status
        && Profile::Documented.status(word).is_none()
    {
        return Err(format!("unknown status word {text:?}"));
    }
    if case.body.as_ref().is_some_and(|body| sources(body) != 1) {
        return Err(
            "a body has exactly one of sample, current, resource, patch, operations, json, text and bytes".to_owned(),
        );
    }
    if !case.given.is_empty() && (kind.path.is_none() || kind.sample.is_none()) {
        return Err(format!("the kind {} has no sample", kind.name));
    }
    if let Some(socket) = &case.socket {
        validate_socket(case, socket)?;
    }
    let not_a_request = |request: &str| {
        request
            .split_once(' ')
            .is_none_or(|(method, _)| method.parse::<Method>().is_err())
    };
    if let Some(step) = case.setup.iter().find(|step| not_a_request(&step.request)) {
        return Err(format!("{:?} is not METHOD PATH", step.request));
    }
    if case.needs.contains(&Need::OtherGroup) && kind.other_group.is_none() {
        return Err(format!("the kind {} has no other group", kind.name));
    }
    let mut letters = case.before.iter().chain(&case.during).map(Action::letter);
    match letters.find(|letter| !case.given.contains_key(*letter)) {
        Some(unknown) => Err(format!("unknown object {unknown:?}")),
        None => Ok(()),
    }
}

fn validate_socket(case: &CaseData, socket: &Socket) -> Result<(), String> {
    if case.body.is_some() {
        return Err("a case with a socket must not have a body".to_owned());
    }
    if case.expect.events.is_some()
        && *socket
            != (Socket {
                origin: socket.origin,
                ..Socket::default()
            })
    {
        return Err("a watch over WebSocket must have events and no messages".to_owned());
    }
    if socket.exact && socket.ends != Some(true) {
        return Err("`exact` requires `ends: true`".to_owned());
    }
    if socket.spdy.is_empty() && socket.port.is_some() {
        return Err("`port` requires `spdy`".to_owned());
    }
    Ok(())
}

/// Counts the sources of a body that are set.
fn sources(body: &Body) -> usize {
    [
        body.sample.is_some(),
        body.current.is_some(),
        body.resource,
        body.patch.is_some(),
        body.operations.is_some(),
        body.json.is_some(),
        body.text.is_some(),
        body.bytes.is_some(),
    ]
    .into_iter()
    .filter(|set| *set)
    .count()
}

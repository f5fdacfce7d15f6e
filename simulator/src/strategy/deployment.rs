//! Rules for deployments and for rolling them back.

use serde_json::Value;

use super::replicaset;
use super::validate::cursor::{Cursor, Errors};
use super::validate::meta;
use super::validate::name::{self, NameRule};

/// Judges a deployment that is about to be made.
pub(super) fn create(deployment: &Cursor, errors: &mut Errors) {
    meta::create(&deployment.at("metadata"), true, NameRule::DnsSubdomain, errors);
    spec(&deployment.at("spec"), errors);
}

/// Judges a change.
pub(super) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    spec(&new.at("spec"), errors);
}

/// Judges a change of status.
pub(super) fn update_status(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    for name in [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "availableReplicas",
        "unavailableReplicas",
    ] {
        new.at("status").at(name).require_nonnegative(errors);
    }
}

/// Judges a request to roll back.
pub(super) fn rollback(request: &Cursor, errors: &mut Errors) {
    meta::annotations(&request.at("updatedAnnotations"), errors);
    let own = request.at("name");
    if own.text().is_empty() {
        errors.push(own.required("name is required"));
    }
    request
        .at("rollbackTo.revision")
        .shown_as(request.path(), "rollback.version")
        .require_nonnegative(errors);
}

fn spec(at: &Cursor, errors: &mut Errors) {
    replicaset::replicated(at, errors);
    strategy(&at.at("strategy"), errors);
    at.at("minReadySeconds").require_nonnegative(errors);
    at.at("revisionHistoryLimit").require_nonnegative(errors);
    at.at("rollbackTo.revision")
        .shown_as(at.path(), "rollback.version")
        .require_nonnegative(errors);
}

fn strategy(at: &Cursor, errors: &mut Errors) {
    let rolling = at.at("rollingUpdate");
    if !rolling.is_set() {
        return;
    }
    match at.at("type").text() {
        "Recreate" => errors.push(rolling.forbidden("may not be specified when strategy `type` is 'Recreate'")),
        "RollingUpdate" => rolling_update(&rolling, errors),
        _ => {}
    }
}

fn rolling_update(at: &Cursor, errors: &mut Errors) {
    let (unavailable, surge) = (at.at("maxUnavailable"), at.at("maxSurge"));
    for share in [&unavailable, &surge] {
        match share.value() {
            Value::String(text) if name::percent(text).is_none() => {
                errors.push(share.invalid(text.as_str(), "must be an integer or percentage (e.g '5%')"));
            }
            Value::String(_) => {}
            _ => share.require_nonnegative(errors),
        }
    }
    if [&unavailable, &surge].iter().all(|share| amount(share) == 0) {
        errors.push(unavailable.invalid(shown(&unavailable), "may not be 0 when `maxSurge` is 0"));
    }
    if name::percent(unavailable.text()).is_some_and(|percent| percent > 100) {
        errors.push(unavailable.invalid(unavailable.text(), "must not be greater than 100%"));
    }
}

/// The number in a number, a percentage, or the digits of a string; 0 where there is none.
fn amount(share: &Cursor) -> i64 {
    match share.value() {
        Value::String(text) => name::percent(text).unwrap_or_else(|| text.parse().unwrap_or_default()),
        _ => share.int(),
    }
}

fn shown(share: &Cursor) -> Value {
    match share.value() {
        Value::Null => 0.into(),
        value => value.clone(),
    }
}

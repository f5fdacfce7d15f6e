//! Deployments.

use serde_json::Value;

use super::action::Action;
use super::generic::Strategy;
use super::object::{add_annotations, keep, metadata_of, next_generation, prepare_generations, spec_differs};
use super::replicaset;
use super::scale::{Scale, SelectorForm};
use super::validate::cursor::{Cursor, Errors};
use super::validate::metadata;
use super::validate::name::{self, NameRule};
use crate::api::{FieldError, Object, Status, meta};
use crate::profile::Profile;
use crate::rng::Rng;

static SCALE: Scale = Scale {
    group_version: "extensions/v1beta1",
    target: None,
    selector: SelectorForm::LabelSelector,
};

/// Strategy of deployments.
pub(super) struct DeploymentStrategy;

impl Strategy for DeploymentStrategy {
    fn prepare_for_create(&self, deployment: &mut Object, _: &Rng) {
        prepare_generations(deployment);
    }

    fn validate(&self, deployment: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&deployment.at("metadata"), true, NameRule::DnsSubdomain, errors);
        spec(&deployment.at("spec"), errors);
    }

    /// A change of the annotations counts too, even from none to an empty map.
    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "status");
        let is_annotated = metadata_of(new).get("annotations") != metadata_of(old).get("annotations");
        if is_annotated || spec_differs(new, old) {
            next_generation(new, old);
        }
    }

    fn prepare_for_status_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "spec");
        keep(meta::metadata(new), metadata_of(old), "labels");
    }

    fn validate_update(&self, new: &Cursor, old: &Cursor, _: &str, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        spec(&new.at("spec"), errors);
    }

    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
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

    fn action(&self, subresource: Option<&str>) -> Option<&'static dyn Action> {
        (subresource == Some("rollback")).then_some(&Rollback as &dyn Action)
    }

    fn scale(&self) -> Option<&'static Scale> {
        Some(&SCALE)
    }
}

fn spec(at: &Cursor, errors: &mut Errors) {
    replicaset::replicated(at, errors);
    strategy(&at.at("strategy"), errors);
    at.at("minReadySeconds").require_nonnegative(errors);
    at.at("revisionHistoryLimit").require_nonnegative(errors);
    at.at("rollbackTo.revision")
        .reported_at(at.path(), "rollback.version")
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
        errors.push(unavailable.invalid(share_value(&unavailable), "may not be 0 when `maxSurge` is 0"));
    }
    if name::percent(unavailable.text()).is_some_and(|percent| percent > 100) {
        errors.push(unavailable.invalid(unavailable.text(), "must not be greater than 100%"));
    }
}

/// Value of a number, a percentage, or the digits of a string. Default: 0.
fn amount(share: &Cursor) -> i64 {
    match share.value() {
        Value::String(text) => name::percent(text).unwrap_or_else(|| text.parse().unwrap_or_default()),
        _ => share.int(),
    }
}

fn share_value(share: &Cursor) -> Value {
    match share.value() {
        Value::Null => 0.into(),
        value => value.clone(),
    }
}

/// Action that rolls a deployment back: sets `spec.rollbackTo` for the deployment controller.
struct Rollback;

impl Action for Rollback {
    fn body_kind(&self) -> (&'static str, &'static str) {
        ("extensions/v1beta1", "DeploymentRollback")
    }

    fn validate(&self, rollback: &Object, _: Profile) -> Result<(), Status> {
        let errors = rollback_errors(rollback);
        if errors.is_empty() {
            return Ok(());
        }
        let (_, kind) = self.body_kind();
        Err(Status::invalid("extensions", kind, self.name(rollback), &errors))
    }

    fn name<'a>(&self, rollback: &'a Object) -> &'a str {
        meta::text(rollback, "name")
    }

    fn apply(&self, rollback: &Object, deployment: &mut Object) -> Result<(), Status> {
        add_annotations(deployment, rollback, "updatedAnnotations");
        let target = rollback.get("rollbackTo").cloned();
        let target = target.unwrap_or_else(|| Value::Object(Object::new()));
        meta::child(deployment, "spec").insert("rollbackTo".into(), target);
        Ok(())
    }

    fn response(&self, profile: Profile) -> (u16, Option<Status>) {
        let (code, status) = profile.rollback_response();
        (code, Some(status))
    }
}

/// Validates a rollback request.
pub(super) fn rollback_errors(rollback: &Object) -> Vec<FieldError> {
    let request = Cursor::root(rollback);
    Errors::of(|errors| {
        metadata::annotations(&request.at("updatedAnnotations"), errors);
        let own = request.at("name");
        if own.text().is_empty() {
            errors.push(own.required("name is required"));
        }
        request
            .at("rollbackTo.revision")
            .reported_at(request.path(), "rollback.version")
            .require_nonnegative(errors);
    })
}

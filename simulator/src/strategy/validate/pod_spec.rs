//! Rules for the specification of a pod, its template, and its scheduling and host name annotations.

use super::cursor::{Cursor, Errors};
use super::{affinity, container, metadata, name, volumes};

/// Validates the pod specification at `at`.
pub(crate) fn validate(at: &Cursor, errors: &mut Errors) {
    let names = volumes::of_pod(&at.at("volumes"), errors);
    container::validate(&at.at("containers"), &names, errors);
    at.at("restartPolicy")
        .require_one_of(&["Always", "OnFailure", "Never"], errors);
    at.at("dnsPolicy").require_one_of(&["ClusterFirst", "Default"], errors);
    metadata::labels(&at.at("nodeSelector"), errors);
    security(at, errors);
    let mut account = at.at("serviceAccountName");
    if account.text().is_empty() {
        account = at.at("serviceAccount").reported_at(at.path(), "serviceAccountName");
    }
    for own in [account, at.at("nodeName")] {
        if let Some(Err(want)) = (!own.text().is_empty()).then(|| name::dns_subdomain(own.text())) {
            errors.push(own.invalid(own.text(), want));
        }
    }
    let deadline = at.at("activeDeadlineSeconds");
    if let Some(seconds) = deadline.optional_int().filter(|seconds| *seconds <= 0) {
        errors.push(deadline.invalid(seconds, "must be greater than 0"));
    }
}

fn security(spec: &Cursor, errors: &mut Errors) {
    if spec.at("hostNetwork").is_true() {
        for port in spec.at("containers").items().flat_map(|c| c.at("ports").items()) {
            let (inside, outside) = (port.at("containerPort"), port.at("hostPort"));
            if inside.int() != outside.int() {
                errors.push(inside.invalid(inside.int(), "must match `hostPort` when `hostNetwork` is true"));
            }
        }
    }
    let context = spec.at("securityContext");
    let numbers = [context.at("fsGroup"), context.at("runAsUser")]
        .into_iter()
        .chain(context.at("supplementalGroups").items());
    for at in numbers {
        if let Some((number, Err(want))) = at.optional_int().map(|number| (number, name::user_or_group(number))) {
            errors.push(at.invalid(number, want));
        }
    }
}

/// Validates the annotations at `at` that have a meaning for pods.
pub(crate) fn annotations(at: &Cursor, errors: &mut Errors) {
    affinity::validate(at, errors);
    for key in ["pod.beta.kubernetes.io/hostname", "pod.beta.kubernetes.io/subdomain"] {
        if let Some(Err(want)) = at
            .member(key)
            .map(|value| name::dns_label(value.as_str().unwrap_or_default()))
        {
            errors.push(at.invalid(key, want));
        }
    }
}

/// Validates the pod template at `at`. As in v1.2, labels and annotations are reported without `metadata` in their
/// path.
pub(crate) fn template(at: &Cursor, errors: &mut Errors) {
    metadata::labels(&at.at("metadata.labels").reported_at(at.path(), "labels"), errors);
    let notes = at.at("metadata.annotations").reported_at(at.path(), "annotations");
    metadata::annotations(&notes, errors);
    annotations(&notes, errors);
    validate(&at.at("spec"), errors);
}

/// Validates the template at `at` of `replicas` pods that are always restarted. `matched` is whether their
/// controller's selector matches the template.
pub(crate) fn replicated_template(at: &Cursor, matched: bool, replicas: i64, errors: &mut Errors) {
    if !matched {
        errors.push(mismatch(at));
    }
    template(at, errors);
    if replicas > 1 {
        volumes::shared_disks_are_read_only(&at.at("spec.volumes"), errors);
    }
    always_restarted(at, errors);
}

/// Error: the controller's selector does not match the labels of the template at `at`.
pub(crate) fn mismatch(at: &Cursor) -> crate::api::FieldError {
    let labels = at.at("metadata.labels");
    labels.invalid(
        super::internal_form::show(&super::internal_types::LABELS, labels.value()),
        "`selector` does not match template `labels`",
    )
}

/// Requires the restart policy `Always` in the template at `at`.
pub(crate) fn always_restarted(at: &Cursor, errors: &mut Errors) {
    let policy = at.at("spec.restartPolicy");
    if policy.text() != "Always" {
        errors.push(policy.not_supported(&["Always"]));
    }
}

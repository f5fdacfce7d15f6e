//! Rules for containers: names, ports, environment, mounts, probes, hooks, pull policies, security.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cursor::{Cursor, Errors};
use super::{name, pod_field, resources};
use crate::api::FieldError;

/// Protocols of ports.
pub(crate) const PROTOCOLS: &[&str] = &["TCP", "UDP"];

/// Validates the containers at `at`. `volumes` are the names of the pod's volumes.
pub(crate) fn validate(at: &Cursor, volumes: &BTreeSet<&str>, errors: &mut Errors) {
    if at.is_empty() {
        errors.push(at.required(""));
        return;
    }
    let mut names = BTreeSet::new();
    for container in at.items() {
        unique_label(&container.at("name"), &mut names, errors);
        one(&container, volumes, errors);
    }
    host_ports_are_unique(at, errors);
}

/// Requires a DNS label that is not in `seen`, and adds it.
fn unique_label<'a>(at: &Cursor<'a>, seen: &mut BTreeSet<&'a str>, errors: &mut Errors) {
    let text = at.text();
    if text.is_empty() {
        errors.push(at.required(""));
    } else {
        unique(at, name::dns_label, seen, errors);
    }
}

/// Requires a string that passes `rule` and is not in `seen`, and adds it.
fn unique<'a>(at: &Cursor<'a>, rule: fn(&str) -> name::RuleResult, seen: &mut BTreeSet<&'a str>, errors: &mut Errors) {
    let text = at.text();
    match rule(text) {
        Err(want) => errors.push(at.invalid(text, want)),
        Ok(()) if !seen.insert(text) => errors.push(FieldError::duplicate(at.path(), text)),
        Ok(()) => {}
    }
}

fn one(at: &Cursor, volumes: &BTreeSet<&str>, errors: &mut Errors) {
    at.at("image").require_text(errors);
    for hook in ["lifecycle.postStart", "lifecycle.preStop"] {
        let hook = at.at(hook);
        if hook.is_set() {
            handler(&hook, errors);
        }
    }
    let liveness = at.at("livenessProbe");
    probe(&liveness, errors);
    let successes = liveness.at("successThreshold");
    if liveness.is_set() && successes.int() != 1 {
        errors.push(successes.invalid(successes.int(), "must be 1"));
    }
    probe(&at.at("readinessProbe"), errors);
    ports(&at.at("ports"), errors);
    environment(&at.at("env"), errors);
    mounts(&at.at("volumeMounts"), volumes, errors);
    at.at("imagePullPolicy")
        .require_one_of(&["Always", "IfNotPresent", "Never"], errors);
    resources::requirements(&at.at("resources"), errors);
    security(&at.at("securityContext"), errors);
}

fn ports(at: &Cursor, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for port in at.items() {
        let own = port.at("name");
        if !own.text().is_empty() {
            unique(&own, name::port_name, &mut names, errors);
        }
        let (inside, outside) = (port.at("containerPort"), port.at("hostPort"));
        port_number(&inside, errors);
        if outside.int() != 0 {
            port_number(&outside, errors);
        }
        port.at("protocol").require_one_of(PROTOCOLS, errors);
    }
}

/// Requires a port number at `at`.
pub(crate) fn port_number(at: &Cursor, errors: &mut Errors) {
    if let Err(want) = name::port(at.int()) {
        errors.push(at.invalid(at.int(), want));
    }
}

/// Requires a port number or name at `at`. No value counts as number 0.
pub(crate) fn port_number_or_name(at: &Cursor, errors: &mut Errors) {
    match at.value() {
        Value::String(text) => {
            if let Err(want) = name::port_name(text) {
                errors.push(at.invalid(text.as_str(), want));
            }
        }
        _ => port_number(at, errors),
    }
}

/// Requires that no two containers at `at` use the same host port.
fn host_ports_are_unique(at: &Cursor, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for port in at.items().flat_map(|c| c.at("ports").items()) {
        let outside = port.at("hostPort");
        if outside.int() == 0 {
            continue;
        }
        let claim = format!("{}/{}", outside.int(), port.at("protocol").text());
        if !taken.insert(claim.clone()) {
            errors.push(FieldError::duplicate(outside.path(), claim));
        }
    }
}

fn environment(at: &Cursor, errors: &mut Errors) {
    for variable in at.items() {
        let own = variable.at("name");
        if own.text().is_empty() {
            errors.push(own.required(""));
        } else if let Err(want) = name::c_identifier(own.text()) {
            errors.push(own.invalid(own.text(), want));
        }
        value_source(&variable, errors);
    }
}

fn value_source(variable: &Cursor, errors: &mut Errors) {
    let from = variable.at("valueFrom");
    if !from.is_set() {
        return;
    }
    let mut sources = 0;
    let field = from.at("fieldRef");
    if field.is_set() {
        sources += 1;
        pod_field::reference(&field, pod_field::OF_ENVIRONMENT, errors);
    }
    for key in ["configMapKeyRef", "secretKeyRef"].map(|name| from.at(name)) {
        if key.is_set() {
            sources += 1;
            key_reference(&key, errors);
        }
    }
    if !variable.at("value").text().is_empty() {
        if sources != 0 {
            errors.push(from.invalid("", "may not be specified when `value` is not empty"));
        }
    } else if sources != 1 {
        errors.push(from.invalid("", "may not have more than one field specified at a time"));
    }
}

fn key_reference(at: &Cursor, errors: &mut Errors) {
    at.at("name").require_text(errors);
    let key = at.at("key");
    if key.text().is_empty() {
        errors.push(key.required(""));
    } else if let Err(want) = name::data_key(key.text()) {
        errors.push(key.invalid(key.text(), want));
    }
}

fn mounts(at: &Cursor, volumes: &BTreeSet<&str>, errors: &mut Errors) {
    let mut places = BTreeSet::new();
    for mount in at.items() {
        let (volume, place) = (mount.at("name"), mount.at("mountPath"));
        if volume.text().is_empty() {
            errors.push(volume.required(""));
        } else if !volumes.contains(volume.text()) {
            errors.push(FieldError::not_found(volume.path(), volume.text()));
        }
        if place.text().is_empty() {
            errors.push(place.required(""));
        } else if place.text().contains(':') {
            errors.push(place.invalid(place.text(), "must not contain ':'"));
        }
        if volumes.contains(volume.text()) && !places.insert(place.text()) {
            errors.push(place.invalid(place.text(), "must be unique"));
        }
    }
}

fn probe(at: &Cursor, errors: &mut Errors) {
    if !at.is_set() {
        return;
    }
    handler(at, errors);
    for name in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        at.at(name).require_nonnegative(errors);
    }
}

/// Requires exactly one handler at `at`.
fn handler(at: &Cursor, errors: &mut Errors) {
    let ways = ["exec", "httpGet", "tcpSocket"].map(|name| at.at(name));
    let mut given = ways.iter().enumerate().filter(|(_, way)| way.is_set());
    match given.next() {
        None => errors.push(at.required("must specify a handler type")),
        Some((0, way)) => exec(way, errors),
        Some((1, way)) => http_get(way, errors),
        Some((_, way)) => port_number_or_name(&way.at("port"), errors),
    }
    errors.extend(given.map(|(_, way)| way.forbidden("may not specify more than 1 handler type")));
}

fn exec(at: &Cursor, errors: &mut Errors) {
    let command = at.at("command");
    if command.is_empty() {
        errors.push(command.required(""));
    }
}

fn http_get(at: &Cursor, errors: &mut Errors) {
    at.at("path").require_text(errors);
    port_number_or_name(&at.at("port"), errors);
    let scheme = at.at("scheme");
    if !["HTTP", "HTTPS"].contains(&scheme.text()) {
        errors.push(scheme.invalid(scheme.text(), "must be one of [HTTP HTTPS]"));
    }
    let headers = at.at("httpHeaders");
    for header in headers.items() {
        let own = header.at("name").text();
        if let Err(want) = name::http_header_name(own) {
            errors.push(headers.invalid(own, want));
        }
    }
}

/// Rejects privileged containers, as a server without `--allow-privileged` does.
fn security(at: &Cursor, errors: &mut Errors) {
    let privileged = at.at("privileged");
    if privileged.is_true() {
        errors.push(privileged.forbidden("disallowed by policy"));
    }
    at.at("runAsUser").require_nonnegative(errors);
}

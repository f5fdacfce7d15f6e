//! Ingresses.

use serde_json::Value;

use super::generic::Strategy;
use super::object::{count_generation, prepare_generations};
use super::service;
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::{self, NameRule};
use super::validate::{container, metadata, posix_regex};
use crate::api::Object;
use crate::rng::Rng;

/// Strategy of ingresses.
pub(super) struct IngressStrategy;

impl Strategy for IngressStrategy {
    fn prepare_for_create(&self, ingress: &mut Object, _: &Rng) {
        prepare_generations(ingress);
    }

    fn validate(&self, ingress: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&ingress.at("metadata"), true, NameRule::DnsSubdomain, errors);
        spec(&ingress.at("spec"), errors);
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        count_generation(new, old);
    }

    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        spec(&new.at("spec"), errors);
    }

    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        service::load_balancer(&new.at("status.loadBalancer"), errors);
    }
}

fn spec(at: &Cursor, errors: &mut Errors) {
    let (default, rules) = (at.at("backend"), at.at("rules"));
    if default.is_set() {
        backend(&default, errors);
    } else if rules.is_empty() {
        errors.push(at.invalid(rules.value().clone(), "either `backend` or `rules` must be specified"));
    }
    // As in v1.2, errors below any rule are reported below the first one.
    let first = rules.path().index(0);
    for rule in rules.items() {
        host(&rule.at("host"), errors);
        let http = rule.at("http").reported_at(&first, "http");
        if http.is_set() {
            paths(&http, errors);
        }
    }
    for secret in at.at("tls").items().map(|tls| tls.at("secretName")) {
        secret.require_text(errors);
    }
}

fn host(at: &Cursor, errors: &mut Errors) {
    if at.text().is_empty() {
        return;
    }
    if let Err(want) = name::dns_subdomain(at.text()) {
        errors.push(at.invalid(at.text(), want));
    }
    if name::ip(at.text()).is_some() {
        errors.push(at.invalid(at.text(), "must be a DNS name, not an IP address"));
    }
}

/// As in v1.2, errors of every backend are reported directly below `http`, whatever its path.
fn paths(http: &Cursor, errors: &mut Errors) {
    let paths = http.at("paths");
    if paths.is_empty() {
        errors.push(paths.required(""));
    }
    for rule in paths.items() {
        let path = rule.at("path");
        if !path.text().is_empty() {
            if !path.text().starts_with('/') {
                errors.push(path.invalid(path.text(), "must be an absolute path"));
            }
            if !posix_regex::is_valid(path.text()) {
                errors.push(path.invalid(path.text(), "must be a valid regex"));
            }
        }
        backend(&rule.at("backend").reported_at(http.path(), "backend"), errors);
    }
}

fn backend(at: &Cursor, errors: &mut Errors) {
    let (service, port) = (at.at("serviceName"), at.at("servicePort"));
    if service.text().is_empty() {
        errors.push(service.required(""));
        return;
    }
    if let Err(want) = name::dns_952_label(service.text()) {
        errors.push(service.invalid(service.text(), want));
    }
    if let Value::String(text) = port.value()
        && let Err(want) = name::dns_label(text)
    {
        errors.push(port.invalid(text.as_str(), want));
    }
    container::port_number_or_name(&port, errors);
}

//! Endpoints.

use serde_json::Value;

use super::generic::Strategy;
use super::service;
use super::subsets::repack;
use super::validate::cursor::{Cursor, Errors};
use super::validate::go_json::{self, GoType};
use super::validate::name::{self, NameRule};
use super::validate::{container, metadata};
use crate::api::Object;

const HOST_NAMES: &str = "endpoints.beta.kubernetes.io/hostnames-map";
const RECORDS: GoType = GoType::Map(&GoType::Struct(
    "endpoints.HostRecord",
    &[("HostName", &GoType::Text("string"))],
));

/// Strategy of endpoints.
pub(super) struct EndpointsStrategy;

impl Strategy for EndpointsStrategy {
    fn validate(&self, endpoints: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&endpoints.at("metadata"), true, NameRule::DnsSubdomain, errors);
        host_names(endpoints, errors);
        subsets(&endpoints.at("subsets"), errors);
    }

    fn canonicalize(&self, endpoints: &mut Object) {
        repack(endpoints);
    }

    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        subsets(&new.at("subsets"), errors);
        host_names(new, errors);
    }
}

fn subsets(at: &Cursor, errors: &mut Errors) {
    for subset in at.items() {
        let (addresses, ports) = (subset.at("addresses"), subset.at("ports"));
        if addresses.is_empty() && subset.at("notReadyAddresses").is_empty() {
            errors.push(subset.required("must specify `addresses` or `notReadyAddresses`"));
        }
        if ports.is_empty() {
            errors.push(ports.required(""));
        }
        for ip in addresses.items().map(|address| address.at("ip")) {
            if name::ipv4(ip.text()).is_none() {
                errors.push(ip.invalid(ip.text(), "must be a valid IPv4 address"));
            } else {
                service::reachable(&ip, errors);
            }
        }
        for port in ports.items() {
            port_name(&port.at("name"), ports.len() > 1, errors);
            container::port_number(&port.at("port"), errors);
            port.at("protocol").require_one_of(container::PROTOCOLS, errors);
        }
    }
}

fn port_name(at: &Cursor, required: bool, errors: &mut Errors) {
    if at.text().is_empty() {
        if required {
            errors.push(at.required(""));
        }
    } else if let Err(want) = name::dns_label(at.text()) {
        errors.push(at.invalid(at.text(), want));
    }
}

/// Validates the host names of the addresses, which are JSON in an annotation.
fn host_names(endpoints: &Cursor, errors: &mut Errors) {
    let Some(text) = endpoints
        .at("metadata")
        .at("annotations")
        .member(HOST_NAMES)
        .and_then(Value::as_str)
    else {
        return;
    };
    if !go_json::decode(&RECORDS, text.as_bytes()).is_ok_and(|records| are_host_names(&records)) {
        let want = r#"must be a valid json representation of map[string(IP)][HostRecord] e.g. "{"10.245.1.6":{"HostName":"my-webserver"}}""#;
        errors.push(endpoints.at("annotations").invalid(HOST_NAMES, want));
    }
}

/// Whether `records` maps addresses to host names.
fn are_host_names(records: &Value) -> bool {
    let mut entries = records.as_object().into_iter().flatten();
    entries.all(|(address, record)| {
        let host = record.get("HostName").and_then(Value::as_str).unwrap_or_default();
        name::dns_label(host).is_ok() && name::ip(address).is_some()
    })
}

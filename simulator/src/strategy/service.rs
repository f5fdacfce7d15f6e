//! Services.

use std::collections::BTreeSet;
use std::net::IpAddr;

use futures::future::BoxFuture;
use serde_json::Value;

use super::allocation::{self, Allocation};
use super::context::Context;
use super::generic::Strategy;
use super::location::{Location, Lookup, NODE_AGENT_PORT, ObjectId, with_port};
use super::object::{drop_status, keep};
use super::resource_name::ResourceName;
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::{self, NameRule};
use super::validate::{container, internal_form, internal_types, metadata};
use crate::api::{FieldError, Object, Reason, Status, meta};
use crate::rng::Rng;

const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const SERVICES: ResourceName = ResourceName::core("services");
const ENDPOINTS: ResourceName = ResourceName::core("endpoints");

/// Strategy of services.
pub(super) struct ServiceStrategy;

impl Strategy for ServiceStrategy {
    fn prepare_for_create(&self, service: &mut Object, _: &Rng) {
        drop_status(service);
    }

    fn validate(&self, service: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&service.at("metadata"), true, NameRule::Dns952Label, errors);
        let spec = service.at("spec");
        ports(&spec, errors);
        metadata::labels(&spec.at("selector"), errors);
        spec.at("sessionAffinity").require_one_of(&["ClientIP", "None"], errors);
        let address = spec.at("clusterIP");
        if has_address(&spec) && name::ip(address.text()).is_none() {
            errors.push(address.invalid(address.text(), "must be empty, 'None', or a valid IP address"));
        }
        for external in spec.at("externalIPs").items() {
            if external.text() == "0.0.0.0" {
                errors.push(external.invalid(external.text(), "must be a valid IP address"));
            }
            reachable(&external, errors);
        }
        spec.at("type")
            .require_one_of(&["ClusterIP", "LoadBalancer", "NodePort"], errors);
        match spec.at("type").text() {
            "LoadBalancer" => balanced_protocols(&spec.at("ports"), errors),
            "ClusterIP" => no_node_ports(&spec.at("ports"), errors),
            _ => {}
        }
        node_ports_are_unique(&spec.at("ports"), errors);
        source_ranges(&service.at("metadata").at("annotations"), errors);
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "status");
    }

    /// An assigned cluster IP is immutable.
    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        if has_address(&old.at("spec")) {
            metadata::immutable_text(&new.at("spec").at("clusterIP"), &old.at("spec").at("clusterIP"), errors);
        }
        self.validate(new, group, errors);
    }

    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        load_balancer(&new.at("status.loadBalancer"), errors);
    }

    fn validates_before_version(&self) -> bool {
        true
    }

    fn allocate(&self, context: &Context, service: &mut Object, old: Option<&Object>) -> Result<Allocation, Status> {
        context.allocator.allocate(service, old)
    }

    fn free(&self, context: &Context, service: &Object) {
        context.allocator.free(service);
    }

    fn claim_names(&self, service: &Object) -> Vec<String> {
        allocation::claim_names(service)
    }

    fn allocates(&self) -> bool {
        true
    }

    fn restore(&self, context: &Context, service: &Object) {
        context.allocator.restore(service);
    }

    fn ignores_delete_options(&self) -> bool {
        true
    }

    fn dependent(&self) -> Option<ResourceName> {
        Some(ResourceName::core("endpoints"))
    }

    fn export(&self, service: &mut Object, exact: bool, _: &Rng) -> Result<(), Status> {
        drop_status(service);
        if !exact {
            drop_addresses(meta::child(service, "spec"));
        }
        Ok(())
    }

    fn quota_resources(&self) -> &'static [&'static str] {
        &["services"]
    }

    fn location<'a>(
        &'a self,
        objects: &'a dyn Lookup,
        object: ObjectId<'a>,
    ) -> BoxFuture<'a, Result<Location, Status>> {
        Box::pin(locate(objects, object))
    }

    fn has_proxy_path_parameter(&self) -> bool {
        true
    }
}

/// Location of a service: the ready addresses of its endpoints, with a port that the id gives by number or name.
async fn locate(objects: &dyn Lookup, object: ObjectId<'_>) -> Result<Location, Status> {
    let unavailable = |message: String| Status::new(Reason::ServiceUnavailable, message);
    let parts = object.parts("service")?;
    let name = parts.name;
    let mut wanted = parts.port.to_owned();
    if let Ok(number) = parts.port.parse::<i64>() {
        let service = object.find(objects, SERVICES, name).await?;
        let named = Cursor::root(&service)
            .at("spec.ports")
            .items()
            .find(|port| port.at("port").optional_int() == Some(number))
            .map(|port| port.at("name").text().to_owned());
        wanted = named.ok_or_else(|| unavailable(format!("no service port {number} found for service {name:?}")))?;
    }
    let endpoints = object.find(objects, ENDPOINTS, name).await?;
    let subsets = Cursor::root(&endpoints).at("subsets");
    if subsets.is_empty() {
        return Err(unavailable(format!("no endpoints available for service {name:?}")));
    }
    let mut hosts = Vec::new();
    for subset in subsets.items() {
        let named = subset.at("ports").items().find(|port| port.at("name").text() == wanted);
        if let Some(port) = named.and_then(|port| port.at("port").optional_int()) {
            let addresses = subset.at("addresses");
            let addresses = addresses.items().map(|address| address.at("ip").text());
            hosts.extend(addresses.map(|address| with_port(address, &port.to_string())));
        }
    }
    if hosts.is_empty() {
        return Err(unavailable(format!(
            "no endpoints available for service {:?}",
            object.id
        )));
    }
    Ok(Location {
        scheme: parts.scheme.to_owned(),
        hosts,
        key: format!("{name}:{wanted}"),
    })
}

fn has_address(spec: &Cursor) -> bool {
    !["", "None"].contains(&spec.at("clusterIP").text())
}

fn ports(spec: &Cursor, errors: &mut Errors) {
    let ports = spec.at("ports");
    if ports.is_empty() && spec.at("clusterIP").text() != "None" {
        errors.push(ports.required(""));
    }
    if spec.at("type").text() == "LoadBalancer" {
        for port in ports.items().filter(|port| port.at("port").int() == NODE_AGENT_PORT) {
            errors.push(port.invalid(
                NODE_AGENT_PORT,
                "may not expose port 10250 externally since it is used by kubelet",
            ));
        }
    }
    let mut names = BTreeSet::new();
    for port in ports.items() {
        port_name(&port.at("name"), ports.len() > 1, &mut names, errors);
        container::port_number(&port.at("port"), errors);
        port.at("protocol").require_one_of(container::PROTOCOLS, errors);
        container::port_number_or_name(&port.at("targetPort"), errors);
    }
}

fn port_name<'a>(at: &Cursor<'a>, required: bool, seen: &mut BTreeSet<&'a str>, errors: &mut Errors) {
    let text = at.text();
    if text.is_empty() {
        if required {
            errors.push(at.required(""));
        }
        return;
    }
    match name::dns_label(text) {
        Err(want) => errors.push(at.invalid(text, want)),
        Ok(()) if !seen.insert(text) => errors.push(FieldError::duplicate(at.path(), text)),
        Ok(()) => {}
    }
}

/// Requires an address at `at` that is neither loopback nor link-local.
pub(super) fn reachable(at: &Cursor, errors: &mut Errors) {
    let text = at.text();
    let Some(address) = name::ip(text) else {
        errors.push(at.invalid(text, "must be a valid IP address"));
        return;
    };
    let address = address.to_canonical();
    let (link_unicast, link_multicast) = match address {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), v6.segments()[0] & 0xff0f == 0xff02),
    };
    for (bad, range) in [
        (address.is_loopback(), "loopback range (127.0.0.0/8)"),
        (link_unicast, "link-local range (169.254.0.0/16)"),
        (link_multicast, "link-local multicast range (224.0.0.0/24)"),
    ] {
        if bad {
            errors.push(at.invalid(text, format!("may not be in the {range}")));
        }
    }
}

fn balanced_protocols(ports: &Cursor, errors: &mut Errors) {
    let mut found = Vec::new();
    for protocol in ports.items().map(|port| port.at("protocol")) {
        let text = protocol.text();
        if !container::PROTOCOLS.contains(&text) {
            errors.push(protocol.invalid(text, "cannot create an external load balancer with non-TCP/UDP ports"));
        } else if !found.contains(&text) {
            found.push(text);
        }
    }
    if found.len() > 1 {
        errors.push(ports.invalid(
            internal_form::show(&internal_types::SERVICE_PORTS, ports.value()),
            "cannot create an external load balancer with mix protocols",
        ));
    }
}

fn no_node_ports(ports: &Cursor, errors: &mut Errors) {
    for node_port in ports
        .items()
        .map(|port| port.at("nodePort"))
        .filter(|node_port| node_port.int() != 0)
    {
        errors.push(node_port.invalid(node_port.int(), "may not be used when `type` is 'ClusterIP'"));
    }
}

fn node_ports_are_unique(ports: &Cursor, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for port in ports.items() {
        let node_port = port.at("nodePort");
        if node_port.int() == 0 {
            continue;
        }
        let claim = (port.at("protocol").text(), node_port.int());
        if !taken.insert(claim) {
            errors.push(FieldError::duplicate(node_port.path(), node_port.int()));
        }
    }
}

/// Validates the source ranges of a load balancer, which are in one of the annotations at `at`.
fn source_ranges(at: &Cursor, errors: &mut Errors) {
    let text = at.member(SOURCE_RANGES).and_then(Value::as_str).unwrap_or_default();
    if !text.trim().is_empty() && !text.split(',').all(|block| name::is_cidr(block.trim())) {
        let want = "must be a comma separated list of CIDRs e.g. 192.168.0.0/16,10.0.0.0/8";
        errors.push(FieldError::invalid(&at.path().key(SOURCE_RANGES), text, want));
    }
}

/// Validates the status of a load balancer at `at`.
pub(super) fn load_balancer(at: &Cursor, errors: &mut Errors) {
    for ingress in at.at("ingress").items() {
        let (address, host) = (ingress.at("ip"), ingress.at("hostname"));
        if !address.text().is_empty() && name::ip(address.text()).is_none() {
            errors.push(address.invalid(address.text(), "must be a valid IP address"));
        }
        if host.text().is_empty() {
            continue;
        }
        if let Err(want) = name::dns_subdomain(host.text()) {
            errors.push(host.invalid(host.text(), want));
        }
        if name::ip(host.text()).is_some() {
            errors.push(host.invalid(host.text(), "must be a DNS name, not an IP address"));
        }
    }
}

/// Removes the addresses and node ports that this cluster has allocated.
fn drop_addresses(spec: &mut Object) {
    if spec.get("clusterIP").and_then(Value::as_str) != Some("None") {
        spec.insert("clusterIP".into(), "<unknown>".into());
    }
    if spec.get("type").and_then(Value::as_str) == Some("NodePort")
        && let Some(ports) = spec.get_mut("ports").and_then(Value::as_array_mut)
    {
        for port in ports.iter_mut().filter_map(Value::as_object_mut) {
            port.shift_remove("nodePort");
        }
    }
}

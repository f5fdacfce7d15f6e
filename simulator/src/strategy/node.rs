//! Nodes.

use std::collections::BTreeSet;

use futures::future::BoxFuture;

use super::generic::Strategy;
use super::location::{Location, Lookup, NODE_AGENT_PORT, ObjectId, with_port};
use super::object::{drop_status, keep};
use super::resource_name::ResourceName;
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{internal_form, internal_types, metadata};
use crate::api::{FieldError, Object, Path, Reason, Status};
use crate::rng::Rng;

/// Resource of nodes.
pub(crate) const NODES: ResourceName = ResourceName::core("nodes");

/// Strategy of nodes.
pub(super) struct NodeStrategy;

impl Strategy for NodeStrategy {
    fn validate(&self, node: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&node.at("metadata"), false, NameRule::DnsSubdomain, errors);
        node.at("spec.externalID").require_text(errors);
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        self.validate_status_update(new, old, errors);
    }

    /// Identity and pod address range are immutable. Addresses must be unique.
    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        let mut seen = BTreeSet::new();
        for address in new.at("status.addresses").items() {
            if !seen.insert((address.at("type").text(), address.at("address").text())) {
                errors.push(FieldError::duplicate(
                    address.path(),
                    internal_form::show(&internal_types::NODE_ADDRESS, address.value()),
                ));
            }
        }
        let (range, before) = (new.at("spec.podCIDR"), old.at("spec.podCIDR").text());
        let range_changed = !before.is_empty() && before != range.text();
        if range_changed {
            errors.push(range.forbidden("node updates may not change podCIDR except from \"\" to valid"));
        }
        if range_changed
            || !internal_form::same(
                &internal_types::NODE_IDENTITY,
                new.at("spec").value(),
                old.at("spec").value(),
            )
        {
            errors.push(FieldError::forbidden(
                &Path::new("[]"),
                "node updates may only change labels or capacity",
            ));
        }
    }

    fn export(&self, node: &mut Object, exact: bool, _: &Rng) -> Result<(), Status> {
        if !exact {
            drop_status(node);
        }
        Ok(())
    }

    fn location<'a>(
        &'a self,
        objects: &'a dyn Lookup,
        object: ObjectId<'a>,
    ) -> BoxFuture<'a, Result<Location, Status>> {
        Box::pin(locate(objects, object))
    }
}

/// Location of a node: its internal address, by default with its kubelet's port, which uses TLS.
async fn locate(objects: &dyn Lookup, object: ObjectId<'_>) -> Result<Location, Status> {
    let parts = object.parts("node")?;
    let node = object.find(objects, NODES, parts.name).await?;
    let status = Cursor::root(&node).at("status");
    let addresses: Vec<Cursor> = status.at("addresses").items().collect();
    let address = ["LegacyHostIP", "InternalIP"]
        .iter()
        .find_map(|kind| addresses.iter().find(|address| address.at("type").text() == *kind));
    let Some(address) = address.map(|address| address.at("address").text()) else {
        let known = addresses
            .iter()
            .map(|a| format!("{{{} {}}}", a.at("type").text(), a.at("address").text()));
        let known: Vec<String> = known.collect();
        let message = format!("host IP unknown; known addresses: [{}]", known.join(" "));
        return Err(Status::new(Reason::Unknown, message));
    };
    if !parts.port.is_empty() && parts.port != NODE_AGENT_PORT.to_string() {
        return Ok(Location::of_host(parts.scheme, with_port(address, parts.port)));
    }
    let agent = status.at("daemonEndpoints.kubeletEndpoint.Port").optional_int();
    let agent = agent.filter(|port| *port > 0).unwrap_or(NODE_AGENT_PORT);
    Ok(Location::of_host("https", with_port(address, &agent.to_string())))
}

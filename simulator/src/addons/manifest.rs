//! The manifests of `fixtures/addons`.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Addons, COLLECTOR, DNS};
use crate::{
    api::{Object, Status, meta},
    cluster::NAME_SERVER,
    registry::Cidr,
};

/// A manifest: the objects of an add-on.
#[derive(Deserialize)]
struct Manifest {
    items: Vec<Object>,
}

/// Returns the names of all add-ons, in alphabetical order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let files = stuntdouble_fixtures::ADDONS.files();
    let names: BTreeSet<_> = files
        .filter_map(|file| file.path().to_str()?.strip_suffix(".json"))
        .collect();
    names.into_iter()
}

fn read(name: &str) -> Result<Vec<Object>, Status> {
    let text = stuntdouble_fixtures::text(&stuntdouble_fixtures::ADDONS, &format!("{name}.json"))
        .ok_or_else(|| Status::internal(format!("unknown add-on {name}")))?;
    let manifest: Manifest = serde_json::from_str(text)
        .map_err(|error| Status::internal(format!("the manifest of the add-on {name} is malformed: {error}")))?;
    Ok(manifest.items)
}

/// Returns the objects of these add-ons, except the collector's pod. The DNS service gets the address in the
/// containers' `resolv.conf`, if it is in the `services` range.
pub(super) fn objects(addons: &Addons, services: Cidr) -> Result<Vec<Object>, Status> {
    let mut objects = Vec::new();
    for name in addons.names().filter(|name| *name != COLLECTOR) {
        objects.extend(read(name)?);
    }
    let mut all = objects.iter_mut();
    let is_service = |object: &&mut Object| object.get("kind").is_some_and(|kind| kind == "Service");
    if let Some(dns) = all.find(|object| is_service(object) && meta::text(object, "metadata.name") == DNS)
        && services.can_allocate(NAME_SERVER)
    {
        meta::child(dns, "spec").insert("clusterIP".to_owned(), NAME_SERVER.to_string().into());
    }
    Ok(objects)
}

/// Returns the pod of a log collector, which runs on each node.
pub(super) fn collector() -> Result<Object, Status> {
    let missing = || Status::internal("the manifest of the log collector has no pod");
    read(COLLECTOR)?.into_iter().next().ok_or_else(missing)
}

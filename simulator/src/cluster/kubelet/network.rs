//! Name and service address resolution for containers.

use std::{net::Ipv4Addr, sync::Arc};

use crate::{
    api::{Object, Status, meta},
    client::{Informer, ObjectKey},
    cluster::{
        Names, Resolution,
        container::{Engine, Resolve},
        runtime::Runtime,
    },
};

/// Lets containers reach services by address and name: a service resolves to the first ready address of its
/// endpoints.
pub(super) async fn connect(runtime: &Runtime, engine: &Arc<Engine>) -> Result<(), Status> {
    engine.network().resolve_with(Services {
        services: runtime.informer("v1", "services").await?,
        endpoints: runtime.informer("v1", "endpoints").await?,
        names: Names::new(runtime).await?,
    });
    Ok(())
}

struct Services {
    services: Arc<Informer>,
    endpoints: Arc<Informer>,
    names: Names,
}

impl Resolve for Services {
    /// Returns a pod behind a service, given by any of its names or its address.
    fn target(&self, host: &str, port: u16, namespace: &str) -> Option<(Ipv4Addr, u16)> {
        let address = match host.parse() {
            Ok(address) => address,
            Err(_) => *self.names.addresses(host, namespace).first()?,
        };
        let text = address.to_string();
        let mut all = self.services.list().into_iter();
        let Some(service) = all.find(|service| meta::text(service, "spec.clusterIP") == text) else {
            // `address` is a pod's, whose own ports are used.
            return host.parse::<Ipv4Addr>().is_err().then_some((address, port));
        };
        target(&service, &*self.endpoints.get(&ObjectKey::of(&service))?, port)
    }

    fn resolve_name(&self, name: &str, namespace: &str, search: bool) -> (String, Resolution) {
        match search {
            true => self.names.resolve_within(name, namespace),
            false => (name.to_owned(), self.names.resolve_name(name)),
        }
    }
}

/// Returns the pod's address and port behind a port of a service.
fn target(service: &Object, endpoints: &Object, port: u16) -> Option<(Ipv4Addr, u16)> {
    let ports = meta::lookup(service, "spec.ports")?.as_array()?;
    let wanted = ports.iter().find(|candidate| candidate["port"] == port)?;
    let name = wanted["name"].as_str().unwrap_or_default();
    let subsets = meta::lookup(endpoints, "subsets")?.as_array()?;
    subsets.iter().find_map(|subset| {
        let ports = subset["ports"].as_array()?;
        let port = ports
            .iter()
            .find(|port| port["name"].as_str().unwrap_or_default() == name)?;
        let address = subset["addresses"].as_array()?.first()?["ip"].as_str()?;
        Some((address.parse().ok()?, u16::try_from(port["port"].as_u64()?).ok()?))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_port_of_a_service_resolves_to_that_of_its_pods() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let service = object(json!({"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}}));
        let ports = json!([{"name": "b", "port": 8081}, {"name": "a", "port": 8080}]);
        let subset = json!({"addresses": [{"ip": "10.244.1.3"}], "ports": ports});
        let endpoints = object(json!({"subsets": [subset]}));
        let found = target(&service, &endpoints, 81).unwrap();
        assert_eq!(found, ("10.244.1.3".parse().unwrap(), 8081));
        assert_eq!(target(&service, &endpoints, 82), None);
    }
}

//! How names and service addresses resolve inside the cluster.

use std::{net::Ipv4Addr, sync::Arc};

use crate::{
    api::{Object, Status, meta},
    client::{Informer, ObjectKey},
    cluster::{
        Meaning, Names,
        container::{Engine, Resolve},
        runtime::Runtime,
    },
};

/// Lets containers reach services by address and name: a service is the first ready address of its endpoints.
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
    /// The address of a service leads to a pod behind it, whatever the service is called by.
    fn target(&self, host: &str, port: u16, namespace: &str) -> Option<(Ipv4Addr, u16)> {
        let address = match host.parse() {
            Ok(address) => address,
            Err(_) => *self.names.addresses(host, namespace).first()?,
        };
        let text = address.to_string();
        let mut all = self.services.list().into_iter();
        let Some(service) = all.find(|service| meta::text(service, "spec.clusterIP") == text) else {
            // A pod, which is reached at its own ports.
            return host.parse::<Ipv4Addr>().is_err().then_some((address, port));
        };
        target(&service, &*self.endpoints.get(&ObjectKey::of(&service))?, port)
    }

    fn meaning(&self, name: &str, namespace: &str, search: bool) -> (String, Meaning) {
        match search {
            true => self.names.meaning_within(name, namespace),
            false => (name.to_owned(), self.names.meaning(name)),
        }
    }
}

/// The pod's address and port behind a port of a service.
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
    fn a_port_of_a_service_is_that_of_its_pods() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let service = object(json!({"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}}));
        let subset = json!({"addresses": [{"ip": "10.244.1.3"}], "ports": [{"name": "b", "port": 8081}, {"name": "a", "port": 8080}]});
        let endpoints = object(json!({"subsets": [subset]}));
        let found = target(&service, &endpoints, 81).unwrap();
        assert_eq!(found, ("10.244.1.3".parse().unwrap(), 8081));
        assert_eq!(target(&service, &endpoints, 82), None);
    }
}

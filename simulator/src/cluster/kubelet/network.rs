//! How names and service addresses resolve inside the cluster.

use std::{net::Ipv4Addr, sync::Arc};

use crate::{
    api::{Object, Status, meta},
    client::{Informer, ObjectKey},
    cluster::{
        container::{Engine, Resolve},
        runtime::Runtime,
    },
};

/// The domain of the cluster's names.
const DOMAIN: &str = ".svc.cluster.local";

/// Lets containers reach services by address and name: a service is the first ready address of its endpoints.
pub(super) async fn connect(runtime: &Runtime, engine: &Arc<Engine>) -> Result<(), Status> {
    let services = runtime.informer("v1", "services").await?;
    let endpoints = runtime.informer("v1", "endpoints").await?;
    engine.network().resolve_with(Services { services, endpoints });
    Ok(())
}

struct Services {
    services: Arc<Informer>,
    endpoints: Arc<Informer>,
}

impl Resolve for Services {
    fn target(&self, host: &str, port: u16, namespace: &str) -> Option<(Ipv4Addr, u16)> {
        let service = match host.parse::<Ipv4Addr>() {
            Ok(_) => {
                let mut all = self.services.list().into_iter();
                all.find(|service| meta::text(service, "spec.clusterIP") == host)?
            }
            Err(_) => named(&self.services, host, namespace)?,
        };
        let endpoints = self.endpoints.get(&ObjectKey::of(&service))?;
        address(&service, &endpoints, port)
    }

    /// A service without an address of its own has that of its first pod.
    fn address(&self, host: &str, namespace: &str) -> Option<Ipv4Addr> {
        let service = named(&self.services, host, namespace)?;
        let own = meta::text(&service, "spec.clusterIP").parse().ok();
        own.or_else(|| {
            let endpoints = self.endpoints.get(&ObjectKey::of(&service))?;
            let subset = meta::lookup(&endpoints, "subsets")?.as_array()?.first()?;
            subset["addresses"].as_array()?.first()?["ip"].as_str()?.parse().ok()
        })
    }
}

/// The service of a name: `NAME`, `NAME.NAMESPACE`, or with `svc` and the domain behind it.
fn named(services: &Informer, host: &str, namespace: &str) -> Option<Arc<Object>> {
    let host = host.trim_end_matches('.');
    let short = host
        .strip_suffix(DOMAIN)
        .or_else(|| host.strip_suffix(".svc"))
        .unwrap_or(host);
    let (name, namespace) = short.split_once('.').unwrap_or((short, namespace));
    services.get(&ObjectKey::new(namespace, name))
}

/// The pod's address and port behind a port of a service.
fn address(service: &Object, endpoints: &Object, port: u16) -> Option<(Ipv4Addr, u16)> {
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
        let found = address(&service, &endpoints, 81).unwrap();
        assert_eq!(found, ("10.244.1.3".parse().unwrap(), 8081));
        assert_eq!(address(&service, &endpoints, 82), None);
    }
}

//! DNS names of the cluster: of services, of the pods behind headless services, and of pods by their address.
//!
//! | name below `cluster.local` | resolves to |
//! |---|---|
//! | `SERVICE.NAMESPACE.svc` | the service's address; for a headless service, those of its ready pods |
//! | `POD.SERVICE.NAMESPACE.svc` | a pod of a headless service, by its host name or a label derived from its address |
//! | `_PORT._PROTOCOL.SERVICE.NAMESPACE.svc` | the named port of a service, or of each pod of a headless one (SRV) |
//! | `1-2-3-4.NAMESPACE.pod` | the address 1.2.3.4 |
//!
//! Source: the DNS add-on of Kubernetes v1.2 (`cluster/addons/dns`: kube2sky, SkyDNS).

use std::{collections::BTreeSet, net::Ipv4Addr, sync::Arc};

use serde_json::Value;

use super::runtime::Runtime;
use crate::{
    api::{Object, Status, meta},
    client::{Informer, ObjectKey},
};

/// The preferred address of the DNS service, if the service range contains it.
pub(crate) const NAME_SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 10);
/// The domain of the cluster, as labels.
const DOMAIN: [&str; 2] = ["cluster", "local"];
/// The annotation of endpoints with the host names of their addresses.
pub(super) const HOST_NAMES: &str = "endpoints.beta.kubernetes.io/hostnames-map";

/// A named port: its number, and the name and address of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServicePort {
    pub(crate) port: u16,
    pub(crate) host: String,
    pub(crate) address: Ipv4Addr,
}

/// The result of resolving a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// The name is outside the cluster's domain.
    Foreign,
    /// The name does not exist.
    Missing,
    /// The name exists only as a suffix of other names.
    Domain,
    /// Addresses.
    Addresses(Vec<Ipv4Addr>),
    /// Ports.
    Ports(Vec<ServicePort>),
}

/// Resolver of the cluster's names, based on caches of services and endpoints.
#[derive(Clone)]
pub(crate) struct Names {
    services: Arc<Informer>,
    endpoints: Arc<Informer>,
}

/// An address of a headless service, and its label below the service's name.
struct Member {
    label: String,
    address: Ipv4Addr,
}

impl Names {
    pub(crate) async fn new(runtime: &Runtime) -> Result<Self, Status> {
        Ok(Self {
            services: runtime.informer("v1", "services").await?,
            endpoints: runtime.informer("v1", "endpoints").await?,
        })
    }

    /// Resolves a full name, regardless of case.
    pub(crate) fn resolve_name(&self, name: &str) -> Resolution {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let labels: Vec<&str> = name.split('.').collect();
        let Some(below) = labels.strip_suffix(&DOMAIN) else {
            return Resolution::Foreign;
        };
        match below {
            [] | ["svc" | "pod"] => Resolution::Domain,
            [namespace, "svc"] => self.namespace(namespace),
            [rest @ .., service, namespace, "svc"] => self.below_service(namespace, service, rest),
            [pod, _, "pod"] => match pod.replace('-', ".").parse() {
                Ok(address) => Resolution::Addresses(vec![address]),
                Err(_) => Resolution::Missing,
            },
            _ => Resolution::Missing,
        }
    }

    /// Resolves a name that may omit a suffix, as in a pod of `namespace`. Also returns the full name.
    pub(crate) fn resolve_within(&self, name: &str, namespace: &str) -> (String, Resolution) {
        let search = [
            format!("{name}.{namespace}.svc.cluster.local"),
            format!("{name}.svc.cluster.local"),
            format!("{name}.cluster.local"),
        ];
        let within = search.into_iter().filter(|_| !name.ends_with('.'));
        let mut meanings = within.map(|full| {
            let resolution = self.resolve_name(&full);
            (full, resolution)
        });
        let found = meanings.find(|(_, resolution)| match resolution {
            Resolution::Addresses(addresses) => !addresses.is_empty(),
            Resolution::Ports(ports) => !ports.is_empty(),
            Resolution::Foreign | Resolution::Missing | Resolution::Domain => false,
        });
        found.unwrap_or_else(|| (name.to_owned(), self.resolve_name(name)))
    }

    /// Returns the addresses of a name that may omit a suffix, as in a pod of `namespace`.
    pub(crate) fn addresses(&self, name: &str, namespace: &str) -> Vec<Ipv4Addr> {
        match self.resolve_within(name, namespace) {
            (_, Resolution::Addresses(addresses)) => addresses,
            _ => Vec::new(),
        }
    }

    fn namespace(&self, namespace: &str) -> Resolution {
        match self.services.list_in(namespace).is_empty() {
            true => Resolution::Missing,
            false => Resolution::Domain,
        }
    }

    fn below_service(&self, namespace: &str, service: &str, rest: &[&str]) -> Resolution {
        let key = ObjectKey::new(namespace, service);
        let Some(object) = self.services.get(&key) else {
            return Resolution::Missing;
        };
        let own = meta::text(&object, "spec.clusterIP").parse::<Ipv4Addr>().ok();
        let endpoints = self.endpoints.get(&key);
        let members = match (own, &endpoints) {
            (None, Some(endpoints)) => members(endpoints, |_| true),
            _ => Vec::new(),
        };
        match rest {
            [] => Resolution::Addresses(match own {
                Some(address) => vec![address],
                None => unique(&members),
            }),
            [port, protocol] if port.starts_with('_') && protocol.starts_with('_') => {
                let (port, protocol) = (port.trim_start_matches('_'), protocol.trim_start_matches('_'));
                let full = format!("{service}.{namespace}.svc.cluster.local");
                let ports = match (own, &endpoints) {
                    (Some(address), _) => own_ports(&object, port, protocol, &full, address),
                    (None, Some(endpoints)) => member_ports(endpoints, port, protocol, &full),
                    (None, None) => Vec::new(),
                };
                match ports.is_empty() {
                    true => Resolution::Missing,
                    false => Resolution::Ports(ports),
                }
            }
            [protocol] if protocol.starts_with('_') => Resolution::Domain,
            [label] => match members.iter().find(|member| member.label == *label) {
                Some(member) => Resolution::Addresses(vec![member.address]),
                None => Resolution::Missing,
            },
            _ => Resolution::Missing,
        }
    }
}

/// Returns the distinct addresses of members.
fn unique(members: &[Member]) -> Vec<Ipv4Addr> {
    let addresses: BTreeSet<Ipv4Addr> = members.iter().map(|member| member.address).collect();
    addresses.into_iter().collect()
}

/// Returns the ready addresses of the subsets that `chosen` accepts.
fn members(endpoints: &Object, chosen: impl Fn(&Value) -> bool) -> Vec<Member> {
    let host_names = meta::lookup(endpoints, "metadata.annotations")
        .and_then(|annotations| annotations[HOST_NAMES].as_str())
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .unwrap_or_default();
    let subsets = meta::lookup(endpoints, "subsets").and_then(Value::as_array);
    let chosen = subsets.into_iter().flatten().filter(|subset| chosen(subset));
    chosen
        .filter_map(|subset| subset["addresses"].as_array())
        .flatten()
        .filter_map(|address| {
            let text = address["ip"].as_str()?;
            let label = match host_names[text]["HostName"].as_str() {
                Some(name) => name.to_owned(),
                None => label_of(text),
            };
            Some(Member {
                label,
                address: text.parse().ok()?,
            })
        })
        .collect()
}

/// Returns the label of an address without a host name: its FNV-1a hash.
fn label_of(address: &str) -> String {
    format!("{:x}", fnv1a(address))
}

/// Returns the FNV-1a hash of a text.
pub(super) fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

fn is_port(candidate: &Value, name: &str, protocol: &str) -> bool {
    let of_protocol = candidate["protocol"].as_str().unwrap_or("TCP");
    candidate["name"] == name && of_protocol.eq_ignore_ascii_case(protocol)
}

fn number(port: &Value) -> Option<u16> {
    u16::try_from(port["port"].as_u64()?).ok()
}

/// Returns the named port of a service with its own address.
fn own_ports(service: &Object, name: &str, protocol: &str, host: &str, address: Ipv4Addr) -> Vec<ServicePort> {
    let ports = meta::lookup(service, "spec.ports").and_then(Value::as_array);
    let named = ports.into_iter().flatten().filter(|port| is_port(port, name, protocol));
    named
        .filter_map(|port| {
            Some(ServicePort {
                port: number(port)?,
                host: host.to_owned(),
                address,
            })
        })
        .collect()
}

/// Returns the named port of each pod of a headless service.
fn member_ports(endpoints: &Object, name: &str, protocol: &str, service: &str) -> Vec<ServicePort> {
    let subsets = meta::lookup(endpoints, "subsets").and_then(Value::as_array);
    let mut found = Vec::new();
    for subset in subsets.into_iter().flatten() {
        let ports = subset["ports"].as_array();
        let port = ports.and_then(|ports| ports.iter().find(|port| is_port(port, name, protocol)));
        let Some(port) = port.and_then(number) else { continue };
        for member in members(endpoints, |other| other == subset) {
            found.push(ServicePort {
                port,
                host: format!("{}.{service}", member.label),
                address: member.address,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::rig;

    async fn names() -> Names {
        let client = rig().await;
        let create = async |plural: &str, object: Value| {
            let api = client.api("v1", plural).unwrap().in_namespace("default");
            api.create(object).await.unwrap();
        };
        let ports = json!([{"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]);
        let web = json!({"metadata": {"name": "web"}, "spec": {"clusterIP": "10.0.0.80", "ports": ports}});
        create("services", web).await;
        let db =
            json!({"metadata": {"name": "db"}, "spec": {"clusterIP": "None", "ports": [{"name": "sql", "port": 1}]}});
        create("services", db).await;
        let addresses = json!([{"ip": "10.244.1.3"}, {"ip": "10.244.2.4"}]);
        let subset = json!({"addresses": addresses, "notReadyAddresses": [{"ip": "10.244.2.9"}],
            "ports": [{"name": "sql", "port": 5432}]});
        let host_names = json!({"10.244.1.3": {"HostName": "first"}}).to_string();
        let endpoints =
            json!({"metadata": {"name": "db", "annotations": {HOST_NAMES: host_names}}, "subsets": [subset]});
        create("endpoints", endpoints).await;
        let runtime = Runtime::new(client);
        Names::new(&runtime).await.unwrap()
    }

    fn addresses(texts: &[&str]) -> Resolution {
        Resolution::Addresses(texts.iter().map(|text| text.parse().unwrap()).collect())
    }

    #[tokio::test]
    async fn names_of_services_and_pods_resolve() {
        let names = names().await;
        let resolution = |name: &str| names.resolve_name(&format!("{name}.cluster.local."));
        assert_eq!(resolution("web.default.svc"), addresses(&["10.0.0.80"]));
        assert_eq!(resolution("WEB.Default.svc"), addresses(&["10.0.0.80"]));
        assert_eq!(resolution("db.default.svc"), addresses(&["10.244.1.3", "10.244.2.4"]));
        assert_eq!(resolution("first.db.default.svc"), addresses(&["10.244.1.3"]));
        assert_eq!(resolution("10-1-2-3.default.pod"), addresses(&["10.1.2.3"]));
        for missing in [
            "web.other.svc",
            "other.svc",
            "last.db.default.svc",
            "a.default.pod",
            "a.b.web.default.svc",
        ] {
            assert_eq!(resolution(missing), Resolution::Missing, "{missing}");
        }
        for domain in ["default.svc", "svc", "pod", "_tcp.web.default.svc"] {
            assert_eq!(resolution(domain), Resolution::Domain, "{domain}");
        }
        assert_eq!(names.resolve_name("example.com"), Resolution::Foreign);
    }

    #[tokio::test]
    async fn a_named_port_resolves_for_the_service_or_each_of_its_pods() {
        let names = names().await;
        let port = |port, host: &str, address: &str| ServicePort {
            port,
            host: host.to_owned(),
            address: address.parse().unwrap(),
        };
        let found = names.resolve_name("_dns._udp.web.default.svc.cluster.local");
        let web = port(53, "web.default.svc.cluster.local", "10.0.0.80");
        assert_eq!(found, Resolution::Ports(vec![web]));
        let Resolution::Ports(found) = names.resolve_name("_sql._tcp.db.default.svc.cluster.local") else {
            panic!("no ports");
        };
        assert_eq!(found[0], port(5432, "first.db.default.svc.cluster.local", "10.244.1.3"));
        assert_eq!((found.len(), found[1].port), (2, 5432));
        assert_eq!(names.resolve_name(&found[1].host), addresses(&["10.244.2.4"]));
        assert_eq!(
            names.resolve_name("_dns._tcp.web.default.svc.cluster.local"),
            Resolution::Missing
        );
    }

    #[tokio::test]
    async fn a_pod_may_omit_the_suffix_of_a_name() {
        let names = names().await;
        for name in ["web", "web.default", "web.default.svc", "web.default.svc.cluster.local"] {
            assert_eq!(
                names.addresses(name, "default"),
                ["10.0.0.80".parse::<Ipv4Addr>().unwrap()]
            );
        }
        assert!(names.addresses("web", "other").is_empty());
    }
}

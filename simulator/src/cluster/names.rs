//! The names of the cluster: of services, of the pods behind headless services, and of pods by their address.
//!
//! | name below `cluster.local` | resolves to |
//! |---|---|
//! | `SERVICE.NAMESPACE.svc` | the service's address; of a headless service those of its ready pods |
//! | `POD.SERVICE.NAMESPACE.svc` | one pod of a headless service, by its host name or a label made of its address |
//! | `_PORT._PROTOCOL.SERVICE.NAMESPACE.svc` | the named port of a service, or of each pod of a headless one (SRV) |
//! | `1-2-3-4.NAMESPACE.pod` | the address 1.2.3.4 |
//!
//! Source: the name resolution add-on of Kubernetes v1.2 (`cluster/addons/dns`: kube2sky, SkyDNS).

use std::{collections::BTreeSet, net::Ipv4Addr, sync::Arc};

use serde_json::Value;

use super::runtime::Runtime;
use crate::{
    api::{Object, Status, meta},
    client::{Informer, ObjectKey},
};

/// The address of the service that resolves names, where the range of services has it.
pub(crate) const NAME_SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 10);
/// The domain of the cluster, as labels.
const DOMAIN: [&str; 2] = ["cluster", "local"];
/// The annotation of endpoints that says which host names their addresses have.
const HOST_NAMES: &str = "endpoints.beta.kubernetes.io/hostnames-map";

/// A named port: its number, and the name of the host that listens on it with its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServicePort {
    pub(crate) port: u16,
    pub(crate) host: String,
    pub(crate) address: Ipv4Addr,
}

/// What a name resolves to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The name is not of the cluster.
    Foreign,
    /// There is no such name.
    Missing,
    /// Other names end with it.
    Domain,
    /// Addresses.
    Addresses(Vec<Ipv4Addr>),
    /// Ports.
    Ports(Vec<ServicePort>),
}

/// Finds what the names of the cluster stand for, from caches of services and endpoints.
#[derive(Clone)]
pub(crate) struct Names {
    services: Arc<Informer>,
    endpoints: Arc<Informer>,
}

/// An address of a headless service, and the label of its name below the service's.
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

    /// What a full name resolves to. Upper and lower case are the same.
    pub(crate) fn meaning(&self, name: &str) -> Meaning {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let labels: Vec<&str> = name.split('.').collect();
        let Some(below) = labels.strip_suffix(&DOMAIN) else {
            return Meaning::Foreign;
        };
        match below {
            [] | ["svc" | "pod"] => Meaning::Domain,
            [namespace, "svc"] => self.namespace(namespace),
            [rest @ .., service, namespace, "svc"] => self.below_service(namespace, service, rest),
            [pod, _, "pod"] => match pod.replace('-', ".").parse() {
                Ok(address) => Meaning::Addresses(vec![address]),
                Err(_) => Meaning::Missing,
            },
            _ => Meaning::Missing,
        }
    }

    /// What a name stands for that a pod of `namespace` may write without the end of the full name, and the full name.
    pub(crate) fn meaning_within(&self, name: &str, namespace: &str) -> (String, Meaning) {
        let search = [
            format!("{name}.{namespace}.svc.cluster.local"),
            format!("{name}.svc.cluster.local"),
            format!("{name}.cluster.local"),
        ];
        let within = search.into_iter().filter(|_| !name.ends_with('.'));
        let mut meanings = within.map(|full| {
            let meaning = self.meaning(&full);
            (full, meaning)
        });
        let found = meanings.find(|(_, meaning)| match meaning {
            Meaning::Addresses(addresses) => !addresses.is_empty(),
            Meaning::Ports(ports) => !ports.is_empty(),
            Meaning::Foreign | Meaning::Missing | Meaning::Domain => false,
        });
        found.unwrap_or_else(|| (name.to_owned(), self.meaning(name)))
    }

    /// The addresses of a name, which a pod of `namespace` may write without the end of the full name.
    pub(crate) fn addresses(&self, name: &str, namespace: &str) -> Vec<Ipv4Addr> {
        match self.meaning_within(name, namespace) {
            (_, Meaning::Addresses(addresses)) => addresses,
            _ => Vec::new(),
        }
    }

    fn namespace(&self, namespace: &str) -> Meaning {
        match self.services.list_in(namespace).is_empty() {
            true => Meaning::Missing,
            false => Meaning::Domain,
        }
    }

    fn below_service(&self, namespace: &str, service: &str, rest: &[&str]) -> Meaning {
        let key = ObjectKey::new(namespace, service);
        let Some(object) = self.services.get(&key) else {
            return Meaning::Missing;
        };
        let own = meta::text(&object, "spec.clusterIP").parse::<Ipv4Addr>().ok();
        let endpoints = self.endpoints.get(&key);
        let members = match (own, &endpoints) {
            (None, Some(endpoints)) => members(endpoints, |_| true),
            _ => Vec::new(),
        };
        match rest {
            [] => Meaning::Addresses(match own {
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
                    true => Meaning::Missing,
                    false => Meaning::Ports(ports),
                }
            }
            [protocol] if protocol.starts_with('_') => Meaning::Domain,
            [label] => match members.iter().find(|member| member.label == *label) {
                Some(member) => Meaning::Addresses(vec![member.address]),
                None => Meaning::Missing,
            },
            _ => Meaning::Missing,
        }
    }
}

/// The addresses of members, each once.
fn unique(members: &[Member]) -> Vec<Ipv4Addr> {
    let addresses: BTreeSet<Ipv4Addr> = members.iter().map(|member| member.address).collect();
    addresses.into_iter().collect()
}

/// The ready addresses of the subsets that are chosen.
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

/// The label of an address without a host name: its hash, by FNV-1a.
fn label_of(address: &str) -> String {
    let hash = address.bytes().fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("{hash:x}")
}

fn is_port(candidate: &Value, name: &str, protocol: &str) -> bool {
    let of_protocol = candidate["protocol"].as_str().unwrap_or("TCP");
    candidate["name"] == name && of_protocol.eq_ignore_ascii_case(protocol)
}

fn number(port: &Value) -> Option<u16> {
    u16::try_from(port["port"].as_u64()?).ok()
}

/// The named port of a service with an address of its own.
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

/// The named port of each pod of a headless service.
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
        let subset = json!({"addresses": addresses, "notReadyAddresses": [{"ip": "10.244.2.9"}], "ports": [{"name": "sql", "port": 5432}]});
        let host_names = json!({"10.244.1.3": {"HostName": "first"}}).to_string();
        let endpoints =
            json!({"metadata": {"name": "db", "annotations": {HOST_NAMES: host_names}}, "subsets": [subset]});
        create("endpoints", endpoints).await;
        let runtime = Runtime::new(client);
        Names::new(&runtime).await.unwrap()
    }

    fn addresses(texts: &[&str]) -> Meaning {
        Meaning::Addresses(texts.iter().map(|text| text.parse().unwrap()).collect())
    }

    #[tokio::test]
    async fn names_have_the_addresses_of_services_and_pods() {
        let names = names().await;
        let meaning = |name: &str| names.meaning(&format!("{name}.cluster.local."));
        assert_eq!(meaning("web.default.svc"), addresses(&["10.0.0.80"]));
        assert_eq!(meaning("WEB.Default.svc"), addresses(&["10.0.0.80"]));
        assert_eq!(meaning("db.default.svc"), addresses(&["10.244.1.3", "10.244.2.4"]));
        assert_eq!(meaning("first.db.default.svc"), addresses(&["10.244.1.3"]));
        assert_eq!(meaning("10-1-2-3.default.pod"), addresses(&["10.1.2.3"]));
        for missing in [
            "web.other.svc",
            "other.svc",
            "last.db.default.svc",
            "a.default.pod",
            "a.b.web.default.svc",
        ] {
            assert_eq!(meaning(missing), Meaning::Missing, "{missing}");
        }
        for domain in ["default.svc", "svc", "pod", "_tcp.web.default.svc"] {
            assert_eq!(meaning(domain), Meaning::Domain, "{domain}");
        }
        assert_eq!(names.meaning("example.com"), Meaning::Foreign);
    }

    #[tokio::test]
    async fn a_named_port_is_that_of_the_service_or_of_each_of_its_pods() {
        let names = names().await;
        let port = |port, host: &str, address: &str| ServicePort {
            port,
            host: host.to_owned(),
            address: address.parse().unwrap(),
        };
        let found = names.meaning("_dns._udp.web.default.svc.cluster.local");
        let web = port(53, "web.default.svc.cluster.local", "10.0.0.80");
        assert_eq!(found, Meaning::Ports(vec![web]));
        let Meaning::Ports(found) = names.meaning("_sql._tcp.db.default.svc.cluster.local") else {
            panic!("no ports");
        };
        assert_eq!(found[0], port(5432, "first.db.default.svc.cluster.local", "10.244.1.3"));
        assert_eq!((found.len(), found[1].port), (2, 5432));
        assert_eq!(names.meaning(&found[1].host), addresses(&["10.244.2.4"]));
        assert_eq!(
            names.meaning("_dns._tcp.web.default.svc.cluster.local"),
            Meaning::Missing
        );
    }

    #[tokio::test]
    async fn a_pod_need_not_write_the_end_of_a_name() {
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

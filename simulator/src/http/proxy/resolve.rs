//! Where a proxied request goes: from the name in its path to an address.
//!
//! - Names come as `name`, `name:port` and `scheme:name:port`; the scheme is http or https.
//! - A service goes to the ready addresses of its endpoints in turn, so that each gets as many requests as the others.
//! - A pod goes to its own address, at its first port where none is given; a node to its internal address, at its agent's port where none is given.
//!
//! Source: `ResourceLocation` of Kubernetes v1.2 for services, pods and nodes; the errors are as recorded.

use std::collections::HashMap;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::api::{Reason, Status};

/// The port of a node's agent.
pub(crate) const NODE_AGENT_PORT: u64 = 10_250;

/// Reads the objects that say where a request goes.
pub(crate) trait Lookup: Send + Sync {
    /// The object's fields; `None` where it is not there. `namespace` is empty for a node.
    fn find<'a>(
        &'a self,
        resource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Option<Map<String, Value>>>;
}

/// What can be proxied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// A service, by its endpoints.
    Service,
    /// A pod.
    Pod,
    /// A node.
    Node,
}

impl Resource {
    /// The resource's name in a path; `None` where requests cannot be proxied to it.
    pub(crate) fn named(plural: &str) -> Option<Self> {
        match plural {
            "services" => Some(Self::Service),
            "pods" => Some(Self::Pod),
            "nodes" => Some(Self::Node),
            _ => None,
        }
    }

    fn singular(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Pod => "pod",
            Self::Node => "node",
        }
    }
}

/// A server that requests can be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// `http` or `https`.
    pub(crate) scheme: String,
    /// Host, and port where one is known; empty where no address is known.
    pub(crate) host: String,
}

/// Splits `[scheme:]name[:port]`.
fn split(resource: Resource, id: &str) -> Result<(&str, &str, &str), Status> {
    let parts: Vec<&str> = id.split(':').collect();
    match parts.as_slice() {
        [name] if !name.is_empty() => Ok(("http", name, "")),
        [name, port] if !name.is_empty() => Ok(("http", name, port)),
        ["", name, port] if !name.is_empty() => Ok(("http", name, port)),
        [scheme @ ("http" | "https"), name, port] if !name.is_empty() => Ok((scheme, name, port)),
        _ => Err(Status::new(
            Reason::BadRequest,
            format!("invalid {} request {id:?}", resource.singular()),
        )),
    }
}

/// Finds where requests go, and remembers whose turn it is.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    turns: Mutex<HashMap<String, usize>>,
}

/// How many services' turns are remembered at most.
const TURNS: usize = 4096;

impl Resolver {
    /// The server that the name `id` of a `resource` stands for.
    pub(crate) async fn resolve(
        &self,
        lookup: &dyn Lookup,
        resource: Resource,
        namespace: &str,
        id: &str,
    ) -> Result<Server, Status> {
        let (scheme, name, port) = split(resource, id)?;
        match resource {
            Resource::Service => self.service(lookup, namespace, id, (scheme, name, port)).await,
            Resource::Pod => {
                let pod = lookup
                    .find("pods", namespace, name)
                    .await
                    .ok_or_else(|| Status::not_found("", "pods", name))?;
                let pod = Value::Object(pod);
                let first = items(&pod["spec"]["containers"])
                    .iter()
                    .flat_map(|c| items(&c["ports"]))
                    .find_map(|p| p["containerPort"].as_u64());
                let port = if port.is_empty() {
                    first.map(|p| p.to_string())
                } else {
                    Some(port.to_owned())
                };
                let address = pod["status"]["podIP"].as_str().unwrap_or_default();
                let host = port.map_or_else(|| address.to_owned(), |port| with_port(address, &port));
                Ok(Server {
                    scheme: scheme.to_owned(),
                    host,
                })
            }
            Resource::Node => {
                let node = lookup
                    .find("nodes", "", name)
                    .await
                    .ok_or_else(|| Status::not_found("", "nodes", name))?;
                let node = Value::Object(node);
                let addresses = items(&node["status"]["addresses"]);
                let address = ["LegacyHostIP", "InternalIP"]
                    .iter()
                    .find_map(|kind| addresses.iter().find(|a| a["type"] == **kind));
                let Some(address) = address.and_then(|a| a["address"].as_str()) else {
                    let known: Vec<String> = addresses
                        .iter()
                        .map(|a| format!("{{{} {}}}", text(&a["type"]), text(&a["address"])))
                        .collect();
                    return Err(Status::new(
                        Reason::Unknown,
                        format!("host IP unknown; known addresses: [{}]", known.join(" ")),
                    ));
                };
                if !port.is_empty() && port != NODE_AGENT_PORT.to_string() {
                    return Ok(Server {
                        scheme: scheme.to_owned(),
                        host: with_port(address, port),
                    });
                }
                let agent = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
                    .as_u64()
                    .filter(|port| *port > 0);
                Ok(Server {
                    scheme: "https".to_owned(),
                    host: with_port(address, &agent.unwrap_or(NODE_AGENT_PORT).to_string()),
                })
            }
        }
    }

    async fn service(
        &self,
        lookup: &dyn Lookup,
        namespace: &str,
        id: &str,
        (scheme, name, port): (&str, &str, &str),
    ) -> Result<Server, Status> {
        let unavailable = |message: String| Status::new(Reason::ServiceUnavailable, message);
        let mut wanted = port.to_owned();
        if let Ok(number) = port.parse::<i64>() {
            let service = lookup
                .find("services", namespace, name)
                .await
                .ok_or_else(|| Status::not_found("", "services", name))?;
            let service = Value::Object(service);
            let named = items(&service["spec"]["ports"])
                .iter()
                .find(|p| p["port"].as_i64() == Some(number));
            let named =
                named.ok_or_else(|| unavailable(format!("no service port {number} found for service {name:?}")))?;
            wanted = text(&named["name"]).to_owned();
        }
        let endpoints = lookup
            .find("endpoints", namespace, name)
            .await
            .ok_or_else(|| Status::not_found("", "endpoints", name))?;
        let endpoints = Value::Object(endpoints);
        let subsets = items(&endpoints["subsets"]);
        if subsets.is_empty() {
            return Err(unavailable(format!("no endpoints available for service {name:?}")));
        }
        let mut choices = Vec::new();
        for subset in subsets {
            let Some(port) = items(&subset["ports"])
                .iter()
                .find(|p| text(&p["name"]) == wanted)
                .and_then(|p| p["port"].as_u64())
            else {
                continue;
            };
            choices.extend(
                items(&subset["addresses"])
                    .iter()
                    .filter_map(|a| a["ip"].as_str())
                    .map(|ip| with_port(ip, &port.to_string())),
            );
        }
        let turn = self.turn(&format!("{namespace}/{name}:{wanted}"));
        let host = choices
            .get(turn.checked_rem(choices.len()).unwrap_or(0))
            .ok_or_else(|| unavailable(format!("no endpoints available for service {id:?}")))?;
        Ok(Server {
            scheme: scheme.to_owned(),
            host: host.clone(),
        })
    }

    fn turn(&self, key: &str) -> usize {
        let mut turns = self.turns.lock();
        if turns.len() >= TURNS && !turns.contains_key(key) {
            turns.clear();
        }
        let turn = turns.entry(key.to_owned()).or_default();
        *turn = turn.wrapping_add(1);
        turn.wrapping_sub(1)
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn with_port(host: &str, port: &str) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    struct Objects(Value);

    impl Lookup for Objects {
        fn find<'a>(
            &'a self,
            resource: &'a str,
            namespace: &'a str,
            name: &'a str,
        ) -> BoxFuture<'a, Option<Map<String, Value>>> {
            let found = self
                .0
                .pointer(&format!("/{resource}/{namespace}~1{name}"))
                .and_then(Value::as_object)
                .cloned();
            Box::pin(async move { found })
        }
    }

    fn objects() -> Objects {
        Objects(json!({
            "services": {
                "a/web": {"spec": {"ports": [{"port": 80}]}},
                "a/multi": {"spec": {"ports": [{"name": "http", "port": 80}, {"name": "alt", "port": 81}]}},
            },
            "endpoints": {
                "a/web": {"subsets": [{"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], "ports": [{"port": 99}]}, {"addresses": [{"ip": "10.0.0.3"}], "ports": [{"port": 98}]}]},
                "a/multi": {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"name": "http", "port": 99}, {"name": "alt", "port": 98}]}]},
                "a/none": {"subsets": []},
                "a/unready": {"subsets": [{"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 99}]}]},
            },
            "pods": {
                "a/p": {"spec": {"containers": [{"name": "x"}, {"name": "y", "ports": [{"containerPort": 8080}, {"containerPort": 8081}]}]}, "status": {"podIP": "10.1.0.1"}},
                "a/six": {"spec": {"containers": []}, "status": {"podIP": "fd00::1"}},
                "a/noip": {"spec": {"containers": []}, "status": {}},
            },
            "nodes": {
                "/n": {"status": {"addresses": [{"type": "ExternalIP", "address": "1.2.3.4"}, {"type": "InternalIP", "address": "10.2.0.1"}]}},
                "/agent": {"status": {"addresses": [{"type": "InternalIP", "address": "10.2.0.1"}], "daemonEndpoints": {"kubeletEndpoint": {"Port": 10255}}}},
                "/lost": {"status": {"addresses": [{"type": "ExternalIP", "address": "1.2.3.4"}]}},
            },
        }))
    }

    #[rstest]
    #[case(Resource::Service, "web", "http://10.0.0.1:99")]
    #[case(Resource::Service, "web:80", "http://10.0.0.1:99")]
    #[case(Resource::Service, "http:web:", "http://10.0.0.1:99")]
    #[case(Resource::Service, ":web:", "http://10.0.0.1:99")]
    #[case(Resource::Service, "multi:alt", "http://10.0.0.1:98")]
    #[case(Resource::Service, "multi:81", "http://10.0.0.1:98")]
    #[case(Resource::Service, "https:multi:http", "https://10.0.0.1:99")]
    #[case(Resource::Pod, "p", "http://10.1.0.1:8080")]
    #[case(Resource::Pod, "https:p:1", "https://10.1.0.1:1")]
    #[case(Resource::Pod, "six", "http://fd00::1")]
    #[case(Resource::Pod, "six:1", "http://[fd00::1]:1")]
    #[case(Resource::Pod, "noip", "http://")]
    #[case(Resource::Node, "n", "https://10.2.0.1:10250")]
    #[case(Resource::Node, "http:n:10250", "https://10.2.0.1:10250")]
    #[case(Resource::Node, "n:9", "http://10.2.0.1:9")]
    #[case(Resource::Node, "agent", "https://10.2.0.1:10255")]
    #[tokio::test]
    async fn a_name_stands_for_a_server(#[case] resource: Resource, #[case] id: &str, #[case] server: &str) {
        let found = Resolver::default()
            .resolve(&objects(), resource, "a", id)
            .await
            .unwrap();
        assert_eq!(format!("{}://{}", found.scheme, found.host), server);
    }

    #[rstest]
    #[case(Resource::Service, "a:b:c:d", 400, "invalid service request \"a:b:c:d\"")]
    #[case(Resource::Service, "ftp:web:80", 400, "invalid service request \"ftp:web:80\"")]
    #[case(Resource::Pod, ":80", 400, "invalid pod request \":80\"")]
    #[case(Resource::Node, "x:", 404, "nodes \"x\" not found")]
    #[case(Resource::Service, "web:9999", 503, "no service port 9999 found for service \"web\"")]
    #[case(Resource::Service, "absent:80", 404, "services \"absent\" not found")]
    #[case(Resource::Service, "absent", 404, "endpoints \"absent\" not found")]
    #[case(Resource::Service, "none:x", 503, "no endpoints available for service \"none\"")]
    #[case(Resource::Service, "unready", 503, "no endpoints available for service \"unready\"")]
    #[case(Resource::Service, "multi", 503, "no endpoints available for service \"multi\"")]
    #[case(
        Resource::Service,
        "multi:nope",
        503,
        "no endpoints available for service \"multi:nope\""
    )]
    #[case(Resource::Pod, "absent", 404, "pods \"absent\" not found")]
    #[case(
        Resource::Node,
        "lost",
        500,
        "host IP unknown; known addresses: [{ExternalIP 1.2.3.4}]"
    )]
    #[tokio::test]
    async fn a_name_that_stands_for_nothing_is_refused(
        #[case] resource: Resource,
        #[case] id: &str,
        #[case] code: u16,
        #[case] message: &str,
    ) {
        let status = Resolver::default()
            .resolve(&objects(), resource, "a", id)
            .await
            .unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (code, message));
    }

    #[tokio::test]
    async fn endpoints_are_chosen_evenly() {
        let (resolver, objects) = (Resolver::default(), objects());
        let mut counts = HashMap::new();
        for _ in 0..30 {
            let server = resolver.resolve(&objects, Resource::Service, "a", "web").await.unwrap();
            *counts.entry(server.host).or_insert(0) += 1;
        }
        assert_eq!(
            counts,
            HashMap::from([
                ("10.0.0.1:99".to_owned(), 10),
                ("10.0.0.2:99".to_owned(), 10),
                ("10.0.0.3:98".to_owned(), 10)
            ])
        );
    }
}

//! Locations of services, pods and nodes for the proxy.

use futures::future::BoxFuture;
use rstest::rstest;
use serde_json::{Value, json};

use super::strategy;
use crate::{
    api::{Object, Status},
    strategy::{Location, Lookup, ObjectId, ResourceName},
};

struct Objects(Value);

impl Lookup for Objects {
    fn find<'a>(&'a self, resource: ResourceName, namespace: &'a str, name: &'a str) -> BoxFuture<'a, Option<Object>> {
        let path = format!("/{}/{namespace}~1{name}", resource.plural);
        let found = self.0.pointer(&path).and_then(Value::as_object).cloned();
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
            "a/web": {"subsets": [{"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], "ports": [{"port": 99}]},
                {"addresses": [{"ip": "10.0.0.3"}], "ports": [{"port": 98}]}]},
            "a/multi": {"subsets": [{"addresses": [{"ip": "10.0.0.1"}],
                "ports": [{"name": "http", "port": 99}, {"name": "alt", "port": 98}]}]},
            "a/none": {"subsets": []},
            "a/unready": {"subsets": [{"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 99}]}]},
        },
        "pods": {
            "a/p": {"spec": {"containers": [{"name": "x"}, {"name": "y",
                "ports": [{"containerPort": 8080}, {"containerPort": 8081}]}]}, "status": {"podIP": "10.1.0.1"}},
            "a/six": {"spec": {"containers": []}, "status": {"podIP": "fd00::1"}},
            "a/noip": {"spec": {"containers": []}, "status": {}},
        },
        "nodes": {
            "/n": {"status": {"addresses": [{"type": "ExternalIP", "address": "1.2.3.4"},
                {"type": "InternalIP", "address": "10.2.0.1"}]}},
            "/agent": {"status": {"addresses": [{"type": "InternalIP", "address": "10.2.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 10255}}}},
            "/lost": {"status": {"addresses": [{"type": "ExternalIP", "address": "1.2.3.4"}]}},
        },
    }))
}

async fn locate(kind: &str, id: &str) -> Result<Location, Status> {
    let namespace = if kind == "Node" { "" } else { "a" };
    strategy(kind).location(&objects(), ObjectId { namespace, id }).await
}

#[rstest]
#[case("Service", "web", "http://10.0.0.1:99,10.0.0.2:99,10.0.0.3:98")]
#[case("Service", "web:80", "http://10.0.0.1:99,10.0.0.2:99,10.0.0.3:98")]
#[case("Service", "http:web:", "http://10.0.0.1:99,10.0.0.2:99,10.0.0.3:98")]
#[case("Service", ":web:", "http://10.0.0.1:99,10.0.0.2:99,10.0.0.3:98")]
#[case("Service", "multi:alt", "http://10.0.0.1:98")]
#[case("Service", "multi:81", "http://10.0.0.1:98")]
#[case("Service", "https:multi:http", "https://10.0.0.1:99")]
#[case("Pod", "p", "http://10.1.0.1:8080")]
#[case("Pod", "https:p:1", "https://10.1.0.1:1")]
#[case("Pod", "six", "http://fd00::1")]
#[case("Pod", "six:1", "http://[fd00::1]:1")]
#[case("Pod", "noip", "http://")]
#[case("Node", "n", "https://10.2.0.1:10250")]
#[case("Node", "http:n:10250", "https://10.2.0.1:10250")]
#[case("Node", "n:9", "http://10.2.0.1:9")]
#[case("Node", "agent", "https://10.2.0.1:10255")]
#[tokio::test]
async fn an_id_has_a_location(#[case] kind: &str, #[case] id: &str, #[case] expected: &str) {
    let found = locate(kind, id).await.unwrap();
    assert_eq!(format!("{}://{}", found.scheme, found.hosts.join(",")), expected);
}

#[rstest]
#[case("Service", "a:b:c:d", 400, "invalid service request \"a:b:c:d\"")]
#[case("Service", "ftp:web:80", 400, "invalid service request \"ftp:web:80\"")]
#[case("Pod", ":80", 400, "invalid pod request \":80\"")]
#[case("Node", "x:", 404, "nodes \"x\" not found")]
#[case("Service", "web:9999", 503, "no service port 9999 found for service \"web\"")]
#[case("Service", "absent:80", 404, "services \"absent\" not found")]
#[case("Service", "absent", 404, "endpoints \"absent\" not found")]
#[case("Service", "none:x", 503, "no endpoints available for service \"none\"")]
#[case("Service", "unready", 503, "no endpoints available for service \"unready\"")]
#[case("Service", "multi", 503, "no endpoints available for service \"multi\"")]
#[case("Service", "multi:nope", 503, "no endpoints available for service \"multi:nope\"")]
#[case("Pod", "absent", 404, "pods \"absent\" not found")]
#[case("Node", "lost", 500, "host IP unknown; known addresses: [{ExternalIP 1.2.3.4}]")]
#[tokio::test]
async fn invalid_ids_have_no_location(#[case] kind: &str, #[case] id: &str, #[case] code: u16, #[case] message: &str) {
    let status = locate(kind, id).await.unwrap_err();
    assert_eq!((status.code, status.message.as_str()), (code, message));
}

#[tokio::test]
async fn kinds_without_servers_cannot_be_proxied() {
    assert_eq!(locate("ConfigMap", "one").await.unwrap_err().code, 404);
}

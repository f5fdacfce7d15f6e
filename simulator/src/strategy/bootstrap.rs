//! Objects that every cluster has: the namespace `default`, and the service and endpoints of the API server.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::{
    namespace::{self, DEFAULT},
    resource_name::ResourceName,
};
use crate::api::Object;

/// Returns the objects that every cluster has, each with its resource and namespace.
pub(crate) fn initial_objects(
    service_address: Ipv4Addr,
    advertised: Ipv4Addr,
    secure_port: u16,
) -> [(ResourceName, Option<&'static str>, Object); 3] {
    let labels = json!({"component": "apiserver", "provider": "kubernetes"});
    let ports = json!([{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 443}]);
    let service = json!({
        "metadata": {"name": "kubernetes", "labels": labels},
        "spec": {"ports": ports, "clusterIP": service_address, "type": "ClusterIP", "sessionAffinity": "None"},
    });
    let endpoint_ports = json!([{"name": "https", "port": secure_port, "protocol": "TCP"}]);
    let endpoints = json!({
        "metadata": {"name": "kubernetes"},
        "subsets": [{"addresses": [{"ip": advertised}], "ports": endpoint_ports}],
    });
    [
        (namespace::RESOURCE, None, json!({"metadata": {"name": DEFAULT}})),
        (ResourceName::core("services"), Some(DEFAULT), service),
        (ResourceName::core("endpoints"), Some(DEFAULT), endpoints),
    ]
    .map(|(resource, namespace, object)| (resource, namespace, fields(object)))
}

fn fields(object: Value) -> Object {
    match object {
        Value::Object(fields) => fields,
        _ => Object::new(),
    }
}

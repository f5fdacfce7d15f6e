//! Services, endpoints, ingresses.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use super::{changed, created, lines, metadata};

fn service(change: Value) -> Value {
    let spec = json!({"type": "ClusterIP", "sessionAffinity": "None",
        "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}]});
    json!({"metadata": metadata(), "spec": changed(spec, change)})
}

#[rstest]
#[case(json!({}), &[])]
#[case(json!({"clusterIP": "None", "ports": null}), &[])]
#[case(json!({"type": null, "sessionAffinity": null}),
    &["spec.sessionAffinity: Required value", "spec.type: Required value"])]
#[case(json!({"externalIPs": ["0.0.0.0", "x", "127.0.0.1", "169.254.0.1", "224.0.0.9", "::1", "fe80::1",
    "10.0.0.1"]}), &[
    "spec.externalIPs[0]: Invalid value: \"0.0.0.0\": must be a valid IP address",
    "spec.externalIPs[1]: Invalid value: \"x\": must be a valid IP address",
    "spec.externalIPs[2]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8)",
    "spec.externalIPs[3]: Invalid value: \"169.254.0.1\": may not be in the link-local range (169.254.0.0/16)",
    "spec.externalIPs[4]: Invalid value: \"224.0.0.9\": may not be in the link-local multicast range (224.0.0.0/24)",
    "spec.externalIPs[5]: Invalid value: \"::1\": may not be in the loopback range (127.0.0.0/8)",
    "spec.externalIPs[6]: Invalid value: \"fe80::1\": may not be in the link-local range (169.254.0.0/16)",
])]
#[case(json!({"ports": [{"name": "A", "port": 1, "targetPort": "x y", "protocol": "TCP"},
    {"name": "b", "port": 2, "targetPort": "b"}, {"name": "b", "port": 3, "targetPort": 3, "protocol": "UDP"}]}), &[
    "spec.ports[0].name: Invalid value: \"A\": must be a DNS label (at most 63 characters, matching regex \
        [a-z0-9]([-a-z0-9]*[a-z0-9])?): e.g. \"my-name\"",
    "spec.ports[0].targetPort: Invalid value: \"x y\": must be an IANA_SVC_NAME (at most 15 characters, matching \
        regex [a-z0-9]([a-z0-9-]*[a-z0-9])*, it must contain at least one letter [a-z], and hyphens cannot be \
        adjacent to other hyphens): e.g. \"http\"",
    "spec.ports[1].protocol: Required value",
    "spec.ports[2].name: Duplicate value: \"b\"",
])]
#[case(json!({"ports": [{"port": 80, "targetPort": 80, "protocol": "TCP", "nodePort": 30000}]}),
    &["spec.ports[0].nodePort: Invalid value: 30000: may not be used when `type` is 'ClusterIP'"])]
#[case(json!({"type": "NodePort", "ports": [
    {"name": "a", "port": 1, "targetPort": 1, "protocol": "TCP", "nodePort": 30000},
    {"name": "b", "port": 2, "targetPort": 2, "protocol": "UDP", "nodePort": 30000},
    {"name": "c", "port": 3, "targetPort": 3, "protocol": "TCP", "nodePort": 30000},
]}), &["spec.ports[2].nodePort: Duplicate value: 30000"])]
#[case(json!({"type": "LoadBalancer", "ports": [{"name": "a", "port": 10250, "targetPort": 1, "protocol": "TCP"},
    {"name": "b", "port": 2, "targetPort": "b", "protocol": "UDP"}]}), &[
    "spec.ports[0]: Invalid value: 10250: may not expose port 10250 externally since it is used by kubelet",
    "spec.ports: Invalid value: [{\"name\":\"a\",\"protocol\":\"TCP\",\"port\":10250,\"targetPort\":1,\"nodePort\":0},\
        {\"name\":\"b\",\"protocol\":\"UDP\",\"port\":2,\"targetPort\":\"b\",\"nodePort\":0}]: \
        cannot create an external load balancer with mix protocols",
])]
#[case(json!({"type": "LoadBalancer", "ports": [{"port": 1, "targetPort": 1, "protocol": "ICMP"}]}), &[
    "spec.ports[0].protocol: Unsupported value: \"ICMP\": supported values: TCP, UDP",
    "spec.ports[0].protocol: Invalid value: \"ICMP\": cannot create an external load balancer with non-TCP/UDP ports",
])]
#[case(json!({"selector": {"a": "b c"}}), &["spec.selector: Invalid value: \"b c\": must have at most 63 characters, \
    matching regex (([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?: e.g. \"MyValue\" or \"\""])]
fn a_service(#[case] change: Value, #[case] want: &[&str]) {
    assert_eq!(created("Service", &service(change)), want);
}

#[rstest]
#[case("10.0.0.0/8, 192.168.0.0/16", true)]
#[case("", true)]
#[case("10.0.0.0", false)]
#[case("10.0.0.0/8,", false)]
fn source_ranges_of_a_load_balancer(#[case] ranges: &str, #[case] valid: bool) {
    let key = "service.beta.kubernetes.io/load-balancer-source-ranges";
    let object = changed(service(json!({})), json!({"metadata": {"annotations": {key: ranges}}}));
    let want = format!(
        "metadata.annotations[{key}]: Invalid value: {ranges:?}: must be a comma separated list of CIDRs e.g. \
            192.168.0.0/16,10.0.0.0/8"
    );
    assert_eq!(created("Service", &object), if valid { vec![] } else { vec![want] });
}

#[rstest]
#[case("Service")]
#[case("Ingress")]
fn the_state_of_a_load_balancer(#[case] kind: &str) {
    let old = service(json!({}));
    let new = changed(
        old.clone(),
        json!({"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3"}, {"hostname": "1.2.3.4"},
            {"ip": "1.2.3.4", "hostname": "ok.example"}]}}}),
    );
    let want = [
        "status.loadBalancer.ingress[0].ip: Invalid value: \"1.2.3\": must be a valid IP address",
        "status.loadBalancer.ingress[1].hostname: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address",
    ];
    assert_eq!(
        lines(&update_status(
            kind,
            "",
            new.as_object().unwrap(),
            old.as_object().unwrap()
        )),
        want
    );
}

#[rstest]
#[case(json!([{"notReadyAddresses": [{"ip": "x"}], "ports": [{"port": 1, "protocol": "TCP"}]}]), &[])]
#[case(json!([{"addresses": [{"ip": "::1"}, {"ip": "224.0.0.1"}]}]), &[
    "subsets[0].ports: Required value",
    "subsets[0].addresses[0].ip: Invalid value: \"::1\": must be a valid IPv4 address",
    "subsets[0].addresses[1].ip: Invalid value: \"224.0.0.1\": may not be in the link-local multicast range \
        (224.0.0.0/24)",
])]
#[case(json!([{"addresses": [{"ip": "10.0.0.1"}],
    "ports": [{"port": 0, "protocol": "TCP"}, {"name": "A", "port": 1, "protocol": "X"}]}]), &[
    "subsets[0].ports[0].name: Required value",
    "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
    "subsets[0].ports[1].name: Invalid value: \"A\": must be a DNS label (at most 63 characters, matching regex \
        [a-z0-9]([-a-z0-9]*[a-z0-9])?): e.g. \"my-name\"",
    "subsets[0].ports[1].protocol: Unsupported value: \"X\": supported values: TCP, UDP",
])]
fn endpoints(#[case] subsets: Value, #[case] want: &[&str]) {
    assert_eq!(
        created("Endpoints", &json!({"metadata": metadata(), "subsets": subsets})),
        want
    );
}

#[rstest]
#[case(r#"{"10.0.0.1": {"HostName": "web"}}"#, true)]
#[case(r#"{"10.0.0.1": {"hostname": "web"}}"#, true)]
#[case(r#"{"10.0.0.1": {"HostName": "Web"}}"#, false)]
#[case(r#"{"here": {"HostName": "web"}}"#, false)]
#[case("", false)]
fn names_of_hosts_behind_endpoints(#[case] names: &str, #[case] valid: bool) {
    let annotations = json!({"annotations": {"endpoints.beta.kubernetes.io/hostnames-map": names}});
    let want = r#"annotations: Invalid value: "endpoints.beta.kubernetes.io/hostnames-map": must be a valid json representation of map[string(IP)][HostRecord] e.g. "{"10.245.1.6":{"HostName":"my-webserver"}}""#;
    let got = created("Endpoints", &json!({"metadata": changed(metadata(), annotations)}));
    assert_eq!(got, if valid { vec![] } else { vec![want] });
}

#[rstest]
#[case(json!({}), &["spec: Invalid value: null: either `backend` or `rules` must be specified"])]
#[case(json!({"rules": []}), &["spec: Invalid value: []: either `backend` or `rules` must be specified"])]
#[case(json!({"backend": {"serviceName": "web", "servicePort": "Http"}}), &[
    "spec.backend.servicePort: Invalid value: \"Http\": must be a DNS label (at most 63 characters, matching regex \
        [a-z0-9]([-a-z0-9]*[a-z0-9])?): e.g. \"my-name\"",
    "spec.backend.servicePort: Invalid value: \"Http\": must be an IANA_SVC_NAME (at most 15 characters, matching \
        regex [a-z0-9]([a-z0-9-]*[a-z0-9])*, it must contain at least one letter [a-z], and hyphens cannot be \
        adjacent to other hyphens): e.g. \"http\"",
])]
#[case(json!({"backend": {"serviceName": "1web", "servicePort": 0}}), &[
    "spec.backend.serviceName: Invalid value: \"1web\": must be a DNS 952 label (at most 24 characters, matching \
        regex [a-z]([-a-z0-9]*[a-z0-9])?): e.g. \"my-name\"",
    "spec.backend.servicePort: Invalid value: 0: must be between 1 and 65535, inclusive",
])]
#[case(json!({"tls": [{"secretName": "s"}, {}],
    "rules": [{"host": "1.2.3.4"}, {"http": {"paths": [{"path": "a[", "backend": {"servicePort": 1}}]}}]}), &[
    "spec.rules[0].host: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address",
    "spec.rules[0].http.paths[0].path: Invalid value: \"a[\": must be an absolute path",
    "spec.rules[0].http.paths[0].path: Invalid value: \"a[\": must be a valid regex",
    "spec.rules[0].http.backend.serviceName: Required value",
    "spec.tls[1].secretName: Required value",
])]
fn an_ingress(#[case] spec: Value, #[case] want: &[&str]) {
    assert_eq!(created("Ingress", &json!({"metadata": metadata(), "spec": spec})), want);
}

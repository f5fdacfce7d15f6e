//! Repacking of endpoints: addresses with the same ports are grouped, each occurs once, and everything is in a fixed
//! order.
//!
//! Source: v1.2's repacking of subsets. It orders ports and subsets by the MD5 hash of a dump of each. The dump names
//! types as they are called inside v1.2; since the order depends on it, the same dump is written here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use md5::{Digest, Md5};
use serde_json::{Map, Value};

use crate::api::Object;

type Fields = Map<String, Value>;

/// Identity of an address: the IP, and the UID of its target.
type AddressKey = (String, String);

/// Addresses, and whether each is ready.
type Addresses = BTreeMap<AddressKey, bool>;

/// Repacks the subsets of an Endpoints object.
pub(crate) fn repack(endpoints: &mut Object) {
    let subsets = endpoints
        .get("subsets")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let mut addresses: BTreeMap<AddressKey, Fields> = BTreeMap::new();
    let mut offered: Vec<(Fields, Addresses)> = Vec::new();
    for subset in subsets.iter().filter_map(Value::as_object) {
        for port in objects(subset, "ports") {
            for (list, ready) in [("addresses", true), ("notReadyAddresses", false)] {
                for address in objects(subset, list) {
                    let key = (
                        text(&address, "ip"),
                        address
                            .get("targetRef")
                            .and_then(Value::as_object)
                            .map(|r| text(r, "uid"))
                            .unwrap_or_default(),
                    );
                    addresses.entry(key.clone()).or_insert(address);
                    let at = offered.iter().position(|(p, _)| *p == port).unwrap_or_else(|| {
                        offered.push((port.clone(), BTreeMap::new()));
                        offered.len() - 1
                    });
                    // An address that is not ready in one subset is not ready in any.
                    let known = offered[at].1.entry(key).or_insert(ready);
                    *known &= ready;
                }
            }
        }
    }
    let sets: BTreeSet<_> = offered.iter().map(|(_, set)| set.clone()).collect();
    let mut packed: Vec<Fields> = sets.into_iter().map(|set| subset(&set, &addresses, &offered)).collect();
    packed.sort_by_cached_key(|subset| Md5::digest(dump_subset(subset)).to_vec());
    endpoints.insert("subsets".to_owned(), packed.into_iter().map(Value::Object).collect());
}

fn subset(set: &Addresses, addresses: &BTreeMap<AddressKey, Fields>, offered: &[(Fields, Addresses)]) -> Fields {
    let of = |wanted: bool| {
        set.iter()
            .filter(|(_, ready)| **ready == wanted)
            .filter_map(|(key, _)| addresses.get(key).cloned())
            .collect()
    };
    let mut ports: Vec<Fields> = offered
        .iter()
        .filter(|(_, addresses)| addresses == set)
        .map(|(port, _)| port.clone())
        .collect();
    ports.sort_by_cached_key(|port| Md5::digest(format!("(api.EndpointPort){}", dump_port(port))).to_vec());
    [
        ("addresses", list(of(true))),
        ("notReadyAddresses", list(of(false))),
        ("ports", list(ports)),
    ]
    .map(|(k, v)| (k.to_owned(), v))
    .into_iter()
    .collect()
}

fn list(items: Vec<Fields>) -> Value {
    if items.is_empty() {
        Value::Null
    } else {
        items.into_iter().map(Value::Object).collect()
    }
}

fn objects(of: &Fields, field: &str) -> Vec<Fields> {
    of.get(field)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .cloned()
        .collect()
}

fn text(of: &Fields, field: &str) -> String {
    of.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn dump_port(port: &Fields) -> String {
    let number = port.get("port").and_then(Value::as_i64).unwrap_or(0);
    format!(
        "{{Name:(string){} Port:(int){number} Protocol:(api.Protocol){}}}",
        text(port, "name"),
        text(port, "protocol")
    )
}

fn dump_address(address: &Fields) -> String {
    let target = match address.get("targetRef").and_then(Value::as_object) {
        None => "<nil>".to_owned(),
        Some(target) => {
            let mut out = String::new();
            let fields = [
                ("Kind", "kind", "string"),
                ("Namespace", "namespace", "string"),
                ("Name", "name", "string"),
                ("UID", "uid", "types.UID"),
            ];
            let more = [
                ("APIVersion", "apiVersion", "string"),
                ("ResourceVersion", "resourceVersion", "string"),
                ("FieldPath", "fieldPath", "string"),
            ];
            for (name, field, kind) in fields.into_iter().chain(more) {
                let _ = write!(
                    out,
                    "{}{name}:({kind}){}",
                    if out.is_empty() { "" } else { " " },
                    text(target, field)
                );
            }
            format!("{{{out}}}")
        }
    };
    format!(
        "{{IP:(string){} TargetRef:(*api.ObjectReference){target}}}",
        text(address, "ip")
    )
}

fn dump_list(of: &Fields, field: &str, dump: fn(&Fields) -> String) -> String {
    let items = objects(of, field);
    if items.is_empty() {
        "<nil>".to_owned()
    } else {
        format!("[{}]", items.iter().map(dump).collect::<Vec<_>>().join(" "))
    }
}

fn dump_subset(subset: &Fields) -> String {
    format!(
        "(api.EndpointSubset){{Addresses:([]api.EndpointAddress){} NotReadyAddresses:([]api.EndpointAddress){} \
            Ports:([]api.EndpointPort){}}}",
        dump_list(subset, "addresses", dump_address),
        dump_list(subset, "notReadyAddresses", dump_address),
        dump_list(subset, "ports", dump_port)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn repacked(subsets: Value) -> Value {
        let mut object: Object = serde_json::from_value(json!({ "subsets": subsets })).unwrap();
        repack(&mut object);
        object.remove("subsets").unwrap()
    }

    #[test]
    fn addresses_are_sorted_and_unique() {
        let ports = json!([{"port": 80, "protocol": "TCP"}]);
        let packed = repacked(json!([
            {"addresses": [{"ip": "10.1.2.4"}, {"ip": "10.1.2.3"}], "ports": ports},
            {"addresses": [{"ip": "10.1.2.4"}], "notReadyAddresses": [{"ip": "10.1.2.9"}, {"ip": "10.1.2.4"}],
                "ports": ports},
        ]));
        assert_eq!(
            packed,
            json!([{"addresses": [{"ip": "10.1.2.3"}], "notReadyAddresses": [{"ip": "10.1.2.4"}, {"ip": "10.1.2.9"}],
                "ports": ports}])
        );
    }

    #[test]
    fn ports_of_the_same_addresses_are_grouped_in_hash_order() {
        let dns = json!({"name": "dns", "port": 53, "protocol": "UDP"});
        let https = json!({"name": "https", "port": 443, "protocol": "TCP"});
        let packed = repacked(json!([{"addresses": [{"ip": "1.1.1.1"}], "ports": [dns]},
                {"addresses": [{"ip": "1.1.1.1"}], "ports": [https]}]));
        assert_eq!(
            packed,
            json!([{"addresses": [{"ip": "1.1.1.1"}], "notReadyAddresses": null, "ports": [https, dns]}])
        );
    }
}

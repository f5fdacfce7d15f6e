//! Nodes of a cluster.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::{
    api::{Object, Status, meta},
    client::Client,
    registry::ListOptions,
};

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Name, such as `node-1`.
    pub name: String,
    /// IP address.
    pub address: Ipv4Addr,
    /// Number, counted from 1: the third octet of its pods' addresses.
    pub number: u8,
}

impl Node {
    /// Returns the address of its pod with this number.
    pub(crate) fn pod_address(&self, pod: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 244, self.number, pod)
    }
}

/// Returns the nodes of a cluster: `node-1` to `node-COUNT`, or named by their addresses.
pub(crate) fn named(count: u8, by_address: bool) -> Vec<Node> {
    (1..=count)
        .map(|number| {
            let address = Ipv4Addr::new(10, 240, 0, number.saturating_add(1));
            let name = if by_address {
                address.to_string()
            } else {
                format!("node-{number}")
            };
            Node { name, address, number }
        })
        .collect()
}

/// Returns the nodes in the store.
pub(crate) async fn stored(client: &Client) -> Result<Vec<Node>, Status> {
    let nodes = client.api("v1", "nodes")?.list(&ListOptions::default()).await?.items;
    let numbered = nodes.iter().zip(1..=u8::MAX);
    Ok(numbered.map(|(node, number)| of(node, number)).collect())
}

fn of(node: &Object, number: u8) -> Node {
    let addresses = meta::lookup(node, "status.addresses").and_then(Value::as_array);
    let mut addresses = addresses.into_iter().flatten();
    let address = addresses.find_map(|address| address["address"].as_str()?.parse().ok());
    Node {
        name: meta::text(node, "metadata.name").to_owned(),
        address: address.unwrap_or(Ipv4Addr::new(10, 240, 0, number.saturating_add(1))),
        number,
    }
}

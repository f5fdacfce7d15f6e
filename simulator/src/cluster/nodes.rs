//! The nodes of a cluster.

use std::net::Ipv4Addr;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name: `node-1`.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its number, counted from 1; the third part of its pods' addresses.
    pub number: u8,
}

impl Node {
    /// The address of its pod with this number.
    pub fn pod_address(&self, pod: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 244, self.number, pod)
    }
}

/// Nodes `node-1` to `node-COUNT`.
pub fn named(count: u8) -> Vec<Node> {
    (1..=count)
        .map(|number| Node {
            name: format!("node-{number}"),
            address: Ipv4Addr::new(10, 240, 0, number.saturating_add(1)),
            number,
        })
        .collect()
}

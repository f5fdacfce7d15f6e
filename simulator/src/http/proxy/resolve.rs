//! Which server of a location a request goes to: each in turn, so that each gets as many requests as the others.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::{
    api::Status,
    scheme::Resource,
    strategy::{self, Location, Lookup, ObjectId},
};

/// A server that requests can be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// `http` or `https`.
    pub(crate) scheme: String,
    /// Host, and port if one is known; empty if no address is known.
    pub(crate) host: String,
}

/// Counts the turns of the servers.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    turns: Mutex<HashMap<String, usize>>,
}

/// Maximum number of objects whose turns are counted.
const TURNS: usize = 4096;

impl Resolver {
    /// The server for a request for an object of `resource`.
    pub(crate) async fn resolve(
        &self,
        objects: &dyn Lookup,
        resource: &Resource,
        object: ObjectId<'_>,
    ) -> Result<Server, Status> {
        let location = strategy::of(resource).location(objects, object).await?;
        Ok(self.next(object, location))
    }

    fn next(&self, object: ObjectId<'_>, Location { scheme, mut hosts, key }: Location) -> Server {
        let at = match hosts.len() {
            0 | 1 => 0,
            count => self.turn(&format!("{}/{key}", object.namespace)) % count,
        };
        let host = if hosts.is_empty() {
            String::new()
        } else {
            hosts.swap_remove(at)
        };
        Server { scheme, host }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_chosen_evenly() {
        let resolver = Resolver::default();
        let object = ObjectId {
            namespace: "a",
            id: "web",
        };
        let location = Location {
            scheme: "http".to_owned(),
            hosts: ["10.0.0.1:99", "10.0.0.2:99", "10.0.0.3:98"]
                .map(str::to_owned)
                .to_vec(),
            key: "web:".to_owned(),
        };
        let mut counts = HashMap::new();
        for _ in 0..30 {
            *counts.entry(resolver.next(object, location.clone()).host).or_insert(0) += 1;
        }
        assert_eq!(counts.into_values().collect::<Vec<_>>(), [10, 10, 10]);
    }
}

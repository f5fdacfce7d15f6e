//! Round-robin selection of the server behind a location.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::{
    api::Status,
    scheme::Resource,
    strategy::{self, Location, Lookup, ObjectId},
};

/// A server to forward requests to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// `http` or `https`.
    pub(crate) scheme: String,
    /// Host, with port if known; empty if there is no address.
    pub(crate) host: String,
}

/// Round-robin counters by object.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    counters: Mutex<HashMap<String, usize>>,
}

/// Maximum number of objects with a counter.
const MAX_COUNTERS: usize = 4096;

impl Resolver {
    /// Returns the server for a request to an object of `resource`.
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
            count => self.next_index(&format!("{}/{key}", object.namespace)) % count,
        };
        let host = if hosts.is_empty() {
            String::new()
        } else {
            hosts.swap_remove(at)
        };
        Server { scheme, host }
    }

    fn next_index(&self, key: &str) -> usize {
        let mut counters = self.counters.lock();
        if counters.len() >= MAX_COUNTERS && !counters.contains_key(key) {
            counters.clear();
        }
        let next_index = counters.entry(key.to_owned()).or_default();
        *next_index = next_index.wrapping_add(1);
        next_index.wrapping_sub(1)
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

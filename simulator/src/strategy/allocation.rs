//! Allocation of cluster IPs and node ports to services.
//!
//! - Guarantees under the documented profile: no two services have the same address or node port; a failed write
//!   frees what it allocated.
//! - Source: v1.2's service registry. As there, an address that an update sets is not checked against those of other
//!   services. Which node ports an update frees depends on the profile.

use std::{collections::HashSet, net::Ipv4Addr, str::FromStr, sync::Arc};

use parking_lot::Mutex;
use serde_json::Value;

use crate::{
    api::{FieldError, Object, Path, Status, meta},
    profile::Profile,
    rng::Rng,
};

/// Range of allocated node ports.
const NODE_PORTS: std::ops::RangeInclusive<u16> = 30_000..=32_767;

/// Range of IPv4 addresses in CIDR notation, for the cluster IPs of services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    base: u32,
    size: u32,
}

impl Cidr {
    /// Returns the address at `offset` in the range.
    pub fn at(self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from(self.base.wrapping_add(offset))
    }

    /// Whether an address can be allocated. The first and the last of the range cannot.
    pub(crate) fn can_allocate(self, address: Ipv4Addr) -> bool {
        let offset = u32::from(address).wrapping_sub(self.base);
        offset > 0 && offset < self.size - 1
    }
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no range of IPv4 addresses such as 10.0.0.0/24, with a prefix of 8 to 30");
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
        let prefix: u32 = prefix.parse().ok().filter(|p| (8..=30).contains(p)).ok_or_else(wrong)?;
        let size = 1 << (32 - prefix);
        Ok(Self {
            base: u32::from(address) & !(size - 1),
            size,
        })
    }
}

/// Addresses and ports allocated for a write, and those to be freed once it has succeeded.
#[derive(Debug, Default)]
pub(crate) struct Allocation {
    address: Option<Ipv4Addr>,
    ports: Vec<u16>,
    freed: Vec<u16>,
}

/// Claims of a write, by name, for a store that several processes share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    /// Names that must be free before the write.
    pub(crate) taken: Vec<String>,
    /// Names that are free after the write.
    pub(crate) freed: Vec<String>,
}

impl Claims {
    /// Returns no claims.
    pub(crate) fn none() -> &'static Self {
        static NONE: Claims = Claims {
            taken: Vec::new(),
            freed: Vec::new(),
        };
        &NONE
    }
}

impl Allocation {
    /// Returns the claims of the write.
    pub(crate) fn claims(&self) -> Claims {
        Claims {
            taken: named(self.address, &self.ports),
            freed: named(None, &self.freed),
        }
    }
}

/// Returns the claim names of an address and of ports.
fn named(address: Option<Ipv4Addr>, ports: &[u16]) -> Vec<String> {
    let address = address.map(|address| format!("{ADDRESS}{address}"));
    let ports = ports.iter().map(|port| format!("{PORT}{port}"));
    address.into_iter().chain(ports).collect()
}

/// Prefix of the claim names of addresses.
const ADDRESS: &str = "addresses/";
/// Prefix of the claim names of node ports.
const PORT: &str = "ports/";

#[derive(Clone, Default)]
struct Taken {
    addresses: HashSet<Ipv4Addr>,
    ports: HashSet<u16>,
}

/// Addresses and node ports in use.
pub(crate) struct Allocator {
    range: Cidr,
    profile: Profile,
    rng: Arc<Rng>,
    taken: Mutex<Taken>,
}

impl Allocator {
    pub(crate) fn new(range: Cidr, profile: Profile, rng: Arc<Rng>) -> Self {
        Self {
            range,
            profile,
            rng,
            taken: Mutex::default(),
        }
    }

    /// Returns an independent copy.
    pub(super) fn fork(&self, rng: Arc<Rng>) -> Self {
        Self {
            range: self.range,
            profile: self.profile,
            rng,
            taken: Mutex::new(self.taken.lock().clone()),
        }
    }

    /// Allocates what a service needs or requests, before it is created or replaces `old`.
    pub(crate) fn allocate(&self, service: &mut Object, old: Option<&Object>) -> Result<Allocation, Status> {
        let mut allocation = Allocation::default();
        match self.take(service, old, &mut allocation) {
            Ok(()) => Ok(allocation),
            Err(status) => {
                self.release(&allocation);
                Err(status)
            }
        }
    }

    fn take(&self, service: &mut Object, old: Option<&Object>, allocation: &mut Allocation) -> Result<(), Status> {
        let name = meta::text(service, "metadata.name").to_owned();
        let refused = |path: &Path, requested: Value, why: &str| {
            Status::invalid("", "Service", &name, &[FieldError::invalid(path, requested, why)])
        };
        let mut taken = self.taken.lock();
        if old.is_none() {
            let path = Path::new("spec.clusterIP");
            match meta::text(service, "spec.clusterIP") {
                "None" => {}
                "" => {
                    let address = self.free_address(&taken).ok_or_else(|| full("serviceIP"))?;
                    meta::child(service, "spec").insert("clusterIP".into(), address.to_string().into());
                    allocation.address = Some(address);
                }
                requested => {
                    let refused = |why| refused(&path, requested.into(), why);
                    let address = requested
                        .parse()
                        .ok()
                        .filter(|a| self.range.can_allocate(*a))
                        .ok_or_else(|| refused("provided IP is not in the valid range"))?;
                    if taken.addresses.contains(&address) {
                        return Err(refused("provided IP is already allocated"));
                    }
                    allocation.address = Some(address);
                }
            }
            taken.addresses.extend(allocation.address);
        }
        let exposed = matches!(meta::text(service, "spec.type"), "NodePort" | "LoadBalancer");
        let old_ports = old.map(node_ports).unwrap_or_default();
        let ports = meta::child(service, "spec")
            .get_mut("ports")
            .and_then(Value::as_array_mut);
        for (n, port) in ports.into_iter().flatten().enumerate() {
            let Some(port) = port.as_object_mut() else { continue };
            let path = Path::new("spec.ports").index(n).child("nodePort");
            match port.get("nodePort").and_then(Value::as_i64).unwrap_or(0) {
                0 if exposed => {
                    let free = self.free_port(&taken).ok_or_else(|| full("nodePort"))?;
                    port.insert("nodePort".into(), free.into());
                    taken.ports.insert(free);
                    allocation.ports.push(free);
                }
                0 => {}
                requested => {
                    let refused = |why| refused(&path, requested.into(), why);
                    let requested = u16::try_from(requested)
                        .ok()
                        .filter(|p| NODE_PORTS.contains(p))
                        .ok_or_else(|| refused("provided port is not in the valid range"))?;
                    if !old_ports.contains(&requested) {
                        if !taken.ports.insert(requested) {
                            return Err(refused("provided port is already allocated"));
                        }
                        allocation.ports.push(requested);
                    }
                }
            }
        }
        let kept = node_ports(service);
        allocation.freed = old_ports
            .into_iter()
            .filter(|p| kept.contains(p) == self.profile.has_node_port_bug())
            .collect();
        Ok(())
    }

    fn free_address(&self, taken: &Taken) -> Option<Ipv4Addr> {
        let usable = self.range.size - 2;
        let first = self.rng.below(usable as usize) as u32;
        (0..usable)
            .map(|n| self.range.at(1 + (first + n) % usable))
            .find(|a| !taken.addresses.contains(a))
    }

    fn free_port(&self, taken: &Taken) -> Option<u16> {
        let count = NODE_PORTS.len();
        let first = self.rng.below(count);
        (0..count)
            .filter_map(|n| NODE_PORTS.clone().nth((first + n) % count))
            .find(|p| !taken.ports.contains(p))
    }

    /// Completes the allocation of a successful write: frees the ports that the service no longer uses.
    pub(crate) fn commit(&self, allocation: &Allocation) {
        self.taken.lock().ports.retain(|p| !allocation.freed.contains(p));
    }

    /// Reverts the allocation of a failed write.
    pub(crate) fn release(&self, allocation: &Allocation) {
        let mut taken = self.taken.lock();
        taken.addresses.retain(|a| allocation.address != Some(*a));
        taken.ports.retain(|p| !allocation.ports.contains(p));
    }

    /// Marks the address and ports of a stored service as used, as v1.2 does at startup.
    pub(crate) fn restore(&self, service: &Object) {
        let mut taken = self.taken.lock();
        taken
            .addresses
            .extend(meta::text(service, "spec.clusterIP").parse::<Ipv4Addr>());
        taken.ports.extend(node_ports(service));
    }

    /// Marks the claimed addresses and ports as used, and no others.
    pub(crate) fn replace(&self, claims: &HashSet<String>) {
        let parsed = |prefix| {
            claims
                .iter()
                .filter_map(move |claim: &String| claim.strip_prefix(prefix))
        };
        *self.taken.lock() = Taken {
            addresses: parsed(ADDRESS).filter_map(|address| address.parse().ok()).collect(),
            ports: parsed(PORT).filter_map(|port| port.parse().ok()).collect(),
        };
    }

    /// Frees the address and ports of a removed service.
    pub(crate) fn free(&self, service: &Object) {
        let mut taken = self.taken.lock();
        if let Ok(address) = meta::text(service, "spec.clusterIP").parse() {
            taken.addresses.remove(&address);
        }
        let ports = node_ports(service);
        taken.ports.retain(|p| !ports.contains(p));
    }
}

/// Claim names of a service's address and ports.
pub(crate) fn claim_names(service: &Object) -> Vec<String> {
    named(meta::text(service, "spec.clusterIP").parse().ok(), &node_ports(service))
}

fn full(what: &str) -> Status {
    Status::internal_error(format!("failed to allocate a {what}: range is full"))
}

fn node_ports(service: &Object) -> Vec<u16> {
    let ports = meta::lookup(service, "spec.ports").and_then(Value::as_array);
    ports
        .into_iter()
        .flatten()
        .filter_map(|p| p.get("nodePort")?.as_u64()?.try_into().ok())
        .filter(|p| *p != 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn rig() -> Allocator {
        of(Profile::Documented)
    }

    fn of(profile: Profile) -> Allocator {
        Allocator::new("10.0.0.0/29".parse().unwrap(), profile, Arc::new(Rng::seeded(1)))
    }

    fn service(spec: Value) -> Object {
        serde_json::from_value(json!({"metadata": {"name": "s"}, "spec": spec})).unwrap()
    }

    #[test]
    fn every_address_of_a_range_is_allocated_once() {
        let services = rig();
        let mut given = HashSet::new();
        for _ in 0..6 {
            let mut made = service(json!({}));
            services.allocate(&mut made, None).unwrap();
            given.insert(meta::text(&made, "spec.clusterIP").to_owned());
        }
        assert_eq!(given.len(), 6);
        assert!(
            services
                .allocate(&mut service(json!({})), None)
                .unwrap_err()
                .message
                .contains("range is full")
        );
    }

    #[rstest]
    #[case(-1)]
    #[case(80)]
    #[case(70_000)]
    fn a_node_port_outside_of_the_range_is_rejected(#[case] port: i64) {
        let services = rig();
        let mut requested = service(json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}));
        let why = format!("spec.ports[0].nodePort: Invalid value: {port}: provided port is not in the valid range");
        assert!(
            services
                .allocate(&mut requested, None)
                .unwrap_err()
                .message
                .ends_with(&why)
        );
    }

    #[test]
    fn a_failed_write_frees_its_allocations() {
        let services = rig();
        let requested = || {
            service(json!({"type": "NodePort", "clusterIP": "10.0.0.3", "ports": [{"port": 80, "nodePort": 30080}]}))
        };
        let first = services.allocate(&mut requested(), None).unwrap();
        assert!(
            services
                .allocate(&mut requested(), None)
                .unwrap_err()
                .message
                .ends_with("provided IP is already allocated")
        );
        services.release(&first);
        services.commit(&services.allocate(&mut requested(), None).unwrap());
        let other = service(json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}));
        assert!(
            services
                .allocate(&mut other.clone(), None)
                .unwrap_err()
                .message
                .ends_with("provided port is already allocated")
        );
    }

    #[test]
    fn a_stored_service_keeps_its_allocations() {
        let services = rig();
        let held = json!({"type": "NodePort", "clusterIP": "10.0.0.3", "ports": [{"port": 80, "nodePort": 30080}]});
        services.restore(&service(held.clone()));
        let why = services.allocate(&mut service(held), None).unwrap_err().message;
        assert!(why.ends_with("provided IP is already allocated"), "{why}");
        let other = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]});
        let why = services.allocate(&mut service(other), None).unwrap_err().message;
        assert!(why.ends_with("provided port is already allocated"), "{why}");
    }

    #[test]
    fn only_the_claims_of_others_are_in_use() {
        let services = rig();
        let spec = json!({"type": "NodePort", "clusterIP": "10.0.0.3", "ports": [{"port": 80, "nodePort": 30080}]});
        let claims = services.allocate(&mut service(spec.clone()), None).unwrap().claims();
        assert_eq!(claims.taken, claim_names(&service(spec.clone())));
        services.replace(&HashSet::new());
        let mut again = service(spec.clone());
        services.allocate(&mut again, None).unwrap();
        services.replace(&claims.taken.into_iter().collect());
        assert!(services.allocate(&mut again, None).is_err());
    }

    #[rstest]
    #[case::given_up(Profile::Documented, json!({"type": "ClusterIP", "ports": [{"port": 80}]}), true)]
    #[case::kept(Profile::Documented, json!({"type": "NodePort", "ports": [{"port": 81, "nodePort": 30080}]}), false)]
    #[case::given_up(Profile::Kubernetes12, json!({"type": "ClusterIP", "ports": [{"port": 80}]}), false)]
    #[case::kept(Profile::Kubernetes12, json!({"type": "NodePort", "ports": [{"port": 81, "nodePort": 30080}]}), true)]
    fn an_update_frees_ports_as_the_profile_requires(
        #[case] profile: Profile,
        #[case] spec: Value,
        #[case] free: bool,
    ) {
        let services = of(profile);
        let mut old = service(json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}));
        services.commit(&services.allocate(&mut old, None).unwrap());
        services.commit(&services.allocate(&mut service(spec), Some(&old)).unwrap());
        let mut other = service(json!({"type": "NodePort", "ports": [{"port": 81, "nodePort": 30080}]}));
        assert_eq!(services.allocate(&mut other, None).is_ok(), free);
    }
}

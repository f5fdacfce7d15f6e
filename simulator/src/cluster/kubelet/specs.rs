//! Specs of started containers. Equal specs are stored once.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use serde_json::Value;

/// Minimum number of specs before unused ones are removed.
const MIN_CLEANUP_SIZE: usize = 64;

/// Container specs in use, by the hashes of their JSON texts.
#[derive(Default)]
pub(super) struct Specs(Mutex<Shared>);

#[derive(Default)]
struct Shared {
    by_digest: HashMap<u64, Vec<Weak<Value>>>,
    /// Number of hashes after the last cleanup.
    used: usize,
}

impl Specs {
    /// Returns a container spec that is shared with all equal ones.
    pub(super) fn share(&self, spec: &Value) -> Arc<Value> {
        let mut hasher = DefaultHasher::new();
        spec.hash(&mut hasher);
        let mut shared = self.0.lock();
        let candidates = shared.by_digest.entry(hasher.finish()).or_default();
        let known = candidates
            .iter()
            .filter_map(Weak::upgrade)
            .find(|known| **known == *spec);
        let spec = known.unwrap_or_else(|| {
            let spec = Arc::new(spec.clone());
            candidates.push(Arc::downgrade(&spec));
            spec
        });
        shared.clean_up();
        spec
    }
}

impl Shared {
    /// Removes unused specs, once the number of hashes has doubled since the last cleanup.
    fn clean_up(&mut self) {
        if self.by_digest.len() <= 2 * self.used.max(MIN_CLEANUP_SIZE) {
            return;
        }
        self.by_digest.retain(|_, candidates| {
            candidates.retain(|spec| spec.strong_count() > 0);
            !candidates.is_empty()
        });
        self.used = self.by_digest.len();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_specs_are_stored_once_and_only_while_they_are_used() {
        let specs = Specs::default();
        let web = specs.share(&json!({"image": "nginx", "ports": [{"containerPort": 80}]}));
        assert!(Arc::ptr_eq(&web, &specs.share(&web)));
        assert!(!Arc::ptr_eq(&web, &specs.share(&json!({"image": "redis"}))));
        for number in 0..10 * MIN_CLEANUP_SIZE {
            specs.share(&json!({"image": format!("i:{number}")}));
        }
        assert!(specs.0.lock().by_digest.len() <= 2 * MIN_CLEANUP_SIZE + 1);
        assert!(Arc::ptr_eq(&web, &specs.share(&web)));
    }
}

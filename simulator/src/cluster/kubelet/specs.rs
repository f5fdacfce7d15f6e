//! The containers of pods as they were started. Those that are alike are kept once.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use serde_json::Value;

/// How many are kept before those that nobody uses are looked for.
const FEW: usize = 64;

/// Containers that are in use, by the digests of their texts.
#[derive(Default)]
pub(super) struct Specs(Mutex<Shared>);

#[derive(Default)]
struct Shared {
    by_digest: HashMap<u64, Vec<Weak<Value>>>,
    /// How many digests there were after the last look.
    used: usize,
}

impl Specs {
    /// A container, shared with all that are equal to it.
    pub(super) fn share(&self, spec: &Value) -> Arc<Value> {
        let mut hasher = DefaultHasher::new();
        spec.hash(&mut hasher);
        let mut shared = self.0.lock();
        let alike = shared.by_digest.entry(hasher.finish()).or_default();
        let known = alike.iter().filter_map(Weak::upgrade).find(|known| **known == *spec);
        let spec = known.unwrap_or_else(|| {
            let spec = Arc::new(spec.clone());
            alike.push(Arc::downgrade(&spec));
            spec
        });
        shared.clean_up();
        spec
    }
}

impl Shared {
    /// Forgets what nobody uses, once there is twice as much as after the last time.
    fn clean_up(&mut self) {
        if self.by_digest.len() <= 2 * self.used.max(FEW) {
            return;
        }
        self.by_digest.retain(|_, alike| {
            alike.retain(|spec| spec.strong_count() > 0);
            !alike.is_empty()
        });
        self.used = self.by_digest.len();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containers_that_are_alike_are_kept_once_and_for_as_long_as_they_are_used() {
        let specs = Specs::default();
        let web = specs.share(&json!({"image": "nginx", "ports": [{"containerPort": 80}]}));
        assert!(Arc::ptr_eq(&web, &specs.share(&web)));
        assert!(!Arc::ptr_eq(&web, &specs.share(&json!({"image": "redis"}))));
        for number in 0..10 * FEW {
            specs.share(&json!({"image": format!("i:{number}")}));
        }
        assert!(specs.0.lock().by_digest.len() <= 2 * FEW + 1);
        assert!(Arc::ptr_eq(&web, &specs.share(&web)));
    }
}

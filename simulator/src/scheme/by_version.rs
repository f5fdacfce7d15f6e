//! Values that are computed once for each version of a kind.

use std::sync::{Arc, OnceLock};

use super::Resource;

/// One value per version, computed on first use. Reads take no lock. Two words in size while empty.
#[derive(Debug)]
pub(crate) struct ByVersion<T>(OnceLock<Box<Entry<T>>>);

#[derive(Debug)]
struct Entry<T> {
    version: Arc<Resource>,
    value: T,
    next: ByVersion<T>,
}

impl<T> ByVersion<T> {
    /// Value of `version`, computed by `make` on first use.
    pub(crate) fn get_or_init(&self, version: &Arc<Resource>, make: impl Fn() -> T) -> &T {
        let entry = self.0.get_or_init(|| {
            Box::new(Entry {
                version: version.clone(),
                value: make(),
                next: Self::default(),
            })
        });
        if Arc::ptr_eq(&entry.version, version) {
            &entry.value
        } else {
            entry.next.get_or_init(version, make)
        }
    }
}

impl<T> Default for ByVersion<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::scheme::Scheme;

    #[test]
    fn each_version_has_a_value_that_is_computed_once() {
        let (scheme, values, made) = (Scheme::builtin(), ByVersion::default(), Cell::new(0));
        let value = |group: &str, version: &str| {
            let version = scheme.resource(group, version, "jobs").unwrap();
            *values.get_or_init(version, || {
                made.set(made.get() + 1);
                made.get()
            })
        };
        let asked = ["batch", "extensions", "batch", "extensions"];
        let versions = ["v1", "v1beta1", "v1", "v1beta1"];
        let got: Vec<i32> = asked
            .iter()
            .zip(versions)
            .map(|(group, version)| value(group, version))
            .collect();
        assert_eq!((got, made.get()), (vec![1, 2, 1, 2], 2));
    }
}

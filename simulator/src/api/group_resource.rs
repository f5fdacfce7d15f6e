//! Names of resources: group and plural.

use std::{fmt, sync::Arc};

/// Resource in its group, in any version: the key of tables by resource. Cheap to clone.
///
/// The text form is that of Kubernetes: `pods`, `jobs.batch`. A plural has no dots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GroupResource(Arc<str>);

impl GroupResource {
    /// Returns the resource `plural` of `group`, which is empty for the core group.
    pub(crate) fn new(group: &str, plural: &str) -> Self {
        Self(if group.is_empty() {
            plural.into()
        } else {
            format!("{plural}.{group}").into()
        })
    }

    /// Returns the resource `plural` of the core group.
    pub(crate) fn core(plural: &str) -> Self {
        Self::new("", plural)
    }

    /// Name, such as `pods` or `jobs.batch`.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses a name returned by [`GroupResource::as_str`].
    pub(crate) fn named(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_plural_in_two_groups_is_two_resources() {
        let (core, other) = (GroupResource::core("pods"), GroupResource::new("example.com", "pods"));
        assert_ne!(core, other);
        assert_eq!((core.as_str(), other.as_str()), ("pods", "pods.example.com"));
        assert_eq!(GroupResource::named(other.as_str()), other);
    }
}

//! Names of resources: group and plural.

use std::{fmt, sync::Arc};

/// A resource in its group, whatever the version: the key of every table of resources. Cheap to clone.
///
/// Written as Kubernetes writes it: `pods`, `jobs.batch`. A plural has no dots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource(Arc<str>);

impl GroupResource {
    /// The resource `plural` of `group`, which is empty for the core group.
    pub fn new(group: &str, plural: &str) -> Self {
        Self(if group.is_empty() {
            plural.into()
        } else {
            format!("{plural}.{group}").into()
        })
    }

    /// The resource `plural` of the core group.
    pub fn core(plural: &str) -> Self {
        Self::new("", plural)
    }

    /// The name: `pods`, `jobs.batch`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The group; empty for the core group.
    pub fn group(&self) -> &str {
        self.0.split_once('.').map_or("", |(_, group)| group)
    }

    /// The plural.
    pub fn plural(&self) -> &str {
        self.0.split_once('.').map_or(&self.0, |(plural, _)| plural)
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
        assert_eq!((core.group(), core.plural()), ("", "pods"));
        assert_eq!((other.group(), other.plural()), ("example.com", "pods"));
        assert_eq!(other.to_string(), "pods.example.com");
    }
}

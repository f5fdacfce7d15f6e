//! Names of resources that strategies refer to.

/// Group, version and plural of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResourceName {
    /// API group. Empty for the core group.
    pub(crate) group: &'static str,
    /// Version within the group.
    pub(crate) version: &'static str,
    /// Name in paths.
    pub(crate) plural: &'static str,
}

impl ResourceName {
    /// Returns the name of a resource of the core group.
    pub(crate) const fn core(plural: &'static str) -> Self {
        Self {
            group: "",
            version: "v1",
            plural,
        }
    }
}

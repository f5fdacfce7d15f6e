//! The set of enabled add-ons.

use std::{collections::BTreeSet, fmt, str::FromStr};

use super::{COLLECTOR, manifest};

/// The add-ons that store, show and collect logs.
const LOGGING: [&str; 3] = ["elasticsearch-logging", "kibana-logging", COLLECTOR];

/// The set of enabled add-ons. Default: all of them.
///
/// ```
/// use stuntdouble_simulator::Addons;
///
/// let addons: Addons = "elasticsearch-logging,kube-dns".parse()?;
/// assert!(addons.contains("kube-dns") && !addons.contains("kibana-logging"));
/// assert!("none".parse::<Addons>()?.is_empty());
/// assert!(!Addons::all().without_logging().contains("fluentd-elasticsearch"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addons(BTreeSet<String>);

impl Default for Addons {
    fn default() -> Self {
        Self::all()
    }
}

impl Addons {
    /// Returns all add-ons.
    pub fn all() -> Self {
        Self(manifest::names().map(str::to_owned).collect())
    }

    /// Returns the empty set.
    pub fn none() -> Self {
        Self(BTreeSet::new())
    }

    /// Removes the add-ons that store, show and collect logs.
    #[must_use]
    pub fn without_logging(mut self) -> Self {
        self.0.retain(|name| !LOGGING.contains(&name.as_str()));
        self
    }

    /// Removes the log collectors.
    #[must_use]
    pub fn without_collectors(mut self) -> Self {
        self.0.remove(COLLECTOR);
        self
    }

    /// Whether the set contains this add-on.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names in alphabetical order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for Addons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        f.write_str(&self.names().collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Addons {
    type Err = String;

    /// Parses `all`, `none`, or comma-separated names.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => return Ok(Self::all()),
            "none" => return Ok(Self::none()),
            _ => {}
        }
        let known: Vec<&str> = manifest::names().collect();
        let mut chosen = BTreeSet::new();
        for name in text.split(',').map(str::trim) {
            if !known.contains(&name) {
                return Err(format!("unknown add-on {name:?}; the add-ons are {}", known.join(", ")));
            }
            chosen.insert(name.to_owned());
        }
        Ok(Self(chosen))
    }
}

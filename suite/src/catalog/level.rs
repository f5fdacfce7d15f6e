//! How binding what a case checks is.

use serde::{Deserialize, Serialize};

/// How binding a requirement is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The texts say it.
    #[default]
    Must,
    /// The texts are silent and Kubernetes v1.2 does it.
    Should,
    /// An opinion of this project.
    May,
}

impl Level {
    /// All levels, the most binding first.
    pub const ALL: [Self; 3] = [Self::Must, Self::Should, Self::May];

    /// Name in the catalog and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
        }
    }
}

//! Levels of requirements.

use serde::{Deserialize, Serialize};

/// Level of a requirement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The documentation requires it.
    #[default]
    Must,
    /// The documentation says nothing, and Kubernetes v1.2 does it.
    Should,
    /// Opinion of this project, or what newer clients use.
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

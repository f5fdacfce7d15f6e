//! Resource limits of scripts.

use std::time::Duration;

/// Maximum resource usage of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum length of a script in bytes.
    pub script: usize,
    /// Maximum nesting depth of subshells, functions and substitutions.
    pub depth: usize,
    /// Maximum size in bytes of a variable's value or of an expanded word.
    pub value: usize,
    /// Maximum number of fields of a command.
    pub fields: usize,
    /// Number of commands after which the script sleeps for [`Limits::pause`].
    pub burst: u64,
    /// Pause after each burst of commands.
    pub pause: Duration,
    /// Maximum number of concurrent background jobs.
    pub jobs: usize,
    /// Maximum total size in bytes of the files of a machine.
    pub files: usize,
}

/// Limits of every script.
pub const LIMITS: Limits = Limits {
    script: 64 << 10,
    depth: 32,
    value: 1 << 20,
    fields: 100_000,
    burst: 200,
    pause: Duration::from_millis(10),
    jobs: 64,
    files: 8 << 20,
};

//! How much a script can use.

use std::time::Duration;

/// Upper bounds of one script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Longest script, in bytes.
    pub script: usize,
    /// Deepest nesting of subshells, functions and substitutions.
    pub depth: usize,
    /// Longest value of a variable or of an expanded word, in bytes.
    pub value: usize,
    /// Most fields that one command expands to.
    pub fields: usize,
    /// Commands that run without a pause; after as many, the script sleeps for [`Limits::pause`].
    pub burst: u64,
    /// Pause after each burst of commands.
    pub pause: Duration,
    /// Most background jobs at a time.
    pub jobs: usize,
    /// Most bytes of all files of a machine.
    pub files: usize,
}

/// The limits of every script.
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

//! The exit codes of the program.

/// Success.
pub const OK: u8 = 0;
/// A check failed.
pub const FAILED: u8 = 1;
/// The command line or a file that it names cannot be used.
pub const USAGE: u8 = 2;
/// The target could not be reached, or did not start.
pub const UNREACHABLE: u8 = 3;
/// No check failed, but some of level `must` were skipped.
pub const INCOMPLETE: u8 = 4;
/// A server was forced to stop: by a second signal, or because its shutdown took too long.
pub const FORCED: u8 = 5;

//! The exit codes of the program.

/// All is as it should be.
pub const OK: u8 = 0;
/// A check failed.
pub const FAILED: u8 = 1;
/// The command line or a file that it names cannot be used.
pub const USAGE: u8 = 2;
/// The target could not be reached, or did not start.
pub const UNREACHABLE: u8 = 3;
/// No check failed, but some that the documents require were not made.
pub const INCOMPLETE: u8 = 4;
/// A server was stopped before everything had ended: by a second signal, or because it took too long.
pub const FORCED: u8 = 5;

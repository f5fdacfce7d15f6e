//! The program `stuntdouble`.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Requests and objects are many small allocations: with this allocator a GET takes fewer instructions than with the system's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    stuntdouble_suite::cli::main()
}

//! The program `stuntdouble`.

use std::process::ExitCode;

fn main() -> ExitCode {
    stuntdouble_suite::cli::main()
}

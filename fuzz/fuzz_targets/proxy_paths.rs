//! `ci/fuzz.sh 60 proxy_paths`
#![no_main]

use libfuzzer_sys::fuzz_target;
use stuntdouble_simulator::fuzzing;

fuzz_target!(|input: &str| fuzzing::paths(input));

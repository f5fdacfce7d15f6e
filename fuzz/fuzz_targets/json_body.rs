//! `ci/fuzz.sh 60 json_body`
#![no_main]

use libfuzzer_sys::fuzz_target;
use stuntdouble_simulator::fuzzing;

fuzz_target!(|input: &[u8]| fuzzing::json(input));

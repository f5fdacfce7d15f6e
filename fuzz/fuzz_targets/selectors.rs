//! `ci/fuzz.sh 60 selectors`
#![no_main]

use libfuzzer_sys::fuzz_target;
use stuntdouble_simulator::fuzzing;

fuzz_target!(|input: &str| fuzzing::selectors(input));

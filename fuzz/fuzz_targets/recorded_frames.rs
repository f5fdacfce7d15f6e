//! `ci/fuzz.sh 60 recorded_frames`
#![no_main]

use libfuzzer_sys::fuzz_target;
use stuntdouble_cassettes::fuzzing;

fuzz_target!(|input: (&[u8], Vec<u16>)| fuzzing::frames(input.0, &input.1));

//! `ci/fuzz.sh 60 websocket_frames`
#![no_main]

use libfuzzer_sys::fuzz_target;
use stuntdouble_simulator::fuzzing;

fuzz_target!(|input: &[u8]| fuzzing::websocket_frames(input));

//! Stuntdouble simulator.

pub mod search;

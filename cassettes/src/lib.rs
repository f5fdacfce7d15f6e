//! Stuntdouble cassettes.

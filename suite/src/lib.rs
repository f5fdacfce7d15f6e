//! Stuntdouble suite.

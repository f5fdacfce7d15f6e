//! Stuntdouble simulator.

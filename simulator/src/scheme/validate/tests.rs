//! Tables of objects with what is wrong with them.

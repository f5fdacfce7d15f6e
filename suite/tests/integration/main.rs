//! Tests of the program and of the suite.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

mod clean_up;
mod cluster;
mod controller;
mod controllers;
mod etcd;
mod far;
mod judge;
mod killed;
mod killed_search;
mod killing;
mod kube;
mod leaks;
mod left;
mod operations;
mod origins;
mod partial;
mod profiles;
mod program;
mod proxy;
mod replay;
mod replica;
mod reports;
mod run;
mod sequence;
mod serve;
mod server;

use mimalloc::MiMalloc;

/// The allocator of the program. The tests spend less time in it than in that of the system.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

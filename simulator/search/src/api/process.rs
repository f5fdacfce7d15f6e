//! This process, as its node tells about it.
//!
//! Limits: memory, processor time and open files are known on Linux only; elsewhere they are 0.

use std::fs;

/// Size of a page of memory in bytes, as Linux has it on the machines that Rust's tier 1 names.
const PAGE: u64 = 4_096;

/// Figures of this process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Process {
    pub(super) id: u32,
    /// Resident memory in bytes.
    pub(super) resident: u64,
    /// Virtual memory in bytes.
    pub(super) total: u64,
    pub(super) open_files: u64,
    pub(super) max_files: u64,
    pub(super) threads: u64,
}

impl Process {
    pub(super) fn now() -> Process {
        let memory = fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let mut pages = memory.split(' ').map(|number| number.parse::<u64>().unwrap_or(0));
        let total = pages.next().unwrap_or(0) * PAGE;
        let resident = pages.next().unwrap_or(0) * PAGE;
        let entries = |path: &str| fs::read_dir(path).map_or(0, |entries| entries.count() as u64);
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let max_files = limits
            .lines()
            .find_map(|line| line.strip_prefix("Max open files"))
            .and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        Process {
            id: std::process::id(),
            resident,
            total,
            open_files: entries("/proc/self/fd"),
            max_files: max_files.unwrap_or(0),
            threads: entries("/proc/self/task"),
        }
    }
}

//! Statistics of this process, reported as those of every node.
//!
//! Limits: memory, thread and file counts are available on Linux only, and 0 elsewhere.

use std::fs;

/// Size of a memory page in bytes, on Linux with 4 KiB pages.
const PAGE_SIZE: u64 = 4_096;

/// Statistics of this process.
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
        let total = pages.next().unwrap_or(0) * PAGE_SIZE;
        let resident = pages.next().unwrap_or(0) * PAGE_SIZE;
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

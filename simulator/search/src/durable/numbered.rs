//! Files and folders with numbered names.

use std::fs;
use std::io;
use std::path::Path;

/// Returns the numbers after a prefix in the names of a folder's entries, sorted.
pub(super) fn numbers(folder: &Path, prefix: &str) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

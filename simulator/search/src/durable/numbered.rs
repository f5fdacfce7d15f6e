//! Files and folders whose name is a word and a number.

use std::fs;
use std::io;
use std::path::Path;

/// The numbers after a word in the names that a folder has, in order.
pub(super) fn numbers(folder: &Path, word: &str) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(word));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

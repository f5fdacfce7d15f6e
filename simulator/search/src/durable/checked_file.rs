//! Small files with a checksum, which are written atomically.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::DataDirectoryError;

/// Length of the checksum line, in bytes.
const HEADER: usize = "crc32 00000000\n".len();

fn header(content: &[u8]) -> String {
    format!("crc32 {:08x}\n", crc32fast::hash(content))
}

/// Returns the temporary path of a file that is being written.
fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// Writes and syncs a file. After a crash, the file has either the old or the new content.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = temporary_path(path);
    let mut file = File::create(&new)?;
    file.write_all(header(content).as_bytes())?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Syncs the entries of a folder.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Reads a file and verifies its checksum.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, DataDirectoryError> {
    let mut content = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(DataDirectoryError::damaged(path, "it is missing"));
        }
        read => read.map_err(DataDirectoryError::io(path))?,
    };
    let rest = content.split_off(HEADER.min(content.len()));
    if content != header(&rest).as_bytes() {
        return Err(DataDirectoryError::damaged(path, "its checksum does not match"));
    }
    Ok(rest)
}

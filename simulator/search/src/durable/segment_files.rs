//! Files of a segment: a tantivy directory that is synced when the segment is committed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, FileHandle, MmapDirectory, TerminatingWrite, WatchCallback, WatchHandle, WritePtr,
};

use super::checked_file;
use super::commit::{CommittedDocument, SegmentRecord};
use super::error::DataDirectoryError;

/// File with the [`SegmentRecord`].
const RECORD: &str = "segment";

/// The files of a segment.
#[derive(Clone, Debug)]
pub(crate) struct SegmentFiles {
    /// Number of the segment's folder in the shard.
    pub(crate) number: u64,
    folder: PathBuf,
    mapped: MmapDirectory,
}

impl SegmentFiles {
    /// Opens an existing folder.
    pub(super) fn open(number: u64, folder: PathBuf) -> io::Result<SegmentFiles> {
        let mapped = MmapDirectory::open(&folder).map_err(io::Error::other)?;
        Ok(SegmentFiles { number, folder, mapped })
    }

    /// Syncs the files and writes their checksums, with the versions of the documents.
    pub(crate) fn commit(&self, documents: Vec<CommittedDocument>) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(RECORD) {
                continue;
            }
            let mut file = File::open(entry.path())?;
            let (length, checksum) = checksum(&mut file)?;
            file.sync_all()?;
            files.push((name, length, checksum));
        }
        let record = SegmentRecord { files, documents };
        let record = postcard::to_stdvec(&record).map_err(io::Error::other)?;
        checked_file::write(&self.folder.join(RECORD), &record)
    }

    /// Verifies the checksums of all files. Returns the metadata of the segment.
    pub(crate) fn verified(&self) -> Result<SegmentRecord, DataDirectoryError> {
        let path = self.folder.join(RECORD);
        let record = checked_file::read(&path)?;
        let record: SegmentRecord =
            postcard::from_bytes(&record).map_err(|error| DataDirectoryError::damaged(&path, error))?;
        for (name, length, expected) in &record.files {
            let path = self.folder.join(name);
            let mut file = match File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(DataDirectoryError::damaged(&path, "it is missing"));
                }
                opened => opened.map_err(DataDirectoryError::io(&path))?,
            };
            let found = checksum(&mut file).map_err(DataDirectoryError::io(&path))?;
            if found != (*length, *expected) {
                return Err(DataDirectoryError::damaged(&path, "its checksum does not match"));
            }
        }
        Ok(record)
    }

    /// Removes the folder. Files that are memory-mapped stay readable.
    pub(crate) fn remove(&self) {
        // Files that remain are removed at the next start.
        let _ = fs::remove_dir_all(&self.folder);
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}

/// Returns length and CRC-32 of a file.
fn checksum(file: &mut File) -> io::Result<(u64, u32)> {
    let mut hasher = crc32fast::Hasher::new();
    let mut chunk = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok((length, hasher.finalize())),
            read => {
                hasher.update(chunk.get(..read).unwrap_or_default());
                length += read as u64;
            }
        }
    }
}

/// A file that is synced by the commit, not when it is closed.
struct SegmentFile(File);

impl Write for SegmentFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for SegmentFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}

impl Directory for SegmentFiles {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.mapped.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let file = File::create_new(self.folder.join(path)).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        Ok(BufWriter::new(Box::new(SegmentFile(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        // Needs no atomicity: nothing reads the segment from disk before it is committed.
        fs::write(self.folder.join(path), content)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(callback)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

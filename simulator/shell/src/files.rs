//! Files in memory.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use tokio::sync::{Notify, futures::Notified};

/// Why a file cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileError {
    /// There is no such file or directory.
    NotFound,
    /// The path is a directory.
    IsDirectory,
    /// A part of the path is not a directory.
    NotDirectory,
    /// The file or directory exists.
    Exists,
    /// The file is mounted read-only.
    ReadOnly,
    /// The directory has entries.
    NotEmpty,
    /// The machine's files would grow beyond their limit.
    Full,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "No such file or directory",
            Self::IsDirectory => "Is a directory",
            Self::NotDirectory => "Not a directory",
            Self::Exists => "File exists",
            Self::ReadOnly => "Read-only file system",
            Self::NotEmpty => "Directory not empty",
            Self::Full => "No space left on device",
        })
    }
}

impl std::error::Error for FileError {}

enum Node {
    Directory,
    File { content: Vec<u8>, read_only: bool },
}

struct Tree {
    nodes: BTreeMap<String, Node>,
    size: usize,
}

/// The files of a machine, by absolute path. All of them together have a limit in bytes; names count as well.
pub struct Files {
    tree: std::sync::Mutex<Tree>,
    changed: Notify,
    limit: usize,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// `path` seen from `directory`, without `.`, `..` and doubled slashes.
pub(crate) fn absolute(directory: &str, path: &str) -> String {
    let from = if path.starts_with('/') { "" } else { directory };
    let mut parts: Vec<&str> = Vec::new();
    for part in from.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(end) => &path[..end],
    }
}

impl Tree {
    fn is_directory(&self, path: &str) -> bool {
        path == "/" || matches!(self.nodes.get(path), Some(Node::Directory))
    }

    /// Makes `path` and the directories above it.
    fn make_directories(&mut self, path: &str) -> Result<(), FileError> {
        if self.is_directory(path) {
            return Ok(());
        }
        if self.nodes.contains_key(path) {
            return Err(FileError::NotDirectory);
        }
        self.make_directories(parent(path))?;
        self.size += path.len();
        self.nodes.insert(path.to_owned(), Node::Directory);
        Ok(())
    }
}

impl Files {
    /// Empty directories, and room for `limit` bytes.
    pub fn new(limit: usize) -> Self {
        let files = Self {
            tree: std::sync::Mutex::new(Tree {
                nodes: BTreeMap::new(),
                size: 0,
            }),
            changed: Notify::new(),
            limit,
        };
        for directory in ["/tmp", "/dev", "/etc", "/root", "/var/log"] {
            // The tree is empty, so that nothing is in the way.
            let _ = files.tree().make_directories(directory);
        }
        files
    }

    fn tree(&self) -> std::sync::MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Puts a file at an absolute path, with the directories above it. Scripts can write it unless it is `read_only`.
    ///
    /// # Errors
    /// [`FileError::Full`] beyond the limit, and [`FileError::NotDirectory`] or [`FileError::IsDirectory`] if another file
    /// is in the way.
    pub fn mount(&self, path: &str, content: impl Into<Vec<u8>>, read_only: bool) -> Result<(), FileError> {
        let path = absolute("/", path);
        let mut tree = self.tree();
        tree.make_directories(parent(&path))?;
        self.put(&mut tree, path, content.into(), read_only)
    }

    fn put(&self, tree: &mut Tree, path: String, content: Vec<u8>, read_only: bool) -> Result<(), FileError> {
        let before = match tree.nodes.get(&path) {
            Some(Node::Directory) => return Err(FileError::IsDirectory),
            Some(Node::File { content, .. }) => content.len() + path.len(),
            None => 0,
        };
        let size = tree.size - before + content.len() + path.len();
        if size > self.limit {
            return Err(FileError::Full);
        }
        tree.size = size;
        tree.nodes.insert(path, Node::File { content, read_only });
        self.changed.notify_waiters();
        Ok(())
    }

    /// The content of the file at an absolute path.
    ///
    /// # Errors
    /// [`FileError::NotFound`] or [`FileError::IsDirectory`].
    pub fn read(&self, path: &str) -> Result<Bytes, FileError> {
        if path == "/dev/null" {
            return Ok(Bytes::new());
        }
        match self.tree().nodes.get(path) {
            Some(Node::File { content, .. }) => Ok(Bytes::copy_from_slice(content)),
            Some(Node::Directory) => Err(FileError::IsDirectory),
            None if path == "/" => Err(FileError::IsDirectory),
            None => Err(FileError::NotFound),
        }
    }

    /// Writes a file, or appends to it.
    ///
    /// # Errors
    /// As [`Files::mount`]; [`FileError::ReadOnly`] if it is mounted so; [`FileError::NotFound`] if its directory is missing.
    pub fn write(&self, path: &str, data: &[u8], append: bool) -> Result<(), FileError> {
        if path == "/dev/null" {
            return Ok(());
        }
        let mut tree = self.tree();
        let size = tree.size + data.len();
        let has_directory = tree.is_directory(parent(path));
        match tree.nodes.get_mut(path) {
            Some(Node::Directory) => return Err(FileError::IsDirectory),
            Some(Node::File { read_only: true, .. }) => return Err(FileError::ReadOnly),
            Some(Node::File { content, .. }) if append => {
                if size > self.limit {
                    return Err(FileError::Full);
                }
                content.extend_from_slice(data);
                tree.size = size;
                self.changed.notify_waiters();
                return Ok(());
            }
            Some(Node::File { .. }) => {}
            None if path == "/" => return Err(FileError::IsDirectory),
            None if has_directory => {}
            None => return Err(FileError::NotFound),
        }
        self.put(&mut tree, path.to_owned(), data.to_vec(), false)
    }

    /// Makes a directory; with `parents`, also those above it, and it may exist.
    pub(crate) fn make_directory(&self, path: &str, parents: bool) -> Result<(), FileError> {
        let mut tree = self.tree();
        if !parents && (path == "/" || tree.nodes.contains_key(path)) {
            return Err(FileError::Exists);
        }
        if !parents && !tree.is_directory(parent(path)) {
            return Err(FileError::NotFound);
        }
        if tree.size + path.len() > self.limit {
            return Err(FileError::Full);
        }
        tree.make_directories(path)
    }

    /// Removes a file; with `recursive`, also a directory with all that is in it.
    pub(crate) fn remove(&self, path: &str, recursive: bool) -> Result<(), FileError> {
        let mut tree = self.tree();
        let below = format!("{}/", path.trim_end_matches('/'));
        match tree.nodes.get(path) {
            None => return Err(FileError::NotFound),
            Some(Node::File { read_only: true, .. }) => return Err(FileError::ReadOnly),
            Some(Node::Directory) if !recursive => return Err(FileError::IsDirectory),
            Some(Node::File { .. } | Node::Directory) => {}
        }
        let gone = |name: &str| name == path || name.starts_with(&below);
        if tree
            .nodes
            .iter()
            .any(|(name, node)| gone(name) && matches!(node, Node::File { read_only: true, .. }))
        {
            return Err(FileError::ReadOnly);
        }
        tree.nodes.retain(|name, _| !gone(name));
        let size = |(name, node): (&String, &Node)| match node {
            Node::Directory => name.len(),
            Node::File { content, .. } => name.len() + content.len(),
        };
        tree.size = tree.nodes.iter().map(size).sum();
        self.changed.notify_waiters();
        Ok(())
    }

    /// The names in a directory, in order.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<String>, FileError> {
        let tree = self.tree();
        if !tree.is_directory(path) {
            return Err(if tree.nodes.contains_key(path) {
                FileError::NotDirectory
            } else {
                FileError::NotFound
            });
        }
        let below = format!("{}/", path.trim_end_matches('/'));
        let names = tree
            .nodes
            .range(below.clone()..)
            .take_while(|(name, _)| name.starts_with(&below));
        Ok(names
            .filter_map(|(name, _)| name.get(below.len()..))
            .filter(|name| !name.contains('/'))
            .map(str::to_owned)
            .collect())
    }

    /// Whether there is a directory.
    pub(crate) fn is_directory(&self, path: &str) -> bool {
        self.tree().is_directory(path)
    }

    /// The size of a file in bytes.
    pub(crate) fn size(&self, path: &str) -> Option<usize> {
        match self.tree().nodes.get(path) {
            Some(Node::File { content, .. }) => Some(content.len()),
            None if path == "/dev/null" => Some(0),
            Some(Node::Directory) | None => None,
        }
    }

    /// The next change of any file.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_without_leaving_the_root() {
        assert_eq!(absolute("/tmp", "a/./b/../c"), "/tmp/a/c");
        assert_eq!(absolute("/tmp", "../../../x"), "/x");
        assert_eq!(absolute("/tmp", "/etc//hosts"), "/etc/hosts");
    }

    #[test]
    fn a_write_beyond_the_limit_is_refused_and_changes_nothing() {
        let files = Files::new(4_096);
        files.write("/tmp/a", &[b'x'; 4_000], false).unwrap();
        assert_eq!(files.write("/tmp/a", &[b'x'; 4_000], true), Err(FileError::Full));
        assert_eq!(files.write("/tmp/b", &[b'x'; 4_000], false), Err(FileError::Full));
        assert_eq!(files.read("/tmp/a").unwrap().len(), 4_000);
        files.remove("/tmp/a", false).unwrap();
        files.write("/tmp/b", &[b'x'; 4_000], false).unwrap();
    }

    #[test]
    fn a_mounted_file_is_read_only() {
        let files = Files::new(1 << 20);
        files.mount("/etc/config/colour", "blue", true).unwrap();
        assert_eq!(files.read("/etc/config/colour").unwrap(), "blue");
        assert_eq!(
            files.write("/etc/config/colour", b"red", false),
            Err(FileError::ReadOnly)
        );
        assert_eq!(files.remove("/etc", true), Err(FileError::ReadOnly));
        assert_eq!(files.list("/etc/config").unwrap(), ["colour"]);
        assert_eq!(files.list("/etc").unwrap(), ["config"]);
    }
}

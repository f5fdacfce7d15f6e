//! An in-memory file system.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use tokio::sync::{Notify, futures::Notified};

/// An error of a file operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileError {
    /// The file or directory does not exist.
    NotFound,
    /// The path is a directory.
    IsDirectory,
    /// A component of the path is not a directory.
    NotDirectory,
    /// The file or directory already exists.
    Exists,
    /// The file is mounted read-only.
    ReadOnly,
    /// The directory is not empty.
    NotEmpty,
    /// The size limit of the machine's files is exceeded.
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
    Directory {
        mode: u32,
    },
    File {
        content: Vec<u8>,
        mode: u32,
        read_only: bool,
    },
}

/// Mode of a new directory.
const DIRECTORY_MODE: u32 = 0o755;

/// Mode of a new file.
const FILE_MODE: u32 = 0o644;

/// Other files, mounted at a directory.
struct Mount {
    at: String,
    files: Arc<Files>,
    read_only: bool,
}

struct Tree {
    nodes: BTreeMap<String, Node>,
    size: usize,
}

/// The files of a machine, by absolute path. Their total size has a limit in bytes, which includes their names.
pub struct Files {
    tree: std::sync::Mutex<Tree>,
    mounts: std::sync::Mutex<Vec<Mount>>,
    changed: Arc<Notify>,
    /// Notified after changes: the machines that mount these files.
    watchers: std::sync::Mutex<Vec<Weak<Notify>>>,
    limit: usize,
    filesystem: std::sync::OnceLock<&'static str>,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// Resolves `path` relative to `directory`, without `.`, `..` and repeated slashes.
pub fn absolute(directory: &str, path: &str) -> String {
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
        path == "/" || matches!(self.nodes.get(path), Some(Node::Directory { .. }))
    }

    /// Creates `path` and its parent directories.
    fn make_directories(&mut self, path: &str) -> Result<(), FileError> {
        if self.is_directory(path) {
            return Ok(());
        }
        if self.nodes.contains_key(path) {
            return Err(FileError::NotDirectory);
        }
        self.make_directories(parent(path))?;
        self.size += path.len();
        let mode = DIRECTORY_MODE;
        self.nodes.insert(path.to_owned(), Node::Directory { mode });
        Ok(())
    }
}

impl Files {
    /// Creates the standard directories of a machine, with a limit of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        let files = Self::volume(limit);
        for directory in ["/tmp", "/dev", "/etc", "/root", "/var/log"] {
            // The tree is empty, so that no file conflicts.
            let _ = files.tree().make_directories(directory);
        }
        files
    }

    /// Creates an empty volume to be mounted, with a limit of `limit` bytes.
    pub fn volume(limit: usize) -> Self {
        Self {
            tree: std::sync::Mutex::new(Tree {
                nodes: BTreeMap::new(),
                size: 0,
            }),
            mounts: std::sync::Mutex::default(),
            changed: Arc::default(),
            watchers: std::sync::Mutex::default(),
            limit,
            filesystem: std::sync::OnceLock::new(),
        }
    }

    /// Sets the file system type shown by `stat -f`. Default: `ext4`.
    #[must_use]
    pub fn of_filesystem(self, name: &'static str) -> Self {
        Self {
            filesystem: name.into(),
            ..self
        }
    }

    /// Returns the file system type at a path.
    pub(crate) fn filesystem(&self, path: &str) -> &'static str {
        match self.mounted(path) {
            Some((files, inner, _)) => files.filesystem(&inner),
            None => self.filesystem.get().unwrap_or(&"ext4"),
        }
    }

    /// Mounts a volume at a directory, which is created. Scripts cannot write to a `read_only` mount.
    ///
    /// # Errors
    /// [`FileError::NotDirectory`] if the path contains a file.
    pub fn attach(&self, path: &str, volume: Arc<Self>, read_only: bool) -> Result<(), FileError> {
        let at = absolute("/", path);
        self.tree().make_directories(&at)?;
        locked(&volume.watchers).push(Arc::downgrade(&self.changed));
        let mut mounts = locked(&self.mounts);
        mounts.push(Mount {
            at,
            files: volume,
            read_only,
        });
        // The deepest mount is found first.
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.at.len()));
        Ok(())
    }

    /// Returns the mounted files that contain `path`, the path inside them, and whether they are read-only.
    fn mounted(&self, path: &str) -> Option<(Arc<Self>, String, bool)> {
        locked(&self.mounts).iter().find_map(|mount| {
            let rest = path.strip_prefix(&mount.at)?;
            let inner = if rest.is_empty() { "/" } else { rest };
            inner
                .starts_with('/')
                .then(|| (mount.files.clone(), inner.to_owned(), mount.read_only))
        })
    }

    /// Like [`Self::mounted`], but fails if the mount is read-only.
    fn writable(&self, path: &str) -> Result<Option<(Arc<Self>, String)>, FileError> {
        match self.mounted(path) {
            Some((_, _, true)) => Err(FileError::ReadOnly),
            other => Ok(other.map(|(files, inner, _)| (files, inner))),
        }
    }

    fn notify(&self) {
        self.changed.notify_waiters();
        locked(&self.watchers).retain(|watcher| match watcher.upgrade() {
            Some(watcher) => {
                watcher.notify_waiters();
                true
            }
            None => false,
        });
    }

    fn tree(&self) -> std::sync::MutexGuard<'_, Tree> {
        locked(&self.tree)
    }

    /// Adds a file at an absolute path, with its parent directories. Scripts can write to it unless it is
    /// `read_only`.
    ///
    /// # Errors
    /// [`FileError::Full`] beyond the limit; [`FileError::NotDirectory`] or [`FileError::IsDirectory`] if another
    /// file conflicts.
    pub fn mount(&self, path: &str, content: impl Into<Vec<u8>>, read_only: bool) -> Result<(), FileError> {
        let path = absolute("/", path);
        let mut tree = self.tree();
        tree.make_directories(parent(&path))?;
        self.put(&mut tree, path, content.into(), read_only)
    }

    /// Replaces all files by these, given by path with content and mode. Unchanged files are kept.
    ///
    /// # Errors
    /// Those of [`Files::mount`].
    pub fn replace(&self, files: &BTreeMap<String, (Vec<u8>, u32)>) -> Result<(), FileError> {
        let wanted: BTreeSet<String> = files.keys().map(|path| absolute("/", path)).collect();
        let before: Vec<String> = self.tree().nodes.keys().cloned().collect();
        for path in before {
            let below = format!("{path}/");
            if !wanted.iter().any(|kept| *kept == path || kept.starts_with(&below)) {
                let _gone = self.remove(&path, true);
            }
        }
        for (path, (content, mode)) in files {
            if self
                .read(&absolute("/", path))
                .is_ok_and(|old| old == content.as_slice())
            {
                continue;
            }
            self.mount(path, content.clone(), false)?;
            self.set_mode(&absolute("/", path), *mode)?;
        }
        Ok(())
    }

    /// Returns the mode of a file or directory: the lower nine bits and the sticky bit.
    pub fn mode(&self, path: &str) -> Option<u32> {
        if let Some((files, inner, _)) = self.mounted(path) {
            return files.mode(&inner);
        }
        match self.tree().nodes.get(path) {
            Some(Node::Directory { mode } | Node::File { mode, .. }) => Some(*mode),
            None if path == "/" => Some(DIRECTORY_MODE),
            None if path == "/dev/null" => Some(0o666),
            None => None,
        }
    }

    /// Changes the mode of a file or directory.
    ///
    /// [`FileError::NotFound`] if it does not exist.
    pub fn set_mode(&self, path: &str, new: u32) -> Result<(), FileError> {
        if let Some((files, inner)) = self.writable(path)? {
            return files.set_mode(&inner, new);
        }
        let mut tree = self.tree();
        if path == "/" {
            tree.nodes
                .entry("/".to_owned())
                .or_insert(Node::Directory { mode: new });
        }
        match tree.nodes.get_mut(path) {
            Some(Node::Directory { mode } | Node::File { mode, .. }) => {
                *mode = new;
                Ok(())
            }
            None => Err(FileError::NotFound),
        }
    }

    fn put(&self, tree: &mut Tree, path: String, content: Vec<u8>, read_only: bool) -> Result<(), FileError> {
        let before = match tree.nodes.get(&path) {
            Some(Node::Directory { .. }) => return Err(FileError::IsDirectory),
            Some(Node::File { content, .. }) => content.len() + path.len(),
            None => 0,
        };
        let mode = match tree.nodes.get(&path) {
            Some(Node::File { mode, .. }) => *mode,
            _ => FILE_MODE,
        };
        let size = tree.size - before + content.len() + path.len();
        if size > self.limit {
            return Err(FileError::Full);
        }
        tree.size = size;
        let node = Node::File {
            content,
            mode,
            read_only,
        };
        tree.nodes.insert(path, node);
        self.notify();
        Ok(())
    }

    /// Returns the content of the file at an absolute path.
    ///
    /// # Errors
    /// [`FileError::NotFound`] or [`FileError::IsDirectory`].
    pub fn read(&self, path: &str) -> Result<Bytes, FileError> {
        if path == "/dev/null" {
            return Ok(Bytes::new());
        }
        if let Some((files, inner, _)) = self.mounted(path) {
            return files.read(&inner);
        }
        match self.tree().nodes.get(path) {
            Some(Node::File { content, .. }) => Ok(Bytes::copy_from_slice(content)),
            Some(Node::Directory { .. }) => Err(FileError::IsDirectory),
            None if path == "/" => Err(FileError::IsDirectory),
            None => Err(FileError::NotFound),
        }
    }

    /// Writes a file, or appends to it.
    ///
    /// # Errors
    /// Those of [`Files::mount`]; [`FileError::ReadOnly`] if it is mounted read-only; [`FileError::NotFound`] if its
    /// directory does not exist.
    pub fn write(&self, path: &str, data: &[u8], append: bool) -> Result<(), FileError> {
        if path == "/dev/null" {
            return Ok(());
        }
        if let Some((files, inner)) = self.writable(path)? {
            return files.write(&inner, data, append);
        }
        let mut tree = self.tree();
        let size = tree.size + data.len();
        let has_directory = tree.is_directory(parent(path));
        match tree.nodes.get_mut(path) {
            Some(Node::Directory { .. }) => return Err(FileError::IsDirectory),
            Some(Node::File { read_only: true, .. }) => return Err(FileError::ReadOnly),
            Some(Node::File { content, .. }) if append => {
                if size > self.limit {
                    return Err(FileError::Full);
                }
                content.extend_from_slice(data);
                tree.size = size;
                self.notify();
                return Ok(());
            }
            Some(Node::File { .. }) => {}
            None if path == "/" => return Err(FileError::IsDirectory),
            None if has_directory => {}
            None => return Err(FileError::NotFound),
        }
        self.put(&mut tree, path.to_owned(), data.to_vec(), false)
    }

    /// Creates a directory. With `parents`, also creates its parents, and it may already exist.
    pub(crate) fn make_directory(&self, path: &str, parents: bool) -> Result<(), FileError> {
        if let Some((files, inner)) = self.writable(path)? {
            return files.make_directory(&inner, parents);
        }
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

    /// Removes a file. With `recursive`, also removes a directory and its contents.
    pub(crate) fn remove(&self, path: &str, recursive: bool) -> Result<(), FileError> {
        if let Some((files, inner)) = self.writable(path)? {
            return files.remove(&inner, recursive);
        }
        let mut tree = self.tree();
        let below = format!("{}/", path.trim_end_matches('/'));
        match tree.nodes.get(path) {
            None => return Err(FileError::NotFound),
            Some(Node::File { read_only: true, .. }) => return Err(FileError::ReadOnly),
            Some(Node::Directory { .. }) if !recursive => return Err(FileError::IsDirectory),
            Some(Node::File { .. } | Node::Directory { .. }) => {}
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
            Node::Directory { .. } => name.len(),
            Node::File { content, .. } => name.len() + content.len(),
        };
        tree.size = tree.nodes.iter().map(size).sum();
        self.notify();
        Ok(())
    }

    /// Returns the names in a directory, sorted.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<String>, FileError> {
        if let Some((files, inner, _)) = self.mounted(path) {
            return files.list(&inner);
        }
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
            .filter(|name| !name.is_empty() && !name.contains('/'))
            .map(str::to_owned)
            .collect())
    }

    /// Whether the directory exists.
    pub fn is_directory(&self, path: &str) -> bool {
        if let Some((files, inner, _)) = self.mounted(path) {
            return files.is_directory(&inner);
        }
        self.tree().is_directory(path)
    }

    /// Returns the size of a file in bytes.
    pub fn size(&self, path: &str) -> Option<usize> {
        if let Some((files, inner, _)) = self.mounted(path) {
            return files.size(&inner);
        }
        match self.tree().nodes.get(path) {
            Some(Node::File { content, .. }) => Some(content.len()),
            None if path == "/dev/null" => Some(0),
            Some(Node::Directory { .. }) | None => None,
        }
    }

    /// Completes at the next change of any file.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }
}

fn locked<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

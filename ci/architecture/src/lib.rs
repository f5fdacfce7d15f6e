//! The structure of a crate, read from its sources: its modules, their dependencies and their string literals.
//!
//! - Sources are parsed, so groups, renamed imports, re-exports and paths in expressions are resolved.
//! - Code under `#[cfg(test)]` and files that only tests declare are ignored.
//! - A name belongs to the file that defines it: importing it through a re-export is a dependency on that file, and the
//!   re-export itself is none.
//!
//! Limits: methods and fields are not resolved. Of the arguments of a macro only the paths and the literals are seen.

mod collect;
mod graph;
mod module;

use std::{io, path::PathBuf};

pub use graph::Graph;
pub use module::{Crate, Literal, Module};

/// The error of reading the structure of a crate.
#[derive(Debug, thiserror::Error)]
pub enum StructureError {
    /// A file or folder cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Path of the file or folder.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A file is not valid Rust.
    #[error("cannot parse {path}: {source}")]
    Parse {
        /// Path of the file or folder.
        path: PathBuf,
        /// Cause.
        source: syn::Error,
    },
}

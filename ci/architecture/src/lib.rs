//! The structure of a crate, read from its sources: its modules, what each names of the others, and what it says in text.
//!
//! - Sources are parsed, so that groups, renamed imports, re-exports and paths in expressions count as what they are.
//! - Code under `#[cfg(test)]` and files that only tests declare are left out, wherever they stand.
//! - A name belongs to the file that defines it: importing it through a re-export ties the importer to that file, and the re-export
//!   ties nobody.
//!
//! Limits: methods and fields are not followed, and of a macro's arguments only the paths that begin with `crate` and the
//! literals are seen.

mod collect;
mod graph;
mod module;

use std::{io, path::PathBuf};

pub use graph::Graph;
pub use module::{Crate, Literal, Module};

/// Why the structure of a crate cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StructureError {
    /// A file or folder cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is no Rust.
    #[error("cannot parse {path}: {source}")]
    Parse {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: syn::Error,
    },
}

//! Settings of the cluster and of indices that block operations.

use serde_json::{Map, Value, json};

use crate::error::{Result, SearchError};
use crate::exception::Exception;

/// Operations that a setting can block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Searches and reads of documents.
    Read,
    /// Writes of documents.
    Write,
    /// Changes and descriptions of indices, templates, settings, mappings, aliases and warmers.
    Metadata,
}

impl Block {
    /// Name in the state of the cluster.
    fn name(self) -> &'static str {
        match self {
            Block::Read => "read",
            Block::Write => "write",
            Block::Metadata => "metadata",
        }
    }
}

/// A setting that blocks operations.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BlockSetting {
    pub(super) name: &'static str,
    /// Number of the block in errors and in the state of the cluster.
    number: u8,
    description: &'static str,
    operations: &'static [Block],
}

const fn block(
    name: &'static str,
    number: u8,
    description: &'static str,
    operations: &'static [Block],
) -> BlockSetting {
    BlockSetting {
        name,
        number,
        description,
        operations,
    }
}

const CHANGES: &[Block] = &[Block::Write, Block::Metadata];

/// The setting that makes the cluster read-only.
pub(super) static READ_ONLY: BlockSetting = block("cluster.blocks.read_only", 6, "cluster read-only (api)", CHANGES);

/// The settings of an index.
pub(super) static OF_INDEX: [BlockSetting; 4] = [
    block("index.blocks.read_only", 5, "index read-only (api)", CHANGES),
    block("index.blocks.read", 7, "index read (api)", &[Block::Read]),
    block("index.blocks.write", 8, "index write (api)", &[Block::Write]),
    block("index.blocks.metadata", 9, "index metadata (api)", &[Block::Metadata]),
];

/// The block of a closed index.
pub(super) static CLOSED: BlockSetting = block("", 4, "index closed", &[Block::Read, Block::Write]);

/// Describes blocks as in the state of the cluster.
pub(super) fn describe<'a>(blocks: impl IntoIterator<Item = &'a BlockSetting>) -> Map<String, Value> {
    let described = blocks.into_iter().map(|block| {
        let levels: Vec<&str> = block.operations.iter().map(|operation| operation.name()).collect();
        let shown = json!({"description": block.description, "retryable": false, "levels": levels});
        (block.number.to_string(), shown)
    });
    described.collect()
}

/// Fails if one of these settings blocks an operation.
pub(super) fn check(blocks: impl IntoIterator<Item = &'static BlockSetting>, operation: Block) -> Result<()> {
    let mut found: Vec<&BlockSetting> = Vec::new();
    for block in blocks {
        if block.operations.contains(&operation) && !found.contains(&block) {
            found.push(block);
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let reasons: String = found
        .iter()
        .map(|block| format!("[FORBIDDEN/{}/{}];", block.number, block.description))
        .collect();
    Err(SearchError::new(
        403,
        Exception::ClusterBlock,
        format!("blocked by: {reasons}"),
    ))
}

/// Returns whether names of settings are only that of the block of a read-only cluster.
pub(crate) fn only_read_only<'a>(mut names: impl Iterator<Item = &'a String>) -> bool {
    names.next().is_some_and(|name| name == READ_ONLY.name) && names.next().is_none()
}

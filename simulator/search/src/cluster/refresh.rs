//! Refreshes: writing the buffered documents of shards to segments, on all processors.
//!
//! Limits: as many threads as processors, for all servers of a process. They are not those of searches, because a
//! refresh waits for merges of its shard.

use std::borrow::Borrow;
use std::sync::LazyLock;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::Index;
use crate::error::Result;
use crate::index::Shard;

/// The threads; `None` if they cannot be started.
static THREADS: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let builder = ThreadPoolBuilder::new().thread_name(|number| format!("refresh-{number}"));
    builder.build().ok()
});

/// Makes the changes of a shard so far visible to searches, as [`refresh`] does.
pub(crate) fn refresh_shard(index: &Index, number: u32) -> Result<()> {
    let Some(shard) = index.shards.get(number as usize) else {
        return Ok(());
    };
    shard.refresh()?;
    if index.background { Ok(()) } else { shard.maybe_merge() }
}

/// Makes all changes so far visible to searches. Merges segments too, unless a background thread does.
pub(crate) fn refresh(indices: &[impl Borrow<Index>]) -> Result<()> {
    let indices = indices.iter().map(Borrow::borrow);
    let shards: Vec<&Shard> = indices.clone().flat_map(|index| &index.shards).collect();
    match &*THREADS {
        Some(threads) if shards.len() > 1 => {
            threads.install(|| shards.into_par_iter().try_for_each(Shard::refresh))?;
        }
        _ => shards.into_iter().try_for_each(Shard::refresh)?,
    }
    let mut merged = indices.filter(|index| !index.background);
    merged.try_for_each(Index::merge)
}

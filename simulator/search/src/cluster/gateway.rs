//! Loading and saving of a cluster in a data directory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Cluster;
use super::index::Index;
use super::template::Template;
use crate::durable::{DataDirectory, DataDirectoryError, Operation};
use crate::error::Result;
use crate::options::Options;

/// Contents of a data directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataDirectorySummary {
    /// Number of indices.
    pub indices: usize,
    /// Number of documents in the segments.
    pub documents: u64,
    /// Number of operations in the translogs.
    pub operations: u64,
}

impl Cluster {
    /// Opens the cluster of a data directory. Creates the directory if there is none.
    ///
    /// # Errors
    /// [`DataDirectoryError`]. Existing data is never emptied or reinitialized.
    pub(crate) fn open(options: Options, path: &Path) -> Result<Cluster, DataDirectoryError> {
        let directory = DataDirectory::open(path)?;
        let mut cluster = Cluster::read(options, &directory)?;
        let now = (cluster.options.ticks)();
        for index in cluster.indices() {
            index.start(now)?;
        }
        directory
            .save(cluster.saved(cluster.starts + 1))
            .map_err(|source| DataDirectoryError::Io {
                path: path.to_owned(),
                source,
            })?;
        *cluster.directory.get_mut() = Some(directory);
        Ok(cluster)
    }

    /// Checks a data directory that is not in use.
    ///
    /// # Errors
    /// [`DataDirectoryError`].
    pub(crate) fn check(path: &Path) -> Result<DataDirectorySummary, DataDirectoryError> {
        let directory = DataDirectory::open_to_check(path)?;
        let cluster = Cluster::read(Options::default(), &directory)?;
        let mut summary = DataDirectorySummary::default();
        for index in cluster.indices() {
            summary.indices += 1;
            summary.documents += u64::from(index.live_docs());
            for shard in &index.shards {
                shard.replay(|_: Operation<'_>| Ok(()))?;
                summary.operations += shard.recovery().map_or(0, |recovery| recovery.operations);
            }
        }
        Ok(summary)
    }

    fn read(options: Options, directory: &DataDirectory) -> Result<Cluster, DataDirectoryError> {
        let state = directory.cluster()?;
        let mut cluster = Cluster::new(options);
        cluster.starts = state["starts"].as_u64().unwrap_or(0);
        let templates = state["templates"].as_object().into_iter().flatten();
        let templates: Result<BTreeMap<String, Template>> = templates
            .map(|(name, template)| Ok((name.clone(), Template::restore(template)?)))
            .collect();
        *cluster.templates.write() = templates.map_err(|error| directory.damaged_cluster(&error))?;
        let settings = state["settings"].as_object().into_iter().flatten();
        cluster.settings.write()[0] = settings
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect();
        for folder in directory.indices()? {
            let index = Index::open(folder, &cluster.options)?;
            cluster.indices.write().insert(index.name.clone(), Arc::new(index));
        }
        Ok(cluster)
    }

    /// Increments the version of the state and saves the templates and the cluster settings.
    pub(crate) fn metadata_changed(&self) -> Result<()> {
        self.count_change();
        let directory = self.directory.lock();
        let Some(directory) = &*directory else {
            return Ok(());
        };
        directory.save(self.saved(self.starts + 1))?;
        Ok(())
    }

    /// Returns the saved state, without the indices.
    fn saved(&self, starts: u64) -> Value {
        let templates = self.templates.read();
        let templates = templates
            .iter()
            .map(|(name, template)| (name.clone(), template.saved()));
        json!({
            "starts": starts,
            "templates": templates.collect::<Map<_, _>>(),
            "settings": self.settings.read()[0],
        })
    }

    /// Writes all changes to disk.
    pub(crate) fn flush(&self) -> Result<()> {
        let now = (self.options.ticks)();
        let mut outcome = Ok(());
        for index in self.indices() {
            outcome = outcome.and(index.flush(false, now));
        }
        outcome
    }

    /// Writes all changes to disk and unlocks the data directory. Later writes of documents fail.
    pub(crate) fn close(&self) -> Result<()> {
        let flushed = self.flush();
        for index in self.indices() {
            index.shards.iter().for_each(|shard| shard.translog.close());
        }
        self.directory.lock().take();
        flushed
    }
}

/// Flushes, so that the next start has no operations to replay.
impl Drop for Cluster {
    fn drop(&mut self) {
        if self.directory.get_mut().is_some() {
            // If the flush fails, the translogs still have the operations.
            let _ = self.flush();
        }
    }
}

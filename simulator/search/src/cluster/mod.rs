//! The state of the search cluster: indices with their settings, mappings and aliases; templates.
//!
//! Promises: an index is made on first use; names, lists and patterns of indices are resolved in one place.
//! Limits: in memory, or in a data directory too; a bounded number of indices.
//! Source: Elasticsearch 1.5.

mod index;
mod kept;
mod names;
mod node;
mod opened;
mod purge;
mod routed;
mod saved;
mod settings;
mod statistics;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use serde_json::{Map, Value, json};

use crate::durable::DataDirectory;
use crate::error::{Result, SearchError};
use crate::json;
use crate::options::Options;
use crate::query::Documents;

pub(crate) use index::{Alias, Index};
pub(crate) use names::Expand;
pub(crate) use node::{BUILD, JVM, JVM_BUILD, LUCENE, ShardCopy, VERSION, address, id_of};
pub use opened::DataDirectorySummary;
pub(crate) use settings::{Block, Settings};
pub(crate) use statistics::{Breakdown, bytes, field_data, sections};
pub(crate) use template::{Template, merge};

/// The state of the search cluster.
pub(crate) struct Cluster {
    pub(crate) options: Options,
    indices: RwLock<BTreeMap<String, Arc<Index>>>,
    pub(crate) templates: RwLock<BTreeMap<String, Template>>,
    /// Persistent and transient settings.
    pub(crate) settings: RwLock<[BTreeMap<String, String>; 2]>,
    /// How often its data directory was opened before to serve from it.
    pub(crate) starts: u64,
    /// `None` in memory.
    directory: Mutex<Option<DataDirectory>>,
    version: std::sync::atomic::AtomicU64,
}

impl Cluster {
    /// An empty cluster in memory.
    pub(crate) fn new(options: Options) -> Cluster {
        Cluster {
            options,
            starts: 0,
            directory: Mutex::default(),
            indices: RwLock::default(),
            templates: RwLock::default(),
            settings: RwLock::default(),
            version: std::sync::atomic::AtomicU64::new(1),
        }
    }

    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        (self.options.clock)().as_millisecond()
    }

    /// How often the state has changed.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Counts a change of the state, and writes the changed indices to the disk.
    pub(crate) fn changed(&self, indices: &[Arc<Index>]) -> Result<()> {
        self.count_change();
        indices.iter().try_for_each(|index| index.save())
    }

    fn count_change(&self) {
        self.version.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// All indices, by name.
    pub(crate) fn indices(&self) -> Vec<Arc<Index>> {
        self.indices.read().values().cloned().collect()
    }

    /// The index of that very name.
    pub(crate) fn index(&self, name: &str) -> Option<Arc<Index>> {
        self.indices.read().get(name).cloned()
    }

    /// The index that a name stands for in a write: its own, or an alias of one; made if it is not there.
    ///
    /// # Errors
    /// An index that is closed or blocked, an alias of several.
    pub(crate) fn index_for_write(&self, name: &str) -> Result<Arc<Index>> {
        let index = self.index_or_made(name)?;
        if index.is_closed() {
            let reason = format!("[{}] closed", index.name);
            return Err(SearchError::new(403, "IndexClosedException", reason));
        }
        index.check_block(Block::Write)?;
        Ok(index)
    }

    fn index_or_made(&self, name: &str) -> Result<Arc<Index>> {
        if let Some(index) = self.index(name) {
            return Ok(index);
        }
        let aliased: Vec<Arc<Index>> = self
            .indices
            .read()
            .values()
            .filter(|index| index.aliases.read().contains_key(name))
            .cloned()
            .collect();
        match aliased.as_slice() {
            [only] => Ok(only.clone()),
            [] => match self.create(name, None) {
                Err(error) if error.kind == "IndexAlreadyExistsException" => {
                    self.index(name).ok_or_else(|| SearchError::index_missing(name))
                }
                created => created,
            },
            _ => Err(SearchError::illegal(format!(
                "Alias [{name}] has more than one indices associated with it, can't execute a single index op"
            ))),
        }
    }

    /// Makes an index, as its body and the templates that fit its name say.
    ///
    /// # Errors
    /// A name that is taken or none, too many indices, settings or mappings that are not understood.
    pub(crate) fn create(&self, name: &str, body: Option<&Value>) -> Result<Arc<Index>> {
        names::check(name)?;
        if self.index(name).is_some() {
            return Err(SearchError::new(
                400,
                "IndexAlreadyExistsException",
                format!("[{name}] already exists"),
            ));
        }
        if self
            .indices
            .read()
            .values()
            .any(|index| index.aliases.read().contains_key(name))
        {
            return Err(SearchError::new(
                400,
                "InvalidIndexNameException",
                format!("[{name}] Invalid index name [{name}], already exists as alias"),
            ));
        }
        let mut settings = Settings::default();
        let mut mappings: Map<String, Value> = Map::new();
        let mut aliases: BTreeMap<String, Alias> = BTreeMap::new();
        let mut fitting: Vec<Template> = self
            .templates
            .read()
            .values()
            .filter(|template| crate::pattern::matches(&template.pattern, name))
            .cloned()
            .collect();
        fitting.sort_by_key(|template| template.order);
        for template in &fitting {
            settings.extend(&template.settings);
            for (type_name, mapping) in &template.mappings {
                template::merge(
                    mappings
                        .entry(type_name.clone())
                        .or_insert_with(|| Value::Object(Map::new())),
                    mapping,
                );
            }
            aliases.extend(
                template
                    .aliases
                    .iter()
                    .map(|(alias, definition)| (alias.replace("{index}", name), Alias::parse(definition))),
            );
        }
        if let Some(body) = body {
            let parts = body
                .as_object()
                .ok_or_else(|| SearchError::parse("the body of an index must be an object"))?;
            let known = ["settings", "mappings", "aliases", "warmers"];
            if let Some(other) = known[..3]
                .iter()
                .find_map(|key| parts.get(*key).filter(|part| !part.is_object()))
            {
                let reason = format!("{} cannot be cast to java.util.Map", json::java_class(other));
                return Err(SearchError::new(500, "ClassCastException", reason));
            }
            match parts.get("settings") {
                Some(given) => settings.extend(&Settings::parse(given)),
                // A body without sections is settings alone.
                None if !parts.keys().any(|key| known.contains(&key.as_str())) => {
                    settings.extend(&Settings::parse(body))
                }
                None => {}
            }
            if let Some(Value::Object(given)) = parts.get("mappings") {
                for (type_name, mapping) in given {
                    template::merge(
                        mappings
                            .entry(type_name.clone())
                            .or_insert_with(|| Value::Object(Map::new())),
                        mapping,
                    );
                }
            }
            if let Some(Value::Object(given)) = parts.get("aliases") {
                aliases.extend(
                    given
                        .iter()
                        .map(|(alias, definition)| (alias.clone(), Alias::parse(definition))),
                );
            }
        }
        // The viewer's own index is small.
        let shards = if name.starts_with('.') { 1 } else { self.options.shards };
        settings.set_default("index.number_of_shards", &shards.to_string());
        settings.set_default("index.number_of_replicas", &self.options.replicas.to_string());
        settings.check(name)?;
        let mut index = Index::new(name, settings, self.now(), &self.options)?;
        index.change_mapping(|mapping| {
            if let Some(default) = mappings.get("_default_") {
                mapping.put("_default_", default, false)?;
            }
            for (type_name, definition) in mappings.iter().filter(|(type_name, _)| *type_name != "_default_") {
                mapping
                    .put(type_name, definition, false)
                    .map_err(|error| SearchError::mapping(format!("mapping [{type_name}]")).caused_by(error))?;
            }
            Ok::<(), SearchError>(())
        })?;
        aliases
            .iter()
            .try_for_each(|(name, alias)| index.check_alias(self, name, alias))?;
        index.aliases.write().extend(aliases);
        index.first_node = self.emptiest_node();
        if let Some(Value::Object(warmers)) = body.and_then(|body| body.get("warmers")) {
            index.warmers.write().extend(warmers.iter().map(|(name, warmer)| {
                let types = warmer.get("types").cloned().unwrap_or_else(|| json!([]));
                let source = warmer.get("source").cloned().unwrap_or_else(|| json!({}));
                (name.clone(), json!({"types": types, "source": source}))
            }));
        }
        let mut indices = self.indices.write();
        if indices.contains_key(name) {
            return Err(SearchError::new(
                400,
                "IndexAlreadyExistsException",
                format!("[{name}] already exists"),
            ));
        }
        if indices.len() >= self.options.limits.indices {
            return Err(SearchError::illegal(format!(
                "there are {} indices already, and there may be no more",
                indices.len()
            )));
        }
        let folder = match &*self.directory.lock() {
            Some(directory) => Some(directory.create(&index.saved(), index.shard_count())?),
            None => None,
        };
        if let Some(folder) = folder {
            index = Index::open(folder, &self.options).map_err(SearchError::engine)?;
            index.start((self.options.ticks)()).map_err(SearchError::engine)?;
        }
        let index = Arc::new(index);
        indices.insert(name.to_owned(), index.clone());
        drop(indices);
        self.count_change();
        self.apply_retention(Some(name))?;
        Ok(index)
    }

    /// Refreshes an index, and deletes its expired documents, if that is due. Left to the background, if there is one.
    pub(crate) fn refresh_if_due(&self, index: &Index) -> Result<()> {
        if self.options.background {
            return Ok(());
        }
        let now = (self.options.ticks)();
        self.purge_if_due(index, now)?;
        index.refresh_if_due(now, self.options.refresh_interval)?;
        index.keep(now)
    }

    /// Refreshes, merges and purges what is due, and removes what is beyond the retention.
    ///
    /// # Errors
    /// An index that fails. The others are maintained all the same.
    pub(crate) fn maintain(&self) -> Result<()> {
        let now = (self.options.ticks)();
        let mut outcome = Ok(());
        for index in self.indices() {
            let done = self
                .purge_if_due(&index, now)
                .and_then(|()| index.refresh_if_due(now, self.options.refresh_interval))
                .and_then(|()| index.merge())
                .and_then(|()| index.keep(now));
            outcome = outcome.and(done);
        }
        outcome.and(self.apply_retention(None))
    }

    /// Removes the oldest indices beyond the retention. `newest` is never removed; the size alone removes no newest index.
    fn apply_retention(&self, newest: Option<&str>) -> Result<()> {
        let Some(retention) = &self.options.retention else {
            return Ok(());
        };
        let mut kept: Vec<Arc<Index>> = self
            .indices()
            .into_iter()
            .filter(|index| crate::pattern::matches(&retention.pattern, &index.name))
            .collect();
        kept.sort_by_key(|index| std::cmp::Reverse((index.created, index.name.clone())));
        let now = self.now();
        let mut bytes = 0;
        for (rank, index) in kept.into_iter().enumerate() {
            bytes += statistics::bytes(&index);
            let age = u128::try_from(now.saturating_sub(index.created)).unwrap_or(0);
            let too_old = retention.age.is_some_and(|most| age > most.as_millis());
            let too_large = rank > 0 && retention.bytes.is_some_and(|most| bytes > most);
            if (too_old || too_large) && newest != Some(&index.name) {
                self.remove(&index.name)?;
            }
        }
        Ok(())
    }

    /// Removes an index, if it is there.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        let removed = self.indices.write().remove(name);
        self.count_change();
        removed.map_or(Ok(()), |index| index.remove())
    }
}

impl Documents for Cluster {
    fn source(&self, index: &str, type_name: &str, id: &str, routing: Option<&str>) -> Result<Option<Value>> {
        let Some(index) = self.index(index) else {
            return Ok(None);
        };
        let (_, shard) = index.shard_of(id, routing)?;
        shard
            .get(type_name, id)?
            .map(|(_, stored)| crate::json::value(stored.source()))
            .transpose()
    }
}

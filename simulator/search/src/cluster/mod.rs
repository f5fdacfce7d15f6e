//! The state of the search cluster: indices, templates and cluster settings.
//!
//! Guarantees: a write creates its index if there is none; all requests resolve index names, lists and patterns the
//! same way.
//! Limits: in memory, optionally saved in a data directory; a bounded number of indices.
//! Source: Elasticsearch 1.5.

mod alias;
mod alias_routing;
mod blocks;
mod gateway;
mod index;
mod index_gateway;
mod names;
mod node;
mod purge;
mod refresh;
mod rule;
mod schedule;
mod settings;
mod statistics;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use serde_json::{Map, Value, json};

use self::blocks::{BlockSetting, CLOSED, READ_ONLY};
use crate::durable::DataDirectory;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json;
use crate::options::Options;
use crate::query::{Documents, NamedDocument};
use crate::ties::{in_state_order, object_in_hash_order};

pub(crate) use alias::{Alias, same_as_index};
pub(crate) use blocks::{Block, only_read_only};
pub use gateway::DataDirectorySummary;
pub(crate) use index::Index;
pub(crate) use names::{Expand, check_open, check_wildcards, resolve};
pub(crate) use node::{BUILD, JVM, JVM_BUILD, LUCENE, ShardCopy, VERSION, address, id_of};
pub(crate) use refresh::{refresh, refresh_shard};
pub(crate) use rule::{Rule, rule_of};
pub(crate) use settings::Settings;
pub(crate) use statistics::{Breakdown, bytes, field_data, sections};
pub(crate) use template::{Template, merge};

/// The state of the search cluster.
pub(crate) struct Cluster {
    pub(crate) options: Options,
    indices: RwLock<BTreeMap<String, Arc<Index>>>,
    pub(crate) templates: RwLock<BTreeMap<String, Template>>,
    /// Persistent and transient settings.
    pub(crate) settings: RwLock<[BTreeMap<String, String>; 2]>,
    /// How many times the data directory was opened before. 0 in memory.
    pub(crate) starts: u64,
    /// The data directory. `None` if the cluster is in memory only.
    directory: Mutex<Option<DataDirectory>>,
    /// Number of changes of the state, from 1.
    version: std::sync::atomic::AtomicU64,
}

/// Fails for a section of a new index, or a mapping, that is no object, and for counts that no index has.
pub(crate) fn check_sections(body: &Value) -> Result<()> {
    let sections = SECTIONS.iter().filter_map(|key| {
        let own = body.get(*key)?;
        // An index without settings has their defaults.
        (*key != "settings" || !own.is_null()).then_some(own)
    });
    let mappings = body.get("mappings").and_then(Value::as_object);
    let mut parts = sections.chain(mappings.into_iter().flat_map(Map::values));
    match parts.find(|part| !part.is_object()) {
        Some(other) => Err(json::not_a_map(other)),
        None => check_counts(settings_of(body).unwrap_or(&Value::Null)),
    }
}

/// Sections of the body of a new index that must be objects.
const SECTIONS: [&str; 3] = ["settings", "mappings", "aliases"];

/// Returns the settings of the body of a new index: those of the section, or the whole if there is no section.
fn settings_of(body: &Value) -> Option<&Value> {
    let has_section = |key: &&str| body.get(*key).is_some();
    let own = (!SECTIONS.iter().chain(&["warmers"]).any(has_section)).then_some(body);
    body.get("settings").or(own)
}

/// Fails for a number of shards or replicas that no index has. As in Elasticsearch, under their full names only.
fn check_counts(settings: &Value) -> Result<()> {
    let mut problems = Vec::new();
    json::leaves("", settings, &mut |name, text| {
        let (least, what) = match name {
            "index.number_of_shards" => (1, "1 or more primary"),
            "index.number_of_replicas" => (0, "0 or more replica"),
            _ => return,
        };
        if text.parse::<i32>().is_ok_and(|count| count < least) {
            problems.push(format!("index must have {what} shards"));
        }
    });
    SearchError::validated(&problems)
}

impl Cluster {
    /// Creates an empty cluster in memory.
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

    /// Current time of the clock, in milliseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        (self.options.clock)().as_millisecond()
    }

    /// Milliseconds since a tick of the clock of the server.
    pub(crate) fn took(&self, began: std::time::Duration) -> u64 {
        let took = (self.options.ticks)().saturating_sub(began).as_millis();
        u64::try_from(took).unwrap_or(u64::MAX)
    }

    /// Version of the cluster state, which every change increments.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Increments the version of the state and saves the changed indices.
    pub(crate) fn changed(&self, indices: &[Arc<Index>]) -> Result<()> {
        self.count_change();
        indices.iter().try_for_each(|index| index.save())
    }

    fn count_change(&self) {
        self.version.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// Returns all indices, sorted by name.
    pub(crate) fn indices(&self) -> Vec<Arc<Index>> {
        self.indices.read().values().cloned().collect()
    }

    /// Returns the index with this exact name.
    pub(crate) fn index(&self, name: &str) -> Option<Arc<Index>> {
        self.indices.read().get(name).cloned()
    }

    /// Fails if a setting of the cluster or of one of these indices blocks an operation.
    pub(crate) fn check_blocks(&self, indices: &[Arc<Index>], operation: Block) -> Result<()> {
        let of_indices = indices.iter().flat_map(|index| index.settings.read().blocks());
        blocks::check(self.block().into_iter().chain(of_indices), operation)
    }

    /// Returns the block of the cluster, if it is read-only.
    fn block(&self) -> Option<&'static BlockSetting> {
        let settings = self.settings.read();
        let mut values = settings.iter().filter_map(|settings| settings.get(READ_ONLY.name));
        values.any(|value| json::is_set(value)).then_some(&READ_ONLY)
    }

    /// Describes the blocks of the cluster and of its indices.
    pub(crate) fn describe_blocks(&self) -> Value {
        let mut of_indices = Map::new();
        for index in self.indices() {
            let closed = index.is_closed().then_some(&CLOSED);
            let described = blocks::describe(closed.into_iter().chain(index.settings.read().blocks()));
            if !described.is_empty() {
                of_indices.insert(index.name.clone(), described.into());
            }
        }
        let sections = [("global", blocks::describe(self.block())), ("indices", of_indices)];
        let shown = sections.into_iter().filter(|(_, blocks)| !blocks.is_empty());
        shown
            .map(|(name, blocks)| (name.to_owned(), blocks.into()))
            .collect::<Map<_, _>>()
            .into()
    }

    /// Returns the index for a write to an index or an alias. Creates the index if there is none.
    ///
    /// # Errors
    /// A closed or blocked index, or an alias of several indices.
    pub(crate) fn index_for_write(&self, name: &str) -> Result<Arc<Index>> {
        self.check_blocks(&[], Block::Write)?;
        let index = self.index_for_types(name, &[])?;
        index.check_block(Block::Write)?;
        Ok(index)
    }

    /// Returns the open index of documents of some types, whether it may be written to or not. A new index has the
    /// types.
    pub(crate) fn index_for_types(&self, name: &str, types: &[&str]) -> Result<Arc<Index>> {
        let index = self.get_or_create(name, types)?;
        if index.is_closed() {
            return Err(names::closed(&index));
        }
        Ok(index)
    }

    fn get_or_create(&self, name: &str, types: &[&str]) -> Result<Arc<Index>> {
        if let Some(index) = self.index(name) {
            return Ok(index);
        }
        match self.single(name) {
            Err(error) if error.kind == Exception::IndexMissing => {}
            found => return found,
        }
        match self.create_with_types(name, types) {
            Err(error) if error.kind == Exception::IndexAlreadyExists => {
                self.index(name).ok_or_else(|| SearchError::index_missing(name))
            }
            created => created,
        }
    }

    /// Creates an index with empty mappings of some types.
    fn create_with_types(&self, name: &str, types: &[&str]) -> Result<Arc<Index>> {
        let mappings: Map<String, Value> = types.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        self.create(name, Some(&json!({"mappings": mappings})))
    }

    /// Creates an index from a body and the templates that match its name.
    ///
    /// # Errors
    /// A name that is taken or invalid, too many indices, invalid settings or mappings.
    pub(crate) fn create(&self, name: &str, body: Option<&Value>) -> Result<Arc<Index>> {
        self.check_blocks(self.index(name).as_slice(), Block::Metadata)?;
        names::check(name)?;
        if self.index(name).is_some() {
            return Err(SearchError::new(
                400,
                Exception::IndexAlreadyExists,
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
                Exception::InvalidIndexName,
                format!("[{name}] Invalid index name [{name}], already exists as alias"),
            ));
        }
        let mut settings = Settings::default();
        let mut mappings: Map<String, Value> = Map::new();
        let mut aliases: BTreeMap<String, Alias> = BTreeMap::new();
        let mut warmers: Map<String, Value> = Map::new();
        let mut matching: Vec<Template> = self
            .templates
            .read()
            .values()
            .filter(|template| crate::pattern::matches(&template.pattern, name))
            .cloned()
            .collect();
        matching.sort_by_key(|template| template.order);
        for template in &matching {
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
            warmers.extend(template.warmers.clone().unwrap_or_default());
        }
        if let Some(body) = body {
            let parts = body
                .as_object()
                .ok_or_else(|| SearchError::parse("the body of an index must be an object"))?;
            if let Some(given) = settings_of(body) {
                settings.extend(&Settings::parse(given));
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
                let given = alias::definitions(given)?;
                aliases.extend(
                    given
                        .iter()
                        .map(|(alias, definition)| (alias.clone(), Alias::parse(definition))),
                );
            }
            if let Some(given) = parts.get("warmers") {
                warmers.extend(template::warmers(given)?);
            }
        }
        // Indices of viewers, such as `.kibana`, are small.
        let shards = if name.starts_with('.') { 1 } else { self.options.shards };
        settings.set_default("index.number_of_shards", &shards.to_string());
        settings.set_default("index.number_of_replicas", &self.options.replicas.to_string());
        settings.check(name)?;
        settings.expand_replicas(self.options.nodes.len());
        settings.ignore_blocks();
        // As in Elasticsearch, which checks the mappings of a new index in the order of a hash map, and then merges
        // them in that of its state.
        let mappings: Vec<(String, Value)> = object_in_hash_order(mappings).into_iter().collect();
        let merged = |mappings: &[(String, Value)]| {
            let index = Index::new(name, settings.clone(), self.now(), &self.options)?;
            index.change_mapping(|mapping| {
                let (default, others): (Vec<_>, Vec<_>) = mappings.iter().partition(|(name, _)| name == "_default_");
                for (type_name, definition) in default.into_iter().chain(others) {
                    mapping
                        .put(type_name, definition, false)
                        .map_err(|error| SearchError::mapping(format!("mapping [{type_name}]")).caused_by(error))?;
                }
                Ok::<(), SearchError>(())
            })?;
            Ok::<Index, SearchError>(index)
        };
        let of_state = in_state_order(mappings.clone(), |(name, _)| name.clone());
        let mut index = merged(&of_state).map_err(|error| merged(&mappings).err().unwrap_or(error))?;
        for (alias, definition) in &aliases {
            if self.index(alias).is_some() {
                return Err(same_as_index(name, alias));
            }
            index.check_alias(self, alias, definition)?;
        }
        index.aliases.write().extend(aliases);
        index.first_node = self.least_loaded_node();
        index.warmers.write().extend(warmers);
        let mut indices = self.indices.write();
        if indices.contains_key(name) {
            return Err(SearchError::new(
                400,
                Exception::IndexAlreadyExists,
                format!("[{name}] already exists"),
            ));
        }
        if indices.len() >= self.options.limits.indices {
            return Err(SearchError::illegal(format!(
                "cannot create index [{name}]: there are {} indices, which is the maximum",
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

    /// Refreshes an index and purges its expired documents, if due. Does nothing if a background thread does.
    pub(crate) fn refresh_if_due(&self, index: &Index) -> Result<()> {
        if self.options.background {
            return Ok(());
        }
        let now = (self.options.ticks)();
        self.purge_if_due(index, now)?;
        index.refresh_if_due(now, self.options.refresh_interval)?;
        index.persist_if_due(now)
    }

    /// Refreshes, merges, purges and saves all indices as due, and applies the retention.
    ///
    /// # Errors
    /// The first error of an index. The other indices are maintained nevertheless.
    pub(crate) fn maintain(&self) -> Result<()> {
        let now = (self.options.ticks)();
        let mut outcome = Ok(());
        for index in self.indices() {
            let done = self
                .purge_if_due(&index, now)
                .and_then(|()| index.refresh_if_due(now, self.options.refresh_interval))
                .and_then(|()| index.merge())
                .and_then(|()| index.persist_if_due(now));
            outcome = outcome.and(done);
        }
        outcome.and(self.apply_retention(None))
    }

    /// Removes the oldest indices beyond the retention.
    ///
    /// The size limit never removes the newest index. `newest`, a new index, is never removed.
    fn apply_retention(&self, newest: Option<&str>) -> Result<()> {
        let Some(retention) = &self.options.retention else {
            return Ok(());
        };
        let mut by_age: Vec<Arc<Index>> = self
            .indices()
            .into_iter()
            .filter(|index| crate::pattern::matches(&retention.pattern, &index.name))
            .collect();
        by_age.sort_by_key(|index| std::cmp::Reverse((index.created, index.name.clone())));
        let now = self.now();
        let mut bytes = 0;
        for (rank, index) in by_age.into_iter().enumerate() {
            bytes += statistics::bytes(&index);
            let age = u128::try_from(now.saturating_sub(index.created)).unwrap_or(0);
            let too_old = retention.age.is_some_and(|max| age > max.as_millis());
            let too_large = rank > 0 && retention.bytes.is_some_and(|max| bytes > max);
            if (too_old || too_large) && newest != Some(&index.name) {
                self.remove(&index.name)?;
            }
        }
        Ok(())
    }

    /// Removes an index, if it exists.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        let removed = self.indices.write().remove(name);
        self.count_change();
        removed.map_or(Ok(()), |index| index.remove())
    }
}

impl Documents for Cluster {
    fn find(&self, index: &str, type_name: &str, id: &str, routing: Option<&str>) -> Result<Option<NamedDocument>> {
        let (index, routing) = self.readable(index, routing)?;
        if routing.is_none() && index.mapping().needs_routing(type_name) {
            return Err(SearchError::routing_missing(&index.name, type_name, id));
        }
        let (_, shard) = index.shard_of(id, routing.as_deref())?;
        let Some((_, stored)) = shard.get(type_name, id)? else {
            return Ok(None);
        };
        Ok(Some(NamedDocument {
            source: crate::json::value(stored.source())?,
            is_changed: shard.is_changed(type_name, id),
        }))
    }

    fn includes(&self, names: &[String], index: &str) -> bool {
        let found = self.resolve(&names.join(","), Expand::FILTER).unwrap_or_default();
        found.iter().any(|(found, _)| found.name == index)
    }
}

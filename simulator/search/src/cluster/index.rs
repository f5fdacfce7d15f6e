//! An index: settings, mapping, aliases, warmers and shards.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use serde_json::{Map, Value};

use super::alias::Alias;
use super::blocks::{self, Block};
use super::refresh::refresh;
use super::schedule::Schedule;
use crate::cluster::{Cluster, Settings};
use crate::durable::IndexFolder;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::{Condition, Encoded, ParsedDocument, Shard, VersionType, View, Written, read, version_conflict};
use crate::mapping::{Mapping, WriteTime};
use crate::options::Options;
use crate::query::{Context, PARSERS};
use crate::routing::{Placement, shard_of};

/// An index.
pub(crate) struct Index {
    pub(crate) name: String,
    pub(crate) created: i64,
    pub(crate) settings: RwLock<Settings>,
    /// A running search keeps the mapping it started with.
    mapping: RwLock<Arc<Mapping>>,
    pub(crate) aliases: RwLock<BTreeMap<String, Alias>>,
    /// Warmers by name. They are stored and returned, but never run.
    pub(crate) warmers: RwLock<BTreeMap<String, Value>>,
    pub(crate) closed: AtomicBool,
    /// Whether a background thread merges segments.
    pub(super) background: bool,
    /// The files of the index. `None` if it is in memory only.
    pub(super) folder: Option<IndexFolder>,
    /// Whether the state has changed since it was saved.
    pub(super) unsaved: AtomicBool,
    /// Locked while the state is saved.
    pub(super) saving: Mutex<()>,
    /// Times of the last periodic tasks.
    pub(super) schedule: Mutex<Schedule>,
    /// Ordinal of the node that has the primary of the first shard.
    pub(super) first_node: u32,
    /// The shards; their number is `index.number_of_shards`.
    pub(crate) shards: Vec<Shard>,
}

impl Index {
    /// Creates an empty index in memory.
    pub(super) fn new(name: &str, mut settings: Settings, created: i64, options: &Options) -> Result<Index> {
        let mut hasher = DefaultHasher::new();
        (name, created).hash(&mut hasher);
        let first = hasher.finish();
        1u8.hash(&mut hasher);
        let uuid = crate::ids::text_id(u128::from(first) << 64 | u128::from(hasher.finish()));
        settings.set_default("index.creation_date", &created.to_string());
        settings.set("index.uuid", &uuid.into());
        settings.set_default("index.version.created", "1050299");
        let mapping = Mapping::new(settings.configuration()?, options.limits.fields)?;
        let shards = (0..settings.shards()).map(Shard::new).collect();
        Ok(Index::from_parts(name, created, settings, mapping, shards, options))
    }

    /// Creates an index without aliases and warmers.
    pub(super) fn from_parts(
        name: &str,
        created: i64,
        settings: Settings,
        mapping: Mapping,
        shards: Vec<Shard>,
        options: &Options,
    ) -> Index {
        Index {
            name: name.to_owned(),
            created,
            settings: RwLock::new(settings),
            mapping: RwLock::new(Arc::new(mapping)),
            background: options.background,
            folder: None,
            unsaved: AtomicBool::new(false),
            saving: Mutex::default(),
            schedule: Mutex::new(Schedule::starting_at((options.ticks)())),
            aliases: RwLock::default(),
            warmers: RwLock::default(),
            closed: AtomicBool::new(false),
            first_node: 0,
            shards,
        }
    }

    /// Returns the current mapping.
    pub(crate) fn mapping(&self) -> Arc<Mapping> {
        self.mapping.read().clone()
    }

    /// Changes the mapping. Running searches keep the old one.
    pub(crate) fn change_mapping<T>(&self, change: impl FnOnce(&mut Mapping) -> T) -> T {
        let changed = change(Arc::make_mut(&mut self.mapping.write()));
        self.unsaved.store(true, Ordering::Release);
        changed
    }

    /// Applies the changed settings of analyzers, similarities, fields and queries. A closed index does so when it is
    /// opened.
    ///
    /// # Errors
    /// Invalid settings.
    pub(crate) fn reconfigure(&self) -> Result<()> {
        let configuration = {
            let settings = self.settings.read();
            settings.check(&self.name)?;
            settings.configuration()?
        };
        self.change_mapping(|mapping| {
            *mapping = mapping.with_configuration(configuration)?;
            Ok(())
        })
    }

    /// Adds an empty mapping of a type, unless the type is mapped.
    pub(crate) fn ensure_type(&self, type_name: &str) -> Result<()> {
        if self.mapping().type_mapping(type_name).is_some() {
            return Ok(());
        }
        self.change_mapping(|mapping| mapping.ensure_type(type_name))
    }

    /// Number of shards.
    pub(crate) fn shard_count(&self) -> u32 {
        u32::try_from(self.shards.len()).unwrap_or(1)
    }

    /// Returns the shard of a document, with its number. Default routing value: the id.
    pub(crate) fn shard_of(&self, id: &str, routing: Option<&str>) -> Result<(u32, &Shard)> {
        let number = shard_of(routing.unwrap_or(id), self.shard_count());
        self.shards
            .get(number as usize)
            .map(|shard| (number, shard))
            .ok_or_else(|| SearchError::engine("a routing value selects no shard"))
    }

    /// Merges segments of similar size.
    pub(crate) fn merge(&self) -> Result<()> {
        self.shards.iter().try_for_each(Shard::maybe_merge)
    }

    /// Returns the current views of the shards, in order.
    pub(crate) fn views(&self) -> Vec<Arc<View>> {
        self.shards.iter().map(Shard::view).collect()
    }

    /// Number of live documents visible to searches.
    pub(crate) fn live_docs(&self) -> u32 {
        self.views().iter().map(|view| view.live_docs()).sum()
    }

    pub(crate) fn replicas(&self) -> u32 {
        self.settings.read().number("index.number_of_replicas", 1)
    }

    /// Fails if a setting of the index blocks an operation.
    pub(crate) fn check_block(&self, operation: Block) -> Result<()> {
        blocks::check(self.settings.read().blocks(), operation)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Fails if a document has a version other than the wanted one.
    pub(crate) fn check_version(
        &self,
        shard: u32,
        type_name: &str,
        id: &str,
        (current, wanted): (u64, u64),
    ) -> Result<()> {
        if current == wanted {
            return Ok(());
        }
        let error = version_conflict(&format!("{type_name}][{id}"), &current.to_string(), wanted);
        Err(self.located(shard, error))
    }

    /// Adds index and shard to the reason of a version conflict.
    fn located(&self, shard: u32, error: SearchError) -> SearchError {
        match error.kind {
            Exception::DocumentAlreadyExists | Exception::VersionConflictEngine => SearchError {
                reason: format!("[{}][{shard}] {}", self.name, error.reason),
                ..error
            },
            _ => error,
        }
    }

    /// Deletes a document.
    pub(crate) fn delete(
        &self,
        type_name: &str,
        id: &str,
        routing: Option<&str>,
        condition: Condition,
        now: Duration,
    ) -> Result<Written> {
        let (number, shard) = self.shard_of(id, routing)?;
        let began = Instant::now();
        let written = shard
            .delete(type_name, id, condition, now)
            .inspect(|_| shard.counters.deleted(type_name, began))
            .map_err(|error| self.located(number, error));
        // The mapping may have a new type, whether the deletion succeeds or not.
        self.sync_each([shard])?;
        written
    }

    /// Deletes a document in every shard: without the routing value that its type needs, it may be in any. Version
    /// conflicts are ignored.
    ///
    /// # Errors
    /// A version type other than the internal one.
    pub(crate) fn delete_everywhere(
        &self,
        type_name: &str,
        id: &str,
        condition: Condition,
        now: Duration,
    ) -> Result<Written> {
        if condition.version_type != VersionType::Internal {
            let reason = format!(
                "routing value is required for deleting documents of type [{type_name}] while using version_type [{}]",
                condition.version_type.name()
            );
            return Err(SearchError::illegal(reason));
        }
        let began = Instant::now();
        let mut written = Written {
            version: 1,
            fresh: false,
        };
        for shard in &self.shards {
            match shard.delete(type_name, id, condition, now) {
                Ok(deleted) if !written.fresh => {
                    written = deleted;
                    shard.counters.deleted(type_name, began);
                }
                Err(error) if error.kind != Exception::VersionConflictEngine => return Err(error),
                _ => {}
            }
            self.sync_each([shard])?;
        }
        Ok(written)
    }

    /// Maps the new fields of a document, then indexes it.
    #[expect(clippy::too_many_arguments, reason = "the parameters of one index operation")]
    pub(crate) fn write(
        &self,
        type_name: &str,
        id: &str,
        placement: Placement<'_>,
        time: WriteTime,
        source: &[u8],
        document: &Map<String, Value>,
        condition: Condition,
        now: Duration,
    ) -> Result<Written> {
        let began = Instant::now();
        let (number, shard) = self.shard_of(id, placement.value())?;
        let parsed = self.parse(type_name, id, placement, time, source, document);
        let written = parsed.and_then(|encoded| {
            shard
                .write(type_name, id, &encoded, condition, now)
                .inspect(|_| shard.counters.indexed(type_name, began))
                .map_err(|error| self.located(number, error))
        });
        // The mapping may have new fields, whether the write succeeds or not.
        self.sync_each([shard])?;
        written
    }

    /// Parses a document, and adds its new fields to the mapping.
    ///
    /// # Errors
    /// An invalid document.
    pub(crate) fn parse(
        &self,
        type_name: &str,
        id: &str,
        placement: Placement<'_>,
        time: WriteTime,
        source: &[u8],
        document: &Map<String, Value>,
    ) -> Result<Box<Encoded>> {
        let location = || format!("[{}]/[{type_name}]/[{id}]", self.name);
        let mut is_new = false;
        // One round maps all new fields. The second finds new ones only if another thread changes the mapping.
        loop {
            let outcome = {
                let mapping = self.mapping();
                match mapping.type_mapping(type_name) {
                    Some(own) => {
                        let times = own.times.of(time, document, location)?;
                        Some(read(&mapping, type_name, id, placement, times, source, document)?)
                    }
                    None => None,
                }
            };
            match outcome {
                None => {
                    is_new = true;
                    self.ensure_type(type_name)?;
                }
                Some(ParsedDocument::Rejected(found, error)) => {
                    if !found.is_empty() {
                        // The error of the document matters, not that of its fields.
                        drop(self.change_mapping(|mapping| match is_new {
                            true => mapping.add_dynamic(type_name, found),
                            false => mapping.add_hidden(type_name, found),
                        }));
                    }
                    return Err(error);
                }
                Some(ParsedDocument::Unmapped(found)) => {
                    self.change_mapping(|mapping| mapping.add_dynamic(type_name, found))?
                }
                Some(ParsedDocument::Ready(encoded)) => {
                    if encoded.boosts_all && !self.mapping().boosts_all(type_name) {
                        self.change_mapping(|mapping| mapping.boost_all(type_name));
                    }
                    return Ok(encoded);
                }
            }
        }
    }

    /// Refreshes the index if its oldest unpublished change is older than the refresh interval.
    pub(crate) fn refresh_if_due(&self, now: Duration, default: Duration) -> Result<()> {
        let Some(since) = self.shards.iter().filter_map(Shard::unpublished_since).min() else {
            return Ok(());
        };
        let interval = self.settings.read().refresh_interval(default);
        match interval {
            Some(interval) if now.saturating_sub(since) >= interval => refresh(&[self]),
            _ => Ok(()),
        }
    }

    /// Fails for several index routing values, or a filter that this index cannot parse.
    pub(crate) fn check_alias(&self, cluster: &Cluster, name: &str, alias: &Alias) -> Result<()> {
        if alias
            .index_routing
            .as_ref()
            .is_some_and(|routing| routing.contains(','))
        {
            let reason = format!("alias [{name}] has several index routing values associated with it");
            return Err(SearchError::illegal(reason));
        }
        let Some(filter) = &alias.filter else {
            return Ok(());
        };
        let mapping = self.mapping();
        let context = self.context(&mapping, cluster);
        let parsed = context.strictly(|context| context.parse_filter(filter).map(drop));
        let failed = SearchError::illegal(format!("failed to parse filter for alias [{name}]"));
        parsed.map_err(|error| failed.caused_by(error))
    }

    /// Returns the context for parsing queries.
    pub(crate) fn context<'a>(&'a self, mapping: &'a Mapping, cluster: &'a Cluster) -> Context<'a> {
        let limits = &cluster.options.limits;
        Context {
            index: &self.name,
            mapping,
            types: &[],
            now: cluster.now(),
            max_clauses: limits.clauses,
            deletes: false,
            depth: limits.depth,
            documents: Some(cluster),
            budget: None,
            names: None,
            unmapped: None,
            inner_hits: None,
            nested_path: None,
            parsers: PARSERS,
        }
    }
}

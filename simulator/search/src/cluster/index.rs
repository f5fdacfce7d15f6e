//! One index: its settings, mapping, aliases and data.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use serde_json::{Map, Value, json};

use super::Settings;
use crate::error::Result;
use crate::index::{Condition, Outcome, Shard, Written, read};
use crate::mapping::Mapping;
use crate::query::Context;

/// Another name of an index, maybe of a part of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Alias {
    pub(crate) filter: Option<Value>,
    index_routing: Option<String>,
    search_routing: Option<String>,
}

impl Alias {
    pub(crate) fn parse(definition: &Value) -> Alias {
        let text = |key: &str| {
            definition
                .get(key)
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        Alias {
            filter: definition.get("filter").filter(|filter| !filter.is_null()).cloned(),
            index_routing: text("index_routing").or_else(|| text("routing")),
            search_routing: text("search_routing").or_else(|| text("routing")),
        }
    }

    pub(crate) fn describe(&self) -> Value {
        let mut shown = json!({});
        let parts = [
            ("filter", self.filter.clone()),
            ("index_routing", self.index_routing.clone().map(Value::from)),
            ("search_routing", self.search_routing.clone().map(Value::from)),
        ];
        for (key, value) in parts {
            if let Some(value) = value {
                shown[key] = value;
            }
        }
        shown
    }
}

/// What has been done to an index, for statistics.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) indexed: AtomicU64,
    pub(crate) deleted: AtomicU64,
    pub(crate) searched: AtomicU64,
    pub(crate) got: AtomicU64,
}

/// One index.
pub(crate) struct Index {
    pub(crate) name: String,
    pub(crate) created: i64,
    pub(crate) settings: RwLock<Settings>,
    pub(crate) mapping: RwLock<Mapping>,
    pub(crate) aliases: RwLock<BTreeMap<String, Alias>>,
    pub(crate) closed: AtomicBool,
    pub(crate) shard: Shard,
    pub(crate) counters: Counters,
}

impl Index {
    pub(super) fn new(name: &str, mut settings: Settings, created: i64, most_fields: usize) -> Result<Index> {
        let mut hasher = DefaultHasher::new();
        (name, created).hash(&mut hasher);
        let first = hasher.finish();
        1u8.hash(&mut hasher);
        let uuid = crate::ids::text_id(u128::from(first) << 64 | u128::from(hasher.finish()));
        settings.set_default("index.creation_date", &created.to_string());
        settings.set_default("index.uuid", &uuid);
        settings.set_default("index.version.created", "1050299");
        let mapping = Mapping::new(settings.analysis().cloned(), most_fields)?;
        Ok(Index {
            name: name.to_owned(),
            created,
            settings: RwLock::new(settings),
            mapping: RwLock::new(mapping),
            aliases: RwLock::default(),
            closed: AtomicBool::new(false),
            shard: Shard::new(),
            counters: Counters::default(),
        })
    }

    pub(crate) fn shards(&self) -> u32 {
        self.settings.read().number("index.number_of_shards", 5).max(1)
    }

    pub(crate) fn replicas(&self) -> u32 {
        self.settings.read().number("index.number_of_replicas", 1)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Writes a document: maps what is new in it, then indexes it.
    pub(crate) fn write(
        &self,
        type_name: &str,
        id: &str,
        source: &[u8],
        document: &Map<String, Value>,
        condition: Condition,
        now: Duration,
    ) -> Result<Written> {
        // Each round maps every new field, so the second finds none unless others map at the same time.
        loop {
            let outcome = {
                let mapping = self.mapping.read();
                if mapping.type_mapping(type_name).is_some() {
                    Some(read(&mapping, type_name, id, source, document)?)
                } else {
                    None
                }
            };
            match outcome {
                None => self.mapping.write().ensure_type(type_name)?,
                Some(Outcome::Unmapped(found)) => self.mapping.write().add_dynamic(type_name, found)?,
                Some(Outcome::Ready(encoded)) => {
                    let written = self.shard.write(type_name, id, *encoded, condition, now)?;
                    self.counters.indexed.fetch_add(1, Ordering::Relaxed);
                    return Ok(written);
                }
            }
        }
    }

    /// Makes changes visible that have been unseen for longer than the interval.
    pub(crate) fn refresh_if_due(&self, now: Duration, default: Duration) -> Result<()> {
        let Some(since) = self.shard.dirty_since() else {
            return Ok(());
        };
        match self.settings.read().refresh_interval(default) {
            Some(interval) if now.saturating_sub(since) >= interval => {}
            _ => return Ok(()),
        }
        self.shard.refresh()
    }

    /// The index as queries see it, for as long as `mapping` is held.
    pub(crate) fn context<'a>(&'a self, mapping: &'a Mapping, now: i64, most_clauses: usize) -> Context<'a> {
        Context {
            index: &self.name,
            mapping,
            now,
            most_clauses,
        }
    }
}

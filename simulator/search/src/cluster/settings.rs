//! The settings of an index: strings by dotted name.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::blocks::{self, BlockSetting};
use super::rule::{Rule, rule_of};
use crate::analysis::check_analysis;
use crate::durations::duration;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{self, is_set};
use crate::mapping::Configuration;
use crate::sizes::byte_size;

/// Dynamic settings, which an open index can change, without `index.`.
const DYNAMIC: [(&str, Rule); 64] = [
    ("auto_expand_replicas", Rule::Any),
    ("blocks.metadata", Rule::Any),
    ("blocks.read", Rule::Any),
    ("blocks.read_only", Rule::Any),
    ("blocks.write", Rule::Any),
    ("cache.query.enable", Rule::Flag),
    ("checksum_on_merge", Rule::Flag),
    ("compound_format", Rule::Any),
    ("compound_on_flush", Rule::Flag),
    ("fail_on_corruption", Rule::Flag),
    ("fail_on_merge_failure", Rule::Flag),
    ("gc_deletes", Rule::Time),
    ("indexing.slowlog.level", Rule::Any),
    ("indexing.slowlog.reformat", Rule::Any),
    ("indexing.slowlog.threshold.index.debug", Rule::Time),
    ("indexing.slowlog.threshold.index.info", Rule::Time),
    ("indexing.slowlog.threshold.index.trace", Rule::Time),
    ("indexing.slowlog.threshold.index.warn", Rule::Time),
    ("merge.policy.expunge_deletes_allowed", Rule::Number),
    ("merge.policy.floor_segment", Rule::Bytes),
    ("merge.policy.max_merge_at_once", Rule::AtLeastTwo),
    ("merge.policy.max_merge_at_once_explicit", Rule::AtLeastTwo),
    ("merge.policy.max_merge_docs", Rule::Positive),
    ("merge.policy.max_merge_size", Rule::Bytes),
    ("merge.policy.max_merged_segment", Rule::Bytes),
    ("merge.policy.merge_factor", Rule::AtLeastTwo),
    ("merge.policy.min_merge_docs", Rule::Positive),
    ("merge.policy.min_merge_size", Rule::Bytes),
    ("merge.policy.reclaim_deletes_weight", Rule::Ratio),
    ("merge.policy.segments_per_tier", Rule::RatioFromTwo),
    ("merge.scheduler.max_merge_count", Rule::Any),
    ("merge.scheduler.max_thread_count", Rule::Any),
    ("number_of_replicas", Rule::NonNegative),
    ("recovery.initial_shards", Rule::Any),
    ("refresh_interval", Rule::Time),
    ("routing.allocation.disable_allocation", Rule::Any),
    ("routing.allocation.disable_new_allocation", Rule::Any),
    ("routing.allocation.disable_replica_allocation", Rule::Any),
    ("routing.allocation.enable", Rule::Any),
    ("routing.allocation.exclude.*", Rule::Any),
    ("routing.allocation.include.*", Rule::Any),
    ("routing.allocation.require.*", Rule::Any),
    ("routing.allocation.total_shards_per_node", Rule::Integer),
    ("search.slowlog.level", Rule::Any),
    ("search.slowlog.reformat", Rule::Any),
    ("search.slowlog.threshold.fetch.debug", Rule::Time),
    ("search.slowlog.threshold.fetch.info", Rule::Time),
    ("search.slowlog.threshold.fetch.trace", Rule::Time),
    ("search.slowlog.threshold.fetch.warn", Rule::Time),
    ("search.slowlog.threshold.query.debug", Rule::Time),
    ("search.slowlog.threshold.query.info", Rule::Time),
    ("search.slowlog.threshold.query.trace", Rule::Time),
    ("search.slowlog.threshold.query.warn", Rule::Time),
    ("store.throttle.max_bytes_per_sec", Rule::Bytes),
    ("store.throttle.type", Rule::Any),
    ("translog.disable_flush", Rule::Any),
    ("translog.flush_threshold_ops", Rule::Integer),
    ("translog.flush_threshold_period", Rule::Time),
    ("translog.flush_threshold_size", Rule::Bytes),
    ("translog.fs.type", Rule::Any),
    ("translog.interval", Rule::Time),
    ("ttl.disable_purge", Rule::Any),
    ("version_map_size", Rule::Any),
    ("warmer.enabled", Rule::Any),
];

/// Returns the rule of a setting that an open index can change.
fn dynamic(name: &str) -> Option<Rule> {
    rule_of(&DYNAMIC, name.strip_prefix("index.").unwrap_or(name))
}

/// Maximum number of shards of an index.
const MAX_SHARDS: u32 = 1_024;

/// Converts objects whose names are the numbers from 0 to arrays.
fn numbered_to_arrays(value: Value) -> Value {
    let Value::Object(object) = value else {
        return value;
    };
    let is_list = !object.is_empty() && (0..object.len()).all(|at| object.contains_key(&at.to_string()));
    let inner = object
        .into_iter()
        .map(|(name, value)| (name, numbered_to_arrays(value)));
    if is_list {
        let by_number: BTreeMap<usize, Value> = inner.map(|(name, value)| (name.parse().unwrap_or(0), value)).collect();
        by_number.into_values().collect()
    } else {
        Value::Object(inner.collect())
    }
}

/// Returns the components of `analysis`. Those in an array have numbers as names.
fn by_name(analysis: &Value) -> Option<Map<String, Value>> {
    let mut sections = analysis.as_object()?.clone();
    for section in sections.values_mut() {
        if let Value::Array(parts) = section {
            let numbered = std::mem::take(parts).into_iter().enumerate();
            *section = numbered.map(|(at, part)| (at.to_string(), part)).collect();
        }
    }
    Some(sections)
}

/// The settings of an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    flat: BTreeMap<String, String>,
    analysis: Option<Map<String, Value>>,
    /// Blocks of a new index. They have no effect until they are set again or the index is loaded from disk.
    inert: BTreeSet<String>,
}

impl Settings {
    /// Lets the blocks have no effect.
    pub(super) fn ignore_blocks(&mut self) {
        let blocks = blocks::OF_INDEX.iter().map(|block| block.name.to_owned());
        self.inert = blocks.filter(|name| self.flat.contains_key(name)).collect();
    }

    /// Reads the settings of a text: JSON or, without braces, lines of a properties file. Those within `settings` are
    /// settings as the others are.
    ///
    /// # Errors
    /// Invalid JSON.
    pub(crate) fn read(text: &[u8]) -> Result<Settings> {
        if text.contains(&b'{') && text.contains(&b'}') {
            let mut body = json::value(text)?;
            if let Value::Object(all) = &mut body
                && let Some(Value::Object(_)) = all.get("settings")
                && let Some(Value::Object(inner)) = all.shift_remove("settings")
            {
                all.extend(inner);
            }
            return Ok(Settings::parse(&body));
        }
        let text = String::from_utf8_lossy(text);
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with(['#', '!']));
        let lines = lines.map(|line| line.split_once(['=', ':', ' ']).unwrap_or((line, "")));
        let named = lines.map(|(name, value)| (name.trim().to_owned(), Value::from(value.trim())));
        Ok(Settings::parse(&Value::Object(named.collect())))
    }

    /// Parses the settings of a body: nested or flat, with or without the prefix `index.`.
    pub(crate) fn parse(body: &Value) -> Settings {
        let mut settings = Settings::default();
        if let Value::Object(body) = body {
            let inner = body.get("settings").and_then(Value::as_object).unwrap_or(body);
            for (name, value) in inner {
                settings.flatten(name, value);
            }
            settings.analysis = settings.nested().pointer("/index/analysis").and_then(by_name);
        }
        settings
    }

    /// Returns the state that [`Settings::restore`] restores.
    pub(crate) fn saved(&self) -> Value {
        json!({"flat": self.flat, "analysis": self.analysis})
    }

    /// Restores saved settings.
    pub(crate) fn restore(saved: &Value) -> Settings {
        let flat = saved["flat"].as_object().into_iter().flatten();
        Settings {
            flat: flat
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
            analysis: saved["analysis"].as_object().cloned(),
            inert: BTreeSet::new(),
        }
    }

    fn flatten(&mut self, name: &str, value: &Value) {
        match value {
            Value::Object(inner) => {
                for (key, value) in inner {
                    self.flatten(&format!("{name}.{key}"), value);
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().filter(|item| !item.is_null()).enumerate() {
                    self.flatten(&format!("{name}.{at}"), item);
                }
            }
            value => self.set(name, value),
        }
    }

    pub(super) fn set(&mut self, name: &str, value: &Value) {
        let name = if name.starts_with("index.") {
            name.to_owned()
        } else {
            format!("index.{name}")
        };
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => return,
            other => other.to_string(),
        };
        self.flat.insert(name, text);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.flat.get(name).map(String::as_str)
    }

    pub(crate) fn number(&self, name: &str, default: u32) -> u32 {
        self.get(name).and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// Validates the settings of a new index.
    ///
    /// # Errors
    /// A number of shards or replicas that is not an integer, or invalid `analysis` settings.
    pub(super) fn check(&self, index: &str) -> Result<()> {
        let failed = |cause: SearchError| {
            let reason = format!("[{index}] failed to create index");
            SearchError::new(cause.status, Exception::IndexCreation, reason).caused_by(cause)
        };
        for key in ["index.number_of_shards", "index.number_of_replicas"] {
            if let Some(text) = self.get(key).filter(|text| text.parse::<i32>().is_err()) {
                let reason = format!("Failed to parse int setting [{key}] with value [{text}]");
                return Err(SearchError::new(500, Exception::Settings, reason).caused_by(SearchError::number(text)));
            }
        }
        check_analysis(self.analysis()).map_err(failed)?;
        self.configuration().map(drop).map_err(failed)
    }

    /// Validates changed settings.
    pub(crate) fn check_dynamic(&self) -> Result<()> {
        let refused = |name: &str, problem: String| {
            SearchError::illegal(format!("can't process the settings: [[{name}] - {problem}]"))
        };
        for (name, text) in &self.flat {
            if let Some(problem) = dynamic(name).and_then(|rule| rule.problem(name, text, 0)) {
                return Err(refused(name, problem));
            }
        }
        Ok(())
    }

    /// Returns the blocks that are in effect.
    pub(super) fn blocks(&self) -> Vec<&'static BlockSetting> {
        let set = blocks::OF_INDEX
            .iter()
            .filter(|block| self.get(block.name).is_some_and(is_set));
        set.filter(|block| !self.inert.contains(block.name)).collect()
    }

    pub(crate) fn set_default(&mut self, name: &str, value: &str) {
        self.flat.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }

    pub(crate) fn extend(&mut self, other: &Settings) {
        self.inert.retain(|name| !other.flat.contains_key(name));
        self.flat
            .extend(other.flat.iter().map(|(name, value)| (name.clone(), value.clone())));
        if let Some(analysis) = &other.analysis {
            let mine = self.analysis.get_or_insert_with(Map::new);
            for (section, value) in analysis {
                super::template::merge(
                    mine.entry(section.clone()).or_insert_with(|| Value::Object(Map::new())),
                    value,
                );
            }
        }
    }

    fn analysis(&self) -> Option<&Map<String, Value>> {
        self.analysis.as_ref()
    }

    /// Returns what the mapping takes from the settings.
    ///
    /// # Errors
    /// An invalid similarity.
    pub(super) fn configuration(&self) -> Result<Configuration> {
        Configuration::new(self.analysis.clone(), &self.flat)
    }

    /// How long a change may be invisible to searches. `None`: until an explicit refresh.
    pub(crate) fn refresh_interval(&self, default: Duration) -> Option<Duration> {
        self.interval("index.refresh_interval", default)
    }

    /// Returns the settings of the engine. An open index is refreshed if one of them changes.
    pub(crate) fn engine(&self) -> (Option<Duration>, [bool; 4]) {
        let flags = [
            ("index.checksum_on_merge", false),
            ("index.compound_on_flush", true),
            ("index.fail_on_corruption", true),
            ("index.fail_on_merge_failure", true),
        ];
        let flags = flags.map(|(name, default)| self.get(name).map_or(default, is_set));
        (self.interval("index.gc_deletes", Duration::from_secs(60)), flags)
    }

    /// Number of shards of the index.
    pub(crate) fn shards(&self) -> u32 {
        self.number("index.number_of_shards", 5).clamp(1, MAX_SHARDS)
    }

    /// Returns a duration setting. `None` if it is negative, which disables the task.
    pub(crate) fn interval(&self, name: &str, default: Duration) -> Option<Duration> {
        match self.get(name) {
            Some(text) if text.starts_with('-') => None,
            Some(text) => Some(duration(text).unwrap_or(default)),
            None => Some(default),
        }
    }

    /// Returns a size setting, in bytes.
    pub(crate) fn bytes(&self, name: &str, default: u64) -> u64 {
        self.get(name).and_then(byte_size).unwrap_or(default)
    }

    /// Returns the settings as nested JSON.
    pub(crate) fn nested(&self) -> Value {
        let mut nested = json!({});
        for (name, value) in &self.flat {
            let mut at = &mut nested;
            for part in name.split('.') {
                // If a name is both a value and a section, the section is shown.
                if !at.is_object() {
                    *at = json!({});
                }
                at = &mut at[part];
            }
            *at = json!(value);
        }
        numbered_to_arrays(nested)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.flat.is_empty()
    }

    /// Returns whether the settings only set or lift a block of metadata changes.
    pub(crate) fn only_unblock(&self) -> bool {
        let lifts = ["index.blocks.metadata", "index.blocks.read_only"];
        self.flat.len() == 1 && lifts.iter().any(|name| self.flat.contains_key(*name))
    }

    /// Returns the names of the settings that an open index cannot change.
    pub(crate) fn not_dynamic(&self) -> Vec<&str> {
        let names = self.flat.keys().map(String::as_str);
        names.filter(|name| dynamic(name).is_none()).collect()
    }

    /// Sets the number of replicas as `auto_expand_replicas` has it: `MIN-MAX`, where `all` is one on each other node.
    pub(crate) fn expand_replicas(&mut self, nodes: usize) {
        let range = self
            .get("index.auto_expand_replicas")
            .and_then(|range| range.split_once('-'));
        let others = nodes.saturating_sub(1);
        let most = |text: &str| if text == "all" { Some(others) } else { text.parse().ok() };
        if let Some((Ok(least), Some(most))) = range.map(|(least, text)| (least.parse::<usize>(), most(text))) {
            let replicas = others.max(least).min(most);
            if replicas >= least {
                self.set("number_of_replicas", &replicas.into());
            }
        }
    }

    /// Returns the settings as flat JSON.
    pub(crate) fn flat(&self) -> Value {
        self.flat
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect::<Map<_, _>>()
            .into()
    }
}

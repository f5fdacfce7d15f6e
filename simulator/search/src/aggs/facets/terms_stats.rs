//! The `terms_stats` facet: terms of one field with the statistics of another one.

use serde_json::{Map, Value, json};

use super::order::{Order, Shards};
use super::settings::{scalars, script};
use super::terms::{keys, shown};
use super::{Values, each, refuse};
use crate::aggs::values::{Input, Source};
use crate::aggs::{Matches, Scope, unreduced};
use crate::error::{Result, SearchError};
use crate::json::{PART, int, java_text};
use crate::mapping::truth;

/// Settings of the facet.
pub(super) struct TermsStats {
    pub(super) key: String,
    pub(super) values: Values,
    order: Order,
    /// Number of terms. 0: all.
    size: i32,
    shard_size: i32,
}

impl TermsStats {
    pub(super) fn parse(name: &str, settings: &Map<String, Value>) -> Result<TermsStats> {
        let (mut key, mut field, mut order) = (None, None, Order::default());
        let (mut size, mut shard_size) = (10, -1);
        scalars(settings, |setting, value| {
            match setting {
                "key_field" | "keyField" => key = Some(java_text(value)),
                "value_field" | "valueField" => field = Some(java_text(value)),
                "size" => size = int(value, PART)?,
                "shard_size" | "shardSize" => shard_size = int(value, PART)?,
                "all_terms" | "allTerms" if truth(value) => size = 0,
                "order" | "comparator" => order = Order::parse(value, "terms stats", true)?,
                _ => {}
            }
            Ok(())
        })?;
        let key = key.ok_or_else(|| refuse(name, "[key_field] is required to be set for terms stats facet"))?;
        let script = script(settings, &["value_script", "valueScript"])?;
        let values = script.map(Values::Script).or(field.map(Values::Field));
        let missing = "either [value_field] or [script] are required to be set for terms stats facet";
        Ok(TermsStats {
            key,
            values: values.ok_or_else(|| refuse(name, missing))?,
            order,
            size,
            shard_size: shard_size.max(size),
        })
    }

    pub(super) fn compute(&self, scope: &Scope<'_>, matches: &Matches) -> Result<Map<String, Value>> {
        let mut shards = Shards::new(scope, Some(Input::Field(&self.key)), true);
        let mut missing = 0u64;
        let values = Some(self.values.input());
        each(
            scope,
            matches,
            Input::Field(&self.key),
            values,
            |set, doc, terms, numbers| {
                // Documents without a key that is a string or a floating-point number are not counted.
                let is_counted =
                    matches!(terms, Source::Numbers { kind, .. } if kind.is_numeric() && !kind.is_floating());
                missing += u64::from(is_counted && terms.is_missing(doc));
                for term in keys(terms, doc) {
                    let (count, stats) = shards.entry(set.index, term);
                    *count += 1;
                    numbers.numbers(doc).for_each(|number| stats.add(number));
                }
                Ok(())
            },
        )?;
        if self.size < 0 && scope.searched.len() > 1 {
            let reason = format!("Illegal Capacity: {}", self.size);
            return Err(unreduced(SearchError::argument(reason)));
        }
        let limit = |size: i32| match (self.size, usize::try_from(size)) {
            (0, _) => usize::MAX,
            (_, size) => size.unwrap_or(0),
        };
        let entries = shards.first(self.order, limit(self.shard_size), limit(self.size))?;
        scope.spend(entries.len())?;
        let entries = entries.iter().map(|entry| {
            let mut shown = Map::from_iter([
                ("term".to_owned(), shown(&entry.key)),
                ("count".to_owned(), json!(entry.count)),
                ("total_count".to_owned(), json!(entry.stats.count)),
            ]);
            entry.stats.write_to(&mut shown);
            Value::Object(shown)
        });
        Ok(Map::from_iter([
            ("missing".to_owned(), json!(missing)),
            ("terms".to_owned(), entries.collect()),
        ]))
    }
}

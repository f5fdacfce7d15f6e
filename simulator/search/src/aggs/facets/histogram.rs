//! The facets `histogram` and `date_histogram`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::settings::{scalars, script};
use super::stats::Stats;
use super::{Values, each, refuse};
use crate::aggs::histogram::Rounding;
use crate::aggs::{Matches, Scope};
use crate::durations::millis;
use crate::error::{Result, SearchError};
use crate::json::{PART, java_text, long, number};

/// Settings of the facet.
pub(super) struct Histogram {
    pub(super) keys: Values,
    pub(super) values: Option<Values>,
    buckets: Buckets,
    order: Order,
}

enum Buckets {
    /// Numbers, rounded toward zero to multiples of the interval.
    Numbers { interval: i64 },
    /// Times, multiplied by the factor and rounded by the settings of a date histogram.
    Dates { name: String, settings: Value, factor: f32 },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Key,
    Count,
    Total,
}

impl Order {
    /// Parses the name of an order. `key` is that of the order of keys.
    fn parse(name: &Value, key: &str) -> Result<Order> {
        match java_text(name).as_str() {
            "count" => Ok(Order::Count),
            "total" => Ok(Order::Total),
            name if name == key => Ok(Order::Key),
            other => Err(SearchError::illegal(format!(
                "No type argument match for histogram comparator [{other}]"
            ))),
        }
    }
}

/// Fields and order of either facet.
struct Fields {
    key: Option<String>,
    value: Option<String>,
    order: Order,
}

impl Fields {
    fn new() -> Fields {
        Fields {
            key: None,
            value: None,
            order: Order::Key,
        }
    }

    fn read(&mut self, setting: &str, value: &Value, key: &str) -> Result<()> {
        match setting {
            "field" | "key_field" | "keyField" => self.key = Some(java_text(value)),
            "value_field" | "valueField" => self.value = Some(java_text(value)),
            "order" | "comparator" => self.order = Order::parse(value, key)?,
            _ => {}
        }
        Ok(())
    }

    fn key(&mut self, name: &str) -> Result<String> {
        let missing = "key field is required to be set for histogram facet, either using [field] or using [key_field]";
        self.key.take().ok_or_else(|| refuse(name, missing))
    }

    fn values(&mut self, settings: &Map<String, Value>) -> Result<Option<Values>> {
        let script = script(settings, &["value_script", "valueScript"])?.map(Values::Script);
        Ok(script.or(self.value.take().map(Values::Field)))
    }
}

/// The setting that the parsers require, in their words.
const NO_INTERVAL: &str = "[interval] is required to be set for histogram facet";

impl Histogram {
    pub(super) fn of_numbers(name: &str, settings: &Map<String, Value>) -> Result<Histogram> {
        let (mut fields, mut interval) = (Fields::new(), 0);
        scalars(settings, |setting, value| {
            match setting {
                "interval" => interval = long(value, PART)?,
                "time_interval" | "timeInterval" => interval = millis(&java_text(value))?,
                _ => fields.read(setting, value, "key")?,
            }
            Ok(())
        })?;
        let key_script = script(settings, &["key_script", "keyScript"])?;
        let values = fields.values(settings)?;
        let keys = match (key_script, &values) {
            (Some(script), Some(Values::Script(_))) => Values::Script(script),
            _ => Values::Field(fields.key(name)?),
        };
        if interval <= 0 {
            return Err(refuse(name, NO_INTERVAL));
        }
        Ok(Histogram {
            keys,
            values,
            buckets: Buckets::Numbers { interval },
            order: fields.order,
        })
    }

    pub(super) fn of_dates(name: &str, settings: &Map<String, Value>) -> Result<Histogram> {
        let (mut fields, mut factor, mut has_interval) = (Fields::new(), 1.0f32, false);
        scalars(settings, |setting, value| {
            match setting {
                "interval" => has_interval = true,
                "factor" => factor = number(value)? as f32,
                _ => fields.read(setting, value, "time")?,
            }
            Ok(())
        })?;
        if !has_interval {
            return Err(refuse(name, NO_INTERVAL));
        }
        Ok(Histogram {
            keys: Values::Field(fields.key(name)?),
            values: fields.values(settings)?,
            buckets: Buckets::Dates {
                name: name.to_owned(),
                settings: settings.clone().into(),
                factor,
            },
            order: fields.order,
        })
    }

    pub(super) fn is_of_dates(&self) -> bool {
        matches!(self.buckets, Buckets::Dates { .. })
    }

    pub(super) fn name(&self) -> &'static str {
        if self.is_of_dates() {
            "date_histogram"
        } else {
            "histogram"
        }
    }

    /// Returns the function from a value to the key of its bucket.
    ///
    /// # Errors
    /// An interval or a time zone that is none.
    pub(super) fn rounding(&self) -> Result<Box<dyn Fn(f64) -> i64 + '_>> {
        Ok(match &self.buckets {
            Buckets::Numbers { interval } => {
                Box::new(|value| ((value / *interval as f64) as i64).saturating_mul(*interval))
            }
            Buckets::Dates { name, settings, factor } => {
                let rounding = Rounding::parse(settings, true, name)?;
                Box::new(move |time| match *factor {
                    1.0 => rounding.key(time as i64),
                    // Elasticsearch multiplies in single precision.
                    factor => rounding.key((factor * time as f32) as i64),
                })
            }
        })
    }

    pub(super) fn compute(&self, scope: &Scope<'_>, matches: &Matches) -> Result<Map<String, Value>> {
        let bucket = self.rounding()?;
        let mut entries: BTreeMap<i64, (u64, Stats)> = BTreeMap::new();
        let are_same = match (&self.keys, &self.values) {
            (Values::Field(key), Some(Values::Field(value))) => key == value && !self.is_of_dates(),
            _ => false,
        };
        let values = self.values.as_ref().map(Values::input);
        each(scope, matches, self.keys.input(), values, |_, doc, keys, values| {
            for key in keys.numbers(doc) {
                let (count, stats) = entries.entry(bucket(key)).or_default();
                *count += 1;
                if are_same {
                    stats.add(key);
                } else {
                    values.numbers(doc).for_each(|value| stats.add(value));
                }
            }
            Ok(())
        })?;
        scope.spend(entries.len())?;
        let mut entries: Vec<(i64, (u64, Stats))> = entries.into_iter().collect();
        match self.order {
            Order::Key => {}
            Order::Count => entries.sort_by_key(|(_, (count, _))| *count),
            Order::Total => entries.sort_by(|(_, (_, a)), (_, (_, b))| a.total.total_cmp(&b.total)),
        }
        let entries = entries.into_iter().map(|(key, (count, stats))| {
            let key_name = if self.is_of_dates() { "time" } else { "key" };
            let mut entry = Map::from_iter([(key_name.to_owned(), json!(key)), ("count".to_owned(), json!(count))]);
            if self.values.is_some() {
                stats.write_to(&mut entry);
                if stats.count == 0 && !self.is_of_dates() {
                    entry.insert("mean".to_owned(), json!("NaN"));
                }
            }
            Value::Object(entry)
        });
        Ok(Map::from_iter([("entries".to_owned(), entries.collect())]))
    }
}

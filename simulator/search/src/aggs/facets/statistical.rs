//! The `statistical` facet: statistics of the values of fields.

use serde_json::{Map, Value, json};

use super::settings::{scalars, script, texts};
use super::stats::Stats;
use super::{Values, each, refuse};
use crate::aggs::{Matches, Scope};
use crate::error::Result;
use crate::json::{floating, java_text};

/// Settings of the facet.
pub(super) struct Statistical {
    pub(super) values: Vec<Values>,
    /// Field of the setting `field`.
    pub(super) field: Option<String>,
}

impl Statistical {
    pub(super) fn parse(name: &str, settings: &Map<String, Value>) -> Result<Statistical> {
        let mut field = None;
        scalars(settings, |setting, value| {
            if setting == "field" {
                field = Some(java_text(value));
            }
            Ok(())
        })?;
        let fields = settings.get("fields").filter(|fields| fields.is_array());
        let values = match (fields, script(settings, &["script"])?, &field) {
            (Some(fields), ..) => texts(fields).map(Values::Field).collect(),
            (None, Some(script), None) => vec![Values::Script(script)],
            (None, _, Some(field)) => vec![Values::Field(field.clone())],
            (None, None, None) => {
                return Err(refuse(
                    name,
                    "statistical facet requires either [script] or [field] to be set",
                ));
            }
        };
        Ok(Statistical { values, field })
    }

    pub(super) fn compute(&self, scope: &Scope<'_>, matches: &Matches) -> Result<Map<String, Value>> {
        let mut stats = Stats::default();
        for values in &self.values {
            each(scope, matches, values.input(), None, |_, doc, source, _| {
                source.numbers(doc).for_each(|number| stats.add(number));
                Ok(())
            })?;
        }
        let count = stats.count as f64;
        let variance = (stats.sum_of_squares - stats.total * stats.total / count) / count;
        let mut result = Map::from_iter([("count".to_owned(), json!(stats.count))]);
        stats.write_to(&mut result);
        result.shift_remove("total_count");
        result.insert("sum_of_squares".to_owned(), json!(stats.sum_of_squares));
        result.insert("variance".to_owned(), floating(variance));
        result.insert("std_deviation".to_owned(), floating(variance.sqrt()));
        Ok(result)
    }
}

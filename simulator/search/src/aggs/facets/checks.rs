//! The parse phase of facets: their fields.
//!
//! Guarantees: what no document decides is refused here, before documents are collected.

use super::{Kind, Values, refuse};
use crate::error::{Result, SearchError};
use crate::mapping::{DataUse, FieldData};
use crate::query::Context;

/// Fails for a facet whose fields an index does not have, or that cannot use them.
pub(super) fn check(name: &str, kind: &Kind<'_>, context: &Context<'_>) -> Result<()> {
    let fields = Fields { name, context };
    match kind {
        Kind::Query(query) => drop(context.parse_query(query)?),
        Kind::Filter(filter) => drop(context.parse_filter(filter)?),
        Kind::Terms(terms) => {
            fields.scripts(&terms.values)?;
            for field in terms.values.iter().filter_map(Values::field) {
                if let Some(data) = context.mapping.field_data(field) {
                    data.check(field)?;
                }
            }
        }
        Kind::Histogram(histogram) => {
            let (keys, values) = (&histogram.keys, histogram.values.as_ref());
            let wording = if histogram.is_of_dates() { DATES } else { NUMBERS };
            fields.numeric(keys, |field| wording(true, field))?;
            drop(histogram.rounding()?);
            values.map_or(Ok(()), |values| fields.numeric(values, |field| wording(false, field)))?;
        }
        Kind::Range(range) => {
            let (keys, values) = (&range.keys, range.values.as_ref());
            fields.numeric(keys, |field| NUMBERS(true, field))?;
            values.map_or(Ok(()), |values| fields.numeric(values, |field| NUMBERS(false, field)))?;
            if let Some(key) = keys.field() {
                let field = context.mapped(key).map(|field| &field.field_type);
                range.ranges.iter().try_for_each(|bounds| bounds.of(field).map(drop))?;
            }
        }
        Kind::Statistical(statistical) => {
            fields.scripts(&statistical.values)?;
            for field in statistical.values.iter().filter_map(Values::field) {
                let data = fields.mapped(field, &format!("No mapping found for field [{field}]"))?;
                let single = statistical.field.as_deref().unwrap_or("null");
                fields.of_numbers(data, &format!("field [{single}]"))?;
            }
        }
        Kind::TermsStats(terms) => {
            fields.mapped(&terms.key, &format!("failed to find mapping for {}", terms.key))?;
            fields.scripts(std::slice::from_ref(&terms.values))?;
            if let Some(field) = terms.values.field() {
                let data = fields.mapped(field, &format!("failed to find mapping for {field}"))?;
                fields.of_numbers(data, &format!("value_field [{field}]"))?;
            }
        }
        Kind::GeoDistance(distances) => {
            let field = &distances.field;
            let missing = || refuse(name, &format!("failed to find mapping for [{field}]"));
            let data = context.mapping.field_data(field).ok_or_else(missing)?;
            data.cast(field, DataUse::Points)?;
            let values = distances.values.as_ref();
            values.map_or(Ok(()), |values| fields.numeric(values, |field| DATES(true, field)))?;
        }
    }
    Ok(())
}

/// Fails for a path that is not one of nested objects.
pub(super) fn check_nested(path: &str, context: &Context<'_>) -> Result<()> {
    let problem = match context.mapping.nests(path, context.types) {
        Some(true) => return Ok(()),
        Some(false) => "is not nested",
        None => "not found",
    };
    Err(SearchError::search(format!("facet nested path [{path}] {problem}")))
}

/// Error text for a field that is not mapped: that of the keys, or that of the values.
type Wording = fn(bool, &str) -> String;

const DATES: Wording = |is_key, field| {
    let role = if is_key { "key" } else { "value" };
    format!("({role}) field [{field}] not found")
};

const NUMBERS: Wording = |is_key, field| {
    let role = if is_key { "key_field" } else { "value_field" };
    format!("No mapping found for {role} [{field}]")
};

/// Fields of a facet.
struct Fields<'a> {
    name: &'a str,
    context: &'a Context<'a>,
}

impl Fields<'_> {
    /// Returns the field data of a field.
    ///
    /// # Errors
    /// `missing` if the field is not mapped.
    fn mapped(&self, field: &str, missing: &str) -> Result<FieldData> {
        let data = self.context.mapping.field_data(field);
        let data = data.filter(|_| field.starts_with('_') || self.context.mapped_in_types(field).is_some());
        data.ok_or_else(|| refuse(self.name, missing))
    }

    /// Fails for scripts with unknown variables.
    fn scripts(&self, values: &[Values]) -> Result<()> {
        values.iter().try_for_each(|values| match values {
            Values::Field(_) => Ok(()),
            Values::Script(script) => script.mapped(self.context.mapping).map(drop),
        })
    }

    /// Fails for a field that has no numbers, or that is `missing`, and for a script that cannot be computed.
    fn numeric(&self, values: &Values, missing: impl Fn(&str) -> String) -> Result<()> {
        match values {
            Values::Field(field) => self.mapped(field, &missing(field))?.cast(field, DataUse::Numbers),
            Values::Script(script) => script.mapped(self.context.mapping).map(drop),
        }
    }

    /// Fails for a field without numbers. `shown` is its name in the error.
    fn of_numbers(&self, data: FieldData, shown: &str) -> Result<()> {
        let kind = match data {
            FieldData::None => return Err(SearchError::null_pointer()),
            FieldData::Points => "geo_point",
            FieldData::Disabled => "binary",
            FieldData::Index => "_index",
            FieldData::Parents => "_parent",
            FieldData::PagedBytes | FieldData::SortedSet => "string",
            _ => return Ok(()),
        };
        Err(refuse(
            self.name,
            &format!("{shown} isn't a number field, but a {kind}"),
        ))
    }
}

//! The leaves of the query DSL.

use crate::search::error::Result;
use crate::search::mapping::{Field, Kind};
use crate::search::query::{Context, Query};

/// The query for numbers (or dates) near a value.
pub(super) fn fuzzy_number(context: &Context<'_>, field: &Field, text: &str, fuzziness: &str) -> Result<Query> {
    let bounds = if field.field_type.kind == Kind::Date {
        let delta = crate::search::cluster::duration(fuzziness).map_or(0, |delta| i64::try_from(delta.as_millis()).unwrap_or(0));
        let at = crate::search::dates::parse_math(text, &field.field_type.format, context.now, crate::search::dates::Fill::Floor, 0)?;
        (at.saturating_sub(delta), at.saturating_add(delta))
    } else if field.field_type.kind.is_floating() {
        let delta: f64 = fuzziness.parse().unwrap_or(0.0);
        let at = crate::search::mapping::unsortable(field.field_type.encode_text(text)?);
        (crate::search::mapping::sortable(at - delta), crate::search::mapping::sortable(at + delta))
    } else {
        let delta = fuzziness.parse::<f64>().map_or(0, |delta| delta as i64);
        let at = field.field_type.encode_text(text)?;
        (at.saturating_sub(delta), at.saturating_add(delta))
    };
    Ok(super::QueryKind::Range { field: super::QueryField::of(field), lower: bounds.0, upper: bounds.1 }.into())
}

//! Highlighting.
use serde_json::{Map, Value};
pub(crate) fn highlight(
    _w: &Value,
    _q: &crate::search::query::Query,
    _m: &crate::search::mapping::Mapping,
    _s: &Value,
) -> crate::search::error::Result<Map<String, Value>> {
    Ok(Map::new())
}

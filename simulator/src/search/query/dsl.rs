//! The query DSL.
use crate::search::error::Result;
use crate::search::query::{Context, Query, QueryKind};
use serde_json::Value;
pub(crate) fn parse_body(_context: &Context<'_>, _body: &Value, _depth: usize) -> Result<Query> {
    Ok(QueryKind::All.into())
}

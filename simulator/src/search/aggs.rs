//! Aggregations.
use crate::search::cluster::Cluster;
use crate::search::error::Result;
use crate::search::find::Searched;
use serde_json::Value;
#[derive(Default)]
pub(crate) struct Matches;
impl Matches {
    pub(crate) fn push(&mut self, _i: usize, _s: usize, _d: Vec<u32>, _c: Vec<f32>) {}
}
pub(crate) fn aggregate(_c: &Cluster, _s: &[Searched], _w: &Value, _m: Matches) -> Result<Value> {
    Ok(Value::Null)
}

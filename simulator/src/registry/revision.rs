//! Resource versions in requests.

use super::state::Registry;
use crate::api::{Object, Status, meta};

/// The revision of a resourceVersion; 0 for none. The error is v1.2's text.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(revision) if digits => Ok(revision),
        _ if digits => Err(format!("strconv.ParseUint: parsing {text:?}: value out of range")),
        _ => Err(format!("strconv.ParseUint: parsing {text:?}: invalid syntax")),
    }
}

impl Registry {
    /// The revision that an update expects; 0 for any.
    pub(super) fn expected_revision(&self, object: &Object) -> Result<u64, Status> {
        parse(meta::text(object, "metadata.resourceVersion")).map_err(|text| self.client_error(400, text))
    }
}

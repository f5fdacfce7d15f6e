//! Parsing of resourceVersion.

use super::state::Registry;
use crate::{
    api::{Object, Status, meta},
    compat::strconv::parse_uint,
};

/// Parses a resourceVersion. An empty text is 0. The error is v1.2's text.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    parse_uint(text)
}

impl Registry {
    /// Revision that an update expects. 0 for any.
    pub(super) fn expected_revision(&self, object: &Object) -> Result<u64, Status> {
        parse(meta::text(object, "metadata.resourceVersion")).map_err(|text| self.client_error(400, text))
    }
}

//! Interim.
use crate::{api::Status, profile::Profile};
use serde_json::Value;
pub struct PatchError;
impl PatchError {
    pub fn status(self, _: Profile) -> Status {
        Status::bad_request("interim")
    }
}
pub mod json {
    use super::*;
    pub fn apply(_: &Value, _: &[u8], _: Profile) -> Result<Value, PatchError> {
        Err(PatchError)
    }
}
pub mod merge {
    use super::*;
    pub fn apply(_: &Value, _: &[u8]) -> Result<Value, PatchError> {
        Err(PatchError)
    }
}
pub mod strategic {
    use super::*;
    pub fn apply(_: &Value, _: &[u8], _: crate::scheme::TypeRef) -> Result<Value, PatchError> {
        Err(PatchError)
    }
}

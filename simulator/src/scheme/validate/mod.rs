//! Interim.
use crate::api::{FieldError, Object};
pub fn create(_: &str, _: &str, _: &Object) -> Vec<FieldError> {
    vec![]
}
pub fn update(_: &str, _: &str, _: &Object, _: &Object) -> Vec<FieldError> {
    vec![]
}
pub fn update_status(_: &str, _: &str, _: &Object, _: &Object) -> Vec<FieldError> {
    vec![]
}
pub fn finalize(_: &Object, _: &Object) -> Vec<FieldError> {
    vec![]
}
pub fn scale(_: &Object) -> Vec<FieldError> {
    vec![]
}
pub fn binding(_: &Object) -> Vec<FieldError> {
    vec![]
}
pub fn rollback(_: &Object) -> Vec<FieldError> {
    vec![]
}

//! Rules for config maps.

use super::secret;
use super::validate::cursor::{Cursor, Errors};
use super::validate::meta;
use super::validate::name::NameRule;

/// Judges a map that is about to be made.
pub(super) fn create(map: &Cursor, errors: &mut Errors) {
    meta::create(&map.at("metadata"), true, NameRule::DnsSubdomain, errors);
    secret::data_entries(&map.at("data"), |value| value.as_str().map_or(0, str::len), errors);
}

/// Judges a change.
pub(super) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    create(new, errors);
}

//! Config maps.

use super::generic::Strategy;
use super::secret;
use super::validate::cursor::{Cursor, Errors};
use super::validate::metadata;
use super::validate::name::NameRule;

/// Strategy of config maps.
pub(super) struct ConfigMapStrategy;

impl Strategy for ConfigMapStrategy {
    fn validate(&self, map: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&map.at("metadata"), true, NameRule::DnsSubdomain, errors);
        secret::data_entries(&map.at("data"), |value| value.as_str().map_or(0, str::len), errors);
    }

    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        self.validate(new, group, errors);
    }

    fn quota_resources(&self) -> &'static [&'static str] {
        &["configmaps"]
    }
}

//! Service accounts.

use super::generic::Strategy;
use super::validate::cursor::{Cursor, Errors};
use super::validate::metadata;
use super::validate::name::NameRule;

/// Strategy of service accounts.
pub(super) struct ServiceAccountStrategy;

impl Strategy for ServiceAccountStrategy {
    fn validate(&self, account: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&account.at("metadata"), true, NameRule::DnsSubdomain, errors);
    }

    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        self.validate(new, group, errors);
    }

    fn returns_deleted(&self) -> bool {
        true
    }
}

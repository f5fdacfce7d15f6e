//! Rules for service accounts.

use super::validate::cursor::{Cursor, Errors};
use super::validate::meta;
use super::validate::name::NameRule;

/// Judges an account that is about to be made.
pub(super) fn create(account: &Cursor, errors: &mut Errors) {
    meta::create(&account.at("metadata"), true, NameRule::DnsSubdomain, errors);
}

/// Judges a change.
pub(super) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    create(new, errors);
}

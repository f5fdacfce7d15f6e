//! Service accounts.

use serde_json::Value;

use super::generic::Strategy;
use super::resource_name::ResourceName;
use super::validate::cursor::{Cursor, Errors};
use super::validate::metadata;
use super::validate::name::NameRule;
use crate::{api::Object, rng::Rng};

/// Resource of service accounts.
pub(crate) const RESOURCE: ResourceName = ResourceName::core("serviceaccounts");

/// Strategy of service accounts.
pub(super) struct ServiceAccountStrategy;

impl Strategy for ServiceAccountStrategy {
    fn prepare_for_create(&self, account: &mut Object, _: &Rng) {
        keep_names_of_secrets(account);
    }

    fn prepare_for_update(&self, new: &mut Object, _: &Object) {
        keep_names_of_secrets(new);
    }

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

/// Names of an account's secrets.
pub(crate) fn secret_names(account: &Object) -> impl Iterator<Item = &str> {
    let secrets = account.get("secrets").and_then(Value::as_array);
    secrets
        .into_iter()
        .flatten()
        .filter_map(|secret| secret["name"].as_str())
}

/// Reduces references to secrets to their names.
fn keep_names_of_secrets(account: &mut Object) {
    let secrets = account.get_mut("secrets").and_then(Value::as_array_mut);
    for secret in secrets.into_iter().flatten().filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}

//! Service accounts: sets a pod's account (default: `default`), and adds the account's token and image pull secrets.
//!
//! - Applies only if a controller creates tokens. A pod that is created before its account has a token gets none.
//! - Source: v1.2's ServiceAccount, which rejects such a pod instead.

use std::sync::LazyLock;

use super::{forbidden, name};
use crate::{
    api::{GroupResource, Object, Status, meta},
    registry::{codec::parse, request::RequestInfo, state::Registry},
    strategy::{
        self,
        secret::{self, ACCOUNT_TOKEN},
        serviceaccount,
    },
};

/// Account of pods that name none.
const DEFAULT: &str = "default";

/// Store keys of accounts and secrets.
static ACCOUNTS: LazyLock<GroupResource> = LazyLock::new(|| GroupResource::core(serviceaccount::RESOURCE.plural));
static SECRETS: LazyLock<GroupResource> = LazyLock::new(|| GroupResource::core(secret::RESOURCE.plural));

/// Sets the service account of an object.
pub(super) fn admit(registry: &Registry, request: &RequestInfo, object: &mut Object) -> Result<(), Status> {
    let strategy = strategy::of(request.resource.storage_version());
    if !registry.settings.mounts_tokens || !strategy.runs_as_service_account() {
        return Ok(());
    }
    let named = ["spec.serviceAccountName", "spec.serviceAccount"].map(|path| meta::text(object, path));
    let named = named.into_iter().find(|name| !name.is_empty()).map(str::to_owned);
    let account_name = named.as_deref().unwrap_or(DEFAULT);
    let namespace = request.namespace();
    let Some(account) = get(registry, &ACCOUNTS, namespace, account_name)? else {
        if named.is_none() {
            return Ok(());
        }
        let why = format!(
            "error looking up service account {namespace}/{account_name}: serviceaccounts {account_name:?} not found"
        );
        return Err(forbidden(request, name(object), &why));
    };
    let token = token(registry, namespace, &account)?;
    strategy.run_as_service_account(object, account_name, &account, token.as_deref());
    Ok(())
}

/// Name of the account's first token secret.
fn token(registry: &Registry, namespace: &str, account: &Object) -> Result<Option<String>, Status> {
    for name in serviceaccount::secret_names(account) {
        let secret = get(registry, &SECRETS, namespace, name)?;
        if secret.is_some_and(|secret| meta::text(&secret, "type") == ACCOUNT_TOKEN) {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

fn get(
    registry: &Registry,
    resource: &'static GroupResource,
    namespace: &str,
    name: &str,
) -> Result<Option<Object>, Status> {
    let record = registry.store.named(resource, namespace, name);
    record.map(|record| parse(record.bytes())).transpose()
}

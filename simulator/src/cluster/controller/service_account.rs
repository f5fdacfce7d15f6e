//! The service account and token controllers: each namespace gets the service account `default`, and each service
//! account a token.
//!
//! - A token is a secret of type `kubernetes.io/service-account-token`. The account lists it, and it is deleted with
//!   its account.
//! - A secret of this type that names an account gets a token as well. The account lists only the secrets created for
//!   it.
//! - The secret has the CA certificate of the API server, under the profile that mounts tokens in pods.
//! - Limits: the signature of a token is a placeholder; nothing in the cluster verifies it.
//! - Source: `pkg/controller/serviceaccount` of Kubernetes v1.2.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use md5::{Digest, Md5};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::pods;
use crate::{
    api::{Object, Status, meta},
    client::{Api, Client, Informer, ObjectKey},
    cluster::runtime::{Reconcile, Runtime, ignore_not_found},
};

/// An unused CA certificate, for a cluster without a TLS listener.
const NO_AUTHORITY: &str = include_str!("no_authority.pem");

const TOKEN: &str = "kubernetes.io/service-account-token";
/// The key of the CA certificate in a token's secret.
const AUTHORITY: &str = "ca.crt";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Adds the service account controller to the runtime.
pub(super) async fn add_accounts(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (queue, namespaces) = (runtime.queue(), runtime.informer("v1", "namespaces").await?);
    let accounts = runtime.informer("v1", "serviceaccounts").await?;
    let keys = queue.clone();
    namespaces.on_change(move |change| keys.extend(change.new.iter().map(|namespace| ObjectKey::of(namespace))));
    let keys = queue.clone();
    accounts.on_change(move |change| {
        if let (Some(gone), None) = (&change.old, &change.new) {
            keys.add(ObjectKey::new("", meta::text(gone, "metadata.namespace")));
        }
    });
    let component = Accounts {
        api: runtime.api("v1", "serviceaccounts")?,
        namespaces,
        accounts,
    };
    runtime.work(queue, component);
    Ok(())
}

struct Accounts {
    api: Api,
    namespaces: Arc<Informer>,
    accounts: Arc<Informer>,
}

impl Reconcile for Accounts {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let active = |namespace: &Arc<Object>| meta::text(namespace, "status.phase") != "Terminating";
        if self.namespaces.get(key).filter(active).is_none()
            || self
                .accounts
                .get(&ObjectKey::new(key.name.as_str(), "default"))
                .is_some()
        {
            return Ok(());
        }
        let api = self.api.in_namespace(&key.name);
        api.create(json!({"metadata": {"name": "default"}})).await.map(drop)
    }
}

/// Adds the token controller to the runtime.
pub(super) async fn add_tokens(runtime: &Arc<Runtime>, authority: Option<&str>) -> Result<(), Status> {
    let (queue, accounts) = (runtime.queue(), runtime.informer("v1", "serviceaccounts").await?);
    let secrets = runtime.informer("v1", "secrets").await?;
    let keys = queue.clone();
    accounts.on_change(move |change| keys.extend(change.object().map(|account| ObjectKey::of(account))));
    let keys = queue.clone();
    let deleted: Arc<Mutex<Deleted>> = Arc::default();
    let gone = deleted.clone();
    secrets.on_change(move |change| {
        if let Some(secret) = change.object().filter(|secret| meta::text(secret, "type") == TOKEN) {
            let account = pods::annotation(secret, ACCOUNT_NAME).unwrap_or_default();
            let account = ObjectKey::new(meta::text(secret, "metadata.namespace"), account);
            if change.new.is_none() {
                let name = meta::text(secret, "metadata.name").to_owned();
                gone.lock().entry(account.clone()).or_default().insert(name);
            }
            keys.add(account);
        }
    });
    let has_authority = runtime.client().registry().profile().mounts_tokens();
    let component = Tokens {
        authority: has_authority.then(|| authority.unwrap_or(NO_AUTHORITY).to_owned()),
        client: runtime.client().clone(),
        account_api: runtime.api("v1", "serviceaccounts")?,
        secret_api: runtime.api("v1", "secrets")?,
        accounts,
        secrets,
        deleted,
    };
    runtime.work(queue, component);
    Ok(())
}

/// The names of deleted tokens by account, until the account no longer lists them.
type Deleted = BTreeMap<ObjectKey, BTreeSet<String>>;

struct Tokens {
    /// The API server's CA certificate (PEM), if tokens have it.
    authority: Option<String>,
    client: Client,
    account_api: Api,
    secret_api: Api,
    accounts: Arc<Informer>,
    secrets: Arc<Informer>,
    deleted: Arc<Mutex<Deleted>>,
}

impl Reconcile for Tokens {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let account = self.accounts.get(key);
        let mut tokens = BTreeSet::new();
        for secret in self.secrets.list_in(&key.namespace) {
            if meta::text(&secret, "type") != TOKEN || pods::annotation(&secret, ACCOUNT_NAME) != Some(&key.name) {
                continue;
            }
            let uid = pods::annotation(&secret, ACCOUNT_UID).unwrap_or_default();
            let of_this = |account: &&Arc<Object>| uid.is_empty() || uid == meta::text(account, "metadata.uid");
            let name = meta::text(&secret, "metadata.name");
            if let Some(account) = account.as_ref().filter(of_this) {
                self.fill(key, account, &secret).await?;
                tokens.insert(name.to_owned());
            } else {
                ignore_not_found(self.secret_api.in_namespace(&key.namespace).delete(name, None).await)?;
            }
        }
        let deleted = self.deleted.lock().remove(key).unwrap_or_default();
        let Some(account) = account else { return Ok(()) };
        let outcome = self.list(key, &account, &tokens, &deleted).await;
        if outcome.is_err() {
            self.deleted.lock().entry(key.clone()).or_default().extend(deleted);
        }
        outcome
    }
}

impl Tokens {
    /// Updates the secrets listed by an account. An account that lists no token gets a new one.
    async fn list(
        &self,
        key: &ObjectKey,
        account: &Object,
        tokens: &BTreeSet<String>,
        deleted: &BTreeSet<String>,
    ) -> Result<(), Status> {
        let listed = match account.get("secrets") {
            Some(Value::Array(listed)) => listed.clone(),
            _ => Vec::new(),
        };
        let name = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_owned();
        let mut wanted = listed.clone();
        wanted.retain(|entry| !deleted.contains(&name(entry)));
        if !wanted.iter().any(|entry| tokens.contains(&name(entry))) {
            return self.add_token(key, account, wanted).await;
        }
        if wanted == listed {
            return Ok(());
        }
        self.set_secrets(key, account, wanted).await
    }

    /// Creates a token, and lists it after the other secrets.
    async fn add_token(&self, key: &ObjectKey, account: &Object, mut secrets: Vec<Value>) -> Result<(), Status> {
        let name = self.create(key, account).await?;
        secrets.push(json!({"name": name}));
        let outcome = self.set_secrets(key, account, secrets).await;
        if outcome.is_err() {
            // The next reconciliation creates another one.
            let _ = self.secret_api.in_namespace(&key.namespace).delete(&name, None).await;
        }
        outcome
    }

    /// Replaces the list of an account's secrets.
    async fn set_secrets(&self, key: &ObjectKey, account: &Object, secrets: Vec<Value>) -> Result<(), Status> {
        let mut changed = account.clone();
        changed.insert("secrets".to_owned(), Value::Array(secrets));
        self.account_api
            .in_namespace(&key.namespace)
            .update(changed)
            .await
            .map(drop)
    }

    /// Creates a token, and returns its name.
    async fn create(&self, key: &ObjectKey, account: &Object) -> Result<String, Status> {
        let api = self.secret_api.in_namespace(&key.namespace);
        let uid = meta::text(account, "metadata.uid");
        let secret = json!({
            "metadata": {
                "name": format!("{}-token-{}", key.name, self.client.name_suffix()),
                "annotations": {ACCOUNT_NAME: key.name, ACCOUNT_UID: uid},
            },
            "type": TOKEN,
            "data": self.data(key, account),
        });
        Ok(meta::text(&*api.create(secret).await?, "metadata.name").to_owned())
    }

    /// Adds the missing data to a token's secret.
    async fn fill(&self, key: &ObjectKey, account: &Object, secret: &Object) -> Result<(), Status> {
        let known = |field: &str| {
            secret
                .get("data")
                .and_then(|data| data[field].as_str())
                .unwrap_or_default()
        };
        let missing = self
            .data(key, account)
            .into_iter()
            .filter(|(field, value)| match field.as_str() {
                AUTHORITY => *value != known(field),
                _ => known(field).is_empty(),
            });
        let missing: Map<String, Value> = missing.collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut filled = secret.clone();
        meta::child(&mut filled, "data").extend(missing);
        if let Some(annotations) = meta::metadata(&mut filled)["annotations"].as_object_mut() {
            annotations.insert(ACCOUNT_UID.to_owned(), meta::text(account, "metadata.uid").into());
        }
        self.secret_api
            .in_namespace(&key.namespace)
            .update(filled)
            .await
            .map(drop)
    }

    /// Returns the data of a token's secret.
    fn data(&self, key: &ObjectKey, account: &Object) -> Map<String, Value> {
        let encode = |text: &str| Value::String(STANDARD.encode(text));
        let token = token(key, meta::text(account, "metadata.uid"));
        let authority = self.authority.iter().map(|authority| (AUTHORITY, encode(authority)));
        let data = authority.chain([("namespace", encode(&key.namespace)), ("token", encode(&token))]);
        data.map(|(field, value)| (field.to_owned(), value)).collect()
    }
}

/// Returns a token with the claims of its account.
fn token(key: &ObjectKey, uid: &str) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = json!({
        "iss": "kubernetes/serviceaccount",
        "kubernetes.io/serviceaccount/namespace": key.namespace,
        ACCOUNT_NAME: key.name,
        ACCOUNT_UID: uid,
        "sub": format!("system:serviceaccount:{}:{}", key.namespace, key.name),
    });
    let signed = format!("{}.{}", encode(&json!({"alg": "RS256", "typ": "JWT"})), encode(&claims));
    let signature = URL_SAFE_NO_PAD.encode(Md5::digest(&signed));
    format!("{signed}.{signature}")
}

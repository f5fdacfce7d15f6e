//! Every namespace has the service account `default`, and every service account a token.
//!
//! - The token is a secret of the type `kubernetes.io/service-account-token`, which the account lists; it goes with its account.
//! - With it comes the certificate of the API server's authority, under the profile in which pods have their tokens.
//! - Limits: the signature of a token is made up; nothing in the cluster checks it.
//! - Source: `pkg/controller/serviceaccount` of Kubernetes v1.2.

use std::sync::Arc;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use md5::{Digest, Md5};
use serde_json::{Value, json};

use super::pods;
use crate::{
    api::{Object, Status, meta},
    client::{Api, Client, Informer, ObjectKey},
    cluster::runtime::{Reconcile, Runtime},
};

/// The certificate of an authority that has signed nothing, for a cluster without a secure listener.
const NO_AUTHORITY: &str = include_str!("no_authority.pem");

const TOKEN: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Adds the controller of the accounts to the runtime.
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

/// Adds the controller of the tokens to the runtime.
pub(super) async fn add_tokens(runtime: &Arc<Runtime>, authority: Option<&str>) -> Result<(), Status> {
    let (queue, accounts) = (runtime.queue(), runtime.informer("v1", "serviceaccounts").await?);
    let secrets = runtime.informer("v1", "secrets").await?;
    let keys = queue.clone();
    accounts.on_change(move |change| keys.extend(change.object().map(|account| ObjectKey::of(account))));
    let keys = queue.clone();
    secrets.on_change(move |change| {
        if let Some(secret) = change.object().filter(|secret| meta::text(secret, "type") == TOKEN) {
            let account = pods::annotation(secret, ACCOUNT_NAME).unwrap_or_default();
            keys.add(ObjectKey::new(meta::text(secret, "metadata.namespace"), account));
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
    };
    runtime.work(queue, component);
    Ok(())
}

struct Tokens {
    /// The certificate of the API server's authority (PEM), if tokens have it.
    authority: Option<String>,
    client: Client,
    account_api: Api,
    secret_api: Api,
    accounts: Arc<Informer>,
    secrets: Arc<Informer>,
}

impl Reconcile for Tokens {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let account = self.accounts.get(key);
        let uid = account.as_ref().map(|account| meta::text(account, "metadata.uid"));
        let mut tokens = Vec::new();
        for secret in self.secrets.list_in(&key.namespace) {
            if meta::text(&secret, "type") != TOKEN || pods::annotation(&secret, ACCOUNT_NAME) != Some(&key.name) {
                continue;
            }
            let name = meta::text(&secret, "metadata.name").to_owned();
            if uid.is_some() && uid == pods::annotation(&secret, ACCOUNT_UID) {
                tokens.push(name);
            } else {
                match self.secret_api.in_namespace(&key.namespace).delete(&name, None).await {
                    Err(gone) if gone.code == 404 => {}
                    other => other?,
                }
            }
        }
        match account {
            Some(account) => self.list(key, &account, tokens).await,
            None => Ok(()),
        }
    }
}

impl Tokens {
    /// Brings the list of an account's secrets up to date; one without a token gets one.
    async fn list(&self, key: &ObjectKey, account: &Object, mut tokens: Vec<String>) -> Result<(), Status> {
        let listed = match account.get("secrets") {
            Some(Value::Array(listed)) => listed.clone(),
            _ => Vec::new(),
        };
        let name = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_owned();
        let prefix = format!("{}-token-", key.name);
        let exists = |entry: &Value| {
            let secret = ObjectKey::new(key.namespace.as_str(), name(entry));
            !secret.name.starts_with(&prefix) || self.secrets.get(&secret).is_some()
        };
        let mut wanted: Vec<Value> = listed.iter().filter(|entry| exists(entry)).cloned().collect();
        if !wanted.iter().any(|entry| tokens.contains(&name(entry))) {
            if tokens.is_empty() {
                tokens.push(self.create(key, account).await?);
            }
            wanted.extend(tokens.iter().map(|token| json!({"name": token})));
        }
        if wanted == listed {
            return Ok(());
        }
        let mut changed = account.clone();
        changed.insert("secrets".to_owned(), Value::Array(wanted));
        self.account_api
            .in_namespace(&key.namespace)
            .update(changed)
            .await
            .map(drop)
    }

    /// Makes a token; its name.
    async fn create(&self, key: &ObjectKey, account: &Object) -> Result<String, Status> {
        let api = self.secret_api.in_namespace(&key.namespace);
        let uid = meta::text(account, "metadata.uid");
        let encode = |text: &str| STANDARD.encode(text);
        let mut secret = json!({
            "metadata": {
                "name": format!("{}-token-{}", key.name, self.client.name_suffix()),
                "annotations": {ACCOUNT_NAME: key.name, ACCOUNT_UID: uid},
            },
            "type": TOKEN,
            "data": {"namespace": encode(&key.namespace), "token": encode(&token(key, uid))},
        });
        if let Some(authority) = &self.authority {
            secret["data"]["ca.crt"] = encode(authority).into();
        }
        Ok(meta::text(&*api.create(secret).await?, "metadata.name").to_owned())
    }
}

/// A token that says whose it is.
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

//! Reads server and credentials from a kubeconfig.

use base64::Engine;
use serde::Deserialize;

use super::{Credentials, CredentialsError};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    #[serde(default)]
    current_context: String,
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default)]
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority: Option<String>,
    certificate_authority_data: Option<String>,
    #[serde(default)]
    insecure_skip_tls_verify: bool,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    #[serde(default)]
    user: String,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: User,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct User {
    token: Option<String>,
    username: Option<String>,
    password: Option<String>,
    client_certificate: Option<String>,
    client_certificate_data: Option<String>,
    client_key: Option<String>,
    client_key_data: Option<String>,
}

/// Parses a kubeconfig. Returns the server and the credentials of the current context. `read` reads referenced files.
pub(super) fn parse(
    text: &str,
    read: impl Fn(&str) -> Result<Vec<u8>, CredentialsError>,
) -> Result<(String, Credentials), String> {
    let config: Kubeconfig = serde_saphyr::from_str(text).map_err(|e| e.to_string())?;
    let context = config
        .contexts
        .into_iter()
        .find(|context| context.name == config.current_context)
        .ok_or_else(|| format!("the current context {:?} does not exist", config.current_context))?
        .context;
    let cluster = config
        .clusters
        .into_iter()
        .find(|cluster| cluster.name == context.cluster)
        .ok_or_else(|| format!("the cluster {:?} does not exist", context.cluster))?
        .cluster;
    let user = config
        .users
        .into_iter()
        .find(|user| user.name == context.user)
        .map(|named| named.user)
        .unwrap_or_default();

    let either = |data: Option<String>, file: Option<String>, what: &str| match (data, file) {
        (Some(data), _) => base64::engine::general_purpose::STANDARD
            .decode(data.trim())
            .map(Some)
            .map_err(|e| format!("the {what} is not base64: {e}")),
        (None, Some(file)) => read(&file).map(Some).map_err(|e| e.to_string()),
        (None, None) => Ok(None),
    };
    let certificate = either(
        user.client_certificate_data,
        user.client_certificate,
        "client certificate",
    )?;
    let key = either(user.client_key_data, user.client_key, "client key")?;
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some([certificate, b"\n".to_vec(), key].concat()),
        (None, None) => None,
        _ => {
            return Err("a client certificate without a key, or a key without a certificate".to_owned());
        }
    };
    let credentials = Credentials {
        token: user.token,
        basic: user
            .username
            .map(|name| format!("{name}:{}", user.password.unwrap_or_default())),
        identity,
        authorities: either(
            cluster.certificate_authority_data,
            cluster.certificate_authority,
            "certificate authority",
        )?,
        insecure: cluster.insecure_skip_tls_verify,
    };
    Ok((cluster.server, credentials))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "
apiVersion: v1
kind: Config
current-context: here
clusters:
- name: there
  cluster: {server: 'https://192.0.2.1:6443', certificate-authority-data: Y2E=}
contexts:
- name: here
  context: {cluster: there, user: me}
users:
- name: me
  user: {username: me, password: hush, client-certificate: me.pem, client-key-data: a2V5}
";

    fn files(name: &str) -> Result<Vec<u8>, CredentialsError> {
        Ok(format!("({name})").into_bytes())
    }

    #[test]
    fn the_current_context_has_server_and_credentials() {
        let (server, credentials) = parse(CONFIG, files).unwrap();
        assert_eq!(server, "https://192.0.2.1:6443");
        assert_eq!(credentials.basic.as_deref(), Some("me:hush"));
        assert_eq!(credentials.authorities.as_deref(), Some(b"ca".as_slice()));
        assert_eq!(credentials.identity.as_deref(), Some(b"(me.pem)\nkey".as_slice()));
    }

    #[test]
    fn a_missing_context_is_named() {
        let error = parse(&CONFIG.replace("current-context: here", "current-context: gone"), files).unwrap_err();
        assert!(error.contains("gone"), "{error}");
    }

    #[test]
    fn a_certificate_without_a_key_is_refused() {
        assert!(parse(&CONFIG.replace(", client-key-data: a2V5", ""), files).is_err());
    }
}

//! The kubeconfig file of a simulator.
//!
//! - The file is written atomically, and only its owner can read it.
//! - There is one user per kind of credentials, because some clients reject a user with two, and some do not support
//!   every private key algorithm: `stuntdouble` (token, or nothing without TLS), `stuntdouble-certificate` and
//!   `stuntdouble-basic-auth`. The current context uses the first.
//!
//! Source: the kubeconfig file of Kubernetes v1.2 (`v1.Config`).

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{credentials::Credentials, tls::Tls};

/// Name of the cluster, and of the first user and context.
const NAME: &str = "stuntdouble";

/// Returns the configuration for a server at `url`, with a user and a context for each kind of credentials.
pub fn config(url: &str, tls: Option<&Tls>, credentials: &Credentials) -> Value {
    let mut cluster = json!({"server": url});
    let mut users = Vec::new();
    let mut add = |name: &str, user: Value| users.push(json!({"name": name, "user": user}));
    match tls {
        None => add(NAME, json!({})),
        Some(tls) => {
            cluster["certificate-authority-data"] = BASE64_STANDARD.encode(tls.authority()).into();
            if let Some(token) = credentials.token() {
                add(NAME, json!({"token": token.reveal()}));
            }
            let client = tls.client_certificate();
            let certificate = json!({
                "client-certificate-data": BASE64_STANDARD.encode(&client.certificate),
                "client-key-data": BASE64_STANDARD.encode(client.key.reveal()),
            });
            add(&format!("{NAME}-certificate"), certificate);
            if let Some((name, password)) = credentials.password() {
                let user = json!({"username": name, "password": password.reveal()});
                add(&format!("{NAME}-basic-auth"), user);
            }
        }
    }
    let contexts: Vec<Value> = users
        .iter()
        .map(|user| json!({"name": user["name"], "context": {"cluster": NAME, "user": user["name"]}}))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": users,
        "contexts": contexts,
        "current-context": users[0]["name"],
        "preferences": {},
    })
}

/// Writes a configuration to `file`, replacing it.
///
/// # Errors
/// The I/O error of the file, or of a temporary file next to it.
pub fn write(file: &Path, config: &Value) -> io::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = Path::new(&beside);
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(beside)
        .and_then(|mut out| {
            out.write_all(yaml(config).as_bytes())?;
            out.sync_all()
        })
        .and_then(|()| fs::rename(beside, file));
    if written.is_err() {
        let _ = fs::remove_file(beside);
    }
    written
}

/// Formats the configuration as YAML. Scalars are quoted as in JSON, which is valid YAML.
fn yaml(config: &Value) -> String {
    fn put(out: &mut String, value: &Value, indent: usize) {
        let pad = " ".repeat(indent);
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (at, (key, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        out.push_str(&pad);
                    }
                    out.push_str(key);
                    out.push(':');
                    match value {
                        Value::Object(inner) if !inner.is_empty() => {
                            out.push_str(&format!("\n{pad}  "));
                            put(out, value, indent + 2);
                        }
                        Value::Array(inner) if !inner.is_empty() => {
                            out.push('\n');
                            for item in inner {
                                out.push_str(&format!("{pad}- "));
                                put(out, item, indent + 2);
                            }
                        }
                        _ => out.push_str(&format!(" {value}\n")),
                    }
                }
            }
            _ => out.push_str(&format!("{value}\n")),
        }
    }
    let mut out = String::new();
    put(&mut out, config, 0);
    out
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::{super::tls::Identity, *};

    #[test]
    fn the_file_is_private_and_replaces_an_existing_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config");
        fs::write(&file, "old").unwrap();
        write(&file, &config("http://127.0.0.1:1", None, &Credentials::default())).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let expected = "apiVersion: \"v1\"\nkind: \"Config\"\nclusters:\n\
                        - name: \"stuntdouble\"\n  cluster:\n    server: \"http://127.0.0.1:1\"\nusers:\n- name: \
                        \"stuntdouble\"\n  user: {}\ncontexts:\n- name: \"stuntdouble\"\n  context:\n    cluster: \
                        \"stuntdouble\"\n    user: \
                        \"stuntdouble\"\ncurrent-context: \"stuntdouble\"\npreferences: {}\n";
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(write(&dir.path().join("absent/config"), &json!({})).is_err());
    }

    #[test]
    fn each_kind_of_credentials_has_a_user() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secrets");
        fs::write(&file, "hush,admin,1\n").unwrap();
        let mut credentials = Credentials::default();
        credentials.read_tokens(&file).unwrap();
        credentials.read_passwords(&file).unwrap();
        let tls = Tls::new(&Identity::made([]), None).unwrap();
        let config = config("https://127.0.0.1:1", Some(&tls), &credentials);
        assert_eq!(config["users"][0]["user"], json!({"token": "hush"}));
        assert_eq!(config["current-context"], config["users"][0]["name"]);
        let keys: Vec<&String> = config["users"][1]["user"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["client-certificate-data", "client-key-data"]);
        assert_eq!(
            config["users"][2]["user"],
            json!({"username": "admin", "password": "hush"})
        );
        let authority = BASE64_STANDARD
            .decode(
                config["clusters"][0]["cluster"]["certificate-authority-data"]
                    .as_str()
                    .unwrap(),
            )
            .unwrap();
        assert_eq!(authority, tls.authority().as_bytes());
    }
}

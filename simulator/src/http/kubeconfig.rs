//! The configuration that clients of the cluster read.
//!
//! - Written whole or not at all, readable by its owner only.
//! - Two users where there are both a token and a password, since clients refuse one user with two ways to log in: `stuntdouble` (certificate and
//!   token) and `stuntdouble-basic-auth`; the first is the current one.
//!
//! Source: the configuration file of Kubernetes v1.2's client tool (`v1.Config`).

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{credentials::Credentials, tls::Tls};

/// The cluster's name in the file, and the user's and the context's.
const NAME: &str = "stuntdouble";

/// The configuration for a server at `url`, with the ways to log in that there are.
pub fn config(url: &str, tls: Option<&Tls>, credentials: &Credentials) -> Value {
    let mut cluster = json!({"server": url});
    let mut user = json!({});
    let mut users = Vec::new();
    if let Some(tls) = tls {
        let client = tls.client_certificate();
        cluster["certificate-authority-data"] = BASE64_STANDARD.encode(tls.authority()).into();
        user["client-certificate-data"] = BASE64_STANDARD.encode(&client.certificate).into();
        user["client-key-data"] = BASE64_STANDARD.encode(client.key.reveal()).into();
        if let Some(token) = credentials.token() {
            user["token"] = token.reveal().into();
        }
        if let Some((name, password)) = credentials.password() {
            users.push(json!({"name": format!("{NAME}-basic-auth"), "user": {"username": name, "password": password.reveal()}}));
        }
    }
    users.insert(0, json!({"name": NAME, "user": user}));
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
        "current-context": NAME,
        "preferences": {},
    })
}

/// Writes a configuration to `file`, in the place of what is there.
///
/// # Errors
/// Where the file, or one beside it, cannot be written.
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

/// The configuration as YAML. Scalars are quoted as in JSON, which YAML takes.
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
    fn the_file_is_for_its_owner_and_replaces_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config");
        fs::write(&file, "old").unwrap();
        write(&file, &config("http://127.0.0.1:1", None, &Credentials::default())).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let expected = "apiVersion: \"v1\"\nkind: \"Config\"\nclusters:\n- name: \"stuntdouble\"\n  cluster:\n    server: \"http://127.0.0.1:1\"\nusers:\n- name: \
                        \"stuntdouble\"\n  user: {}\ncontexts:\n- name: \"stuntdouble\"\n  context:\n    cluster: \"stuntdouble\"\n    user: \
                        \"stuntdouble\"\ncurrent-context: \"stuntdouble\"\npreferences: {}\n";
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(write(&dir.path().join("absent/config"), &json!({})).is_err());
    }

    #[test]
    fn a_token_and_a_password_stand_with_two_users() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secrets");
        fs::write(&file, "hush,admin,1\n").unwrap();
        let mut credentials = Credentials::default();
        credentials.read_tokens(&file).unwrap();
        credentials.read_passwords(&file).unwrap();
        let tls = Tls::new(&Identity::made([]), None).unwrap();
        let config = config("https://127.0.0.1:1", Some(&tls), &credentials);
        assert_eq!(config["users"][0]["user"]["token"], "hush");
        assert_eq!(config["users"][0]["user"].get("password"), None);
        assert_eq!(
            config["users"][1]["user"],
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

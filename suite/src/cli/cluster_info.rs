//! `stuntdouble cluster-info`: where the API server and its add-ons are, as the client tool prints it.
//!
//! Promises: one line for each service of the system namespace that is labelled as the cluster's own.
//!
//! Limits: an answer of at most [`LONGEST`] bytes.
//!
//! Source of its semantics: the first text (logging); `kubectl cluster-info` of Kubernetes v1.2.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde_json::Value;
use stuntdouble_cassettes::transport::full;

use super::access::Access;
use super::{Trouble, exit};

/// How long the list of services may be, in bytes.
const LONGEST: usize = 16 << 20;

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The services of the cluster itself.
const SERVICES: &str = "/api/v1/namespaces/kube-system/services?labelSelector=kubernetes.io%2Fcluster-service%3Dtrue";

const EXAMPLES: &str = "Examples:
  stuntdouble cluster-info
  stuntdouble cluster-info --kubeconfig kubeconfig

Exit codes:
  0  it was told
  1  the server refused
  2  usage
  3  the server could not be reached";

/// Arguments of `stuntdouble cluster-info`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The server [default: the kubeconfig's, else http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,

    #[command(flatten)]
    access: Access,
}

/// Carries out the command.
pub(super) async fn cluster_info(arguments: Arguments) -> Result<u8, Trouble> {
    let given = arguments.upstream.clone().or(arguments.access.credentials()?.0);
    let (server, client) = arguments
        .access
        .client(Some(given.as_deref().unwrap_or("http://127.0.0.1:8080")))?;
    let request = Request::get(SERVICES)
        .body(full(Bytes::new()))
        .map_err(Trouble::usage)?;
    let ask = async {
        let response = client.send(request).await.map_err(|failure| failure.text)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LONGEST)
            .collect()
            .await
            .map_err(|error| error.to_string())?;
        Ok::<_, String>((status, body.to_bytes()))
    };
    let (status, body) = match tokio::time::timeout(PATIENCE, ask).await {
        Err(_) => {
            return Err(Trouble::unreachable(format!(
                "{server}: no answer within {} s",
                PATIENCE.as_secs()
            )));
        }
        Ok(answer) => answer.map_err(|error| Trouble::unreachable(format!("{server}: {error}")))?,
    };
    if status != StatusCode::OK {
        eprintln!(
            "stuntdouble: {server}: {status}: {}",
            String::from_utf8_lossy(&body).trim()
        );
        return Ok(exit::FAILED);
    }
    let list: Value = serde_json::from_slice(&body)
        .map_err(|error| Trouble::unreachable(format!("{server}: the answer is no JSON: {error}")))?;
    let out = std::io::stdout();
    let coloured = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    // Whoever reads may have read enough.
    let _ = out.lock().write_all(told(&server, &list, coloured).as_bytes());
    Ok(exit::OK)
}

/// The lines for a list of services.
fn told(server: &str, list: &Value, coloured: bool) -> String {
    let line = |name: &str, link: &str| {
        if coloured {
            format!("\x1b[32m{name}\x1b[0m is running at \x1b[33m{link}\x1b[0m\n")
        } else {
            format!("{name} is running at {link}\n")
        }
    };
    let mut out = line("Kubernetes master", server);
    for service in list["items"].as_array().into_iter().flatten() {
        let metadata = &service["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let shown = metadata["labels"]["kubernetes.io/name"]
            .as_str()
            .filter(|shown| !shown.is_empty())
            .unwrap_or(name);
        out.push_str(&line(shown, &link(server, service, name)));
    }
    out
}

/// Where a service is: at its public address where it has one, else behind the proxy.
fn link(server: &str, service: &Value, name: &str) -> String {
    let ingress = &service["status"]["loadBalancer"]["ingress"][0];
    let public = ["ip", "hostname"]
        .iter()
        .find_map(|field| ingress[field].as_str().filter(|host| !host.is_empty()));
    match public {
        Some(host) => {
            let ports = service["spec"]["ports"].as_array().into_iter().flatten();
            ports.map(|port| format!("http://{host}:{} ", port["port"])).collect()
        }
        None => format!(
            "{server}/api/v1/proxy/namespaces/{}/services/{name}",
            service["metadata"]["namespace"].as_str().unwrap_or_default()
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_add_on_has_a_line() {
        let list = json!({"items": [
            {"metadata": {"name": "elasticsearch-logging", "namespace": "kube-system", "labels": {"kubernetes.io/name": "Elasticsearch"}}, "status": {"loadBalancer": {}}},
            {"metadata": {"name": "kubernetes-dashboard", "namespace": "kube-system"}},
            {"metadata": {"name": "open", "namespace": "kube-system"}, "spec": {"ports": [{"port": 80}, {"port": 81}]},
             "status": {"loadBalancer": {"ingress": [{"hostname": "open.test"}]}}},
        ]});
        let expected = "Kubernetes master is running at https://h:1\n\
                        Elasticsearch is running at https://h:1/api/v1/proxy/namespaces/kube-system/services/elasticsearch-logging\n\
                        kubernetes-dashboard is running at https://h:1/api/v1/proxy/namespaces/kube-system/services/kubernetes-dashboard\n\
                        open is running at http://open.test:80 http://open.test:81 \n";
        assert_eq!(told("https://h:1", &list, false), expected);
    }
}

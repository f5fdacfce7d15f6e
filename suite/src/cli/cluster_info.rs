//! `stuntdouble cluster-info`: the URLs of the API server and its add-ons, in the format of `kubectl cluster-info`.
//!
//! Guarantees:
//! - One line for each service of `kube-system` with the label `kubernetes.io/cluster-service=true`.
//!
//! Limits:
//! - A response of at most [`MAX_RESPONSE_BYTES`].
//!
//! Source: the documentation of logging; `kubectl cluster-info` of Kubernetes v1.2.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde_json::Value;
use stuntdouble_cassettes::transport::full;

use super::access::Access;
use super::{CommandError, exit};

/// Maximum size of the list of services.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// Time limit of the request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Path of the list of add-on services.
const SERVICES: &str = "/api/v1/namespaces/kube-system/services?labelSelector=kubernetes.io%2Fcluster-service%3Dtrue";

const EXAMPLES: &str = "Examples:
  stuntdouble cluster-info
  stuntdouble cluster-info --kubeconfig kubeconfig

Exit codes:
0  the URLs are printed
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
pub(super) async fn cluster_info(arguments: Arguments) -> Result<u8, CommandError> {
    let named = arguments.upstream.clone().or(arguments.access.credentials()?.0);
    let (server, client) = arguments
        .access
        .client(Some(named.as_deref().unwrap_or("http://127.0.0.1:8080")))?;
    let request = Request::get(SERVICES)
        .body(full(Bytes::new()))
        .map_err(CommandError::usage)?;
    let fetch = async {
        let response = client.send(request).await.map_err(|failure| failure.text)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES)
            .collect()
            .await
            .map_err(|error| error.to_string())?;
        Ok::<_, String>((status, body.to_bytes()))
    };
    let (status, body) = match tokio::time::timeout(TIMEOUT, fetch).await {
        Err(_) => {
            return Err(CommandError::unreachable(format!(
                "{server}: no response within {} s",
                TIMEOUT.as_secs()
            )));
        }
        Ok(answer) => answer.map_err(|error| CommandError::unreachable(format!("{server}: {error}")))?,
    };
    if status != StatusCode::OK {
        eprintln!(
            "stuntdouble: {server}: {status}: {}",
            String::from_utf8_lossy(&body).trim()
        );
        return Ok(exit::FAILED);
    }
    let list: Value = serde_json::from_slice(&body)
        .map_err(|error| CommandError::unreachable(format!("{server}: the response is not JSON: {error}")))?;
    let out = std::io::stdout();
    let coloured = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    // The reader may have closed the pipe: not an error.
    let _ = out.lock().write_all(render(&server, &list, coloured).as_bytes());
    Ok(exit::OK)
}

/// Formats a list of services, one line each.
fn render(server: &str, list: &Value, coloured: bool) -> String {
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

/// Returns the URL of a service: its load balancer's address if it has one, else that of the service proxy.
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
            {"metadata": {"name": "elasticsearch-logging", "namespace": "kube-system",
              "labels": {"kubernetes.io/name": "Elasticsearch"}}, "status": {"loadBalancer": {}}},
            {"metadata": {"name": "kubernetes-dashboard", "namespace": "kube-system"}},
            {"metadata": {"name": "open", "namespace": "kube-system"}, "spec": {"ports": [{"port": 80}, {"port": 81}]},
             "status": {"loadBalancer": {"ingress": [{"hostname": "open.test"}]}}},
        ]});
        let expected = "Kubernetes master is running at https://h:1\n\
                        Elasticsearch is running at https://h:1/api/v1/proxy/namespaces/kube-system/services/elasticsearch-logging\n\
                        kubernetes-dashboard is running at https://h:1/api/v1/proxy/namespaces/kube-system/services/kubernetes-dashboard\n\
                        open is running at http://open.test:80 http://open.test:81 \n";
        assert_eq!(render("https://h:1", &list, false), expected);
    }
}

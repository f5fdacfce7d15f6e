//! Lifecycle hooks and the actions of probes.

use std::{net::Ipv4Addr, sync::Arc};

use bytes::Bytes;
use http::Request;
use serde_json::Value;

use crate::cluster::container::{Engine, Host, RunningContainer};

/// The result of an action.
pub(super) struct ActionResult {
    pub(super) succeeded: bool,
    pub(super) output: String,
}

impl ActionResult {
    fn failure(output: impl Into<String>) -> Self {
        Self {
            succeeded: false,
            output: output.into(),
        }
    }
}

/// Runs the action of a lifecycle hook or probe of a container: `exec`, `httpGet` or `tcpSocket`.
///
/// # Errors
/// The reason why it could not be run.
pub(super) async fn run(
    action: &Value,
    spec: &Value,
    container: &Arc<RunningContainer>,
    engine: &Arc<Engine>,
    node: Ipv4Addr,
) -> Result<ActionResult, String> {
    if let Some(command) = action["exec"]["command"].as_array() {
        let command: Vec<String> = command
            .iter()
            .filter_map(|word| Some(word.as_str()?.to_owned()))
            .collect();
        let (code, output) = container.run_command(&command).await?;
        return Ok(ActionResult {
            succeeded: code == 0,
            output,
        });
    }
    let get = action.get("httpGet");
    let target = get.or_else(|| action.get("tcpSocket"));
    let Some(target) = target else {
        return Err("missing or unsupported handler".to_owned());
    };
    let port = port(&target["port"], spec)?;
    let host = target["host"].as_str().filter(|host| !host.is_empty());
    let host = match host {
        Some(host) => host
            .parse()
            .map_err(|_| format!("dial tcp: lookup {host}: no such host"))?,
        None => container.host(),
    };
    if !container.is_simulated() && host == container.host() {
        return Ok(ActionResult {
            succeeded: true,
            output: String::new(),
        });
    }
    let path = get.and_then(|get| get["path"].as_str()).unwrap_or_default();
    let path = format!("/{}", path.trim_start_matches('/'));
    let refused = format!("dial tcp {host}:{port}: getsockopt: connection refused");
    let Host::Listening(server) = engine.network().at(host, port) else {
        let scheme = get.map(|get| get["scheme"].as_str().unwrap_or("HTTP").to_lowercase());
        return Ok(ActionResult::failure(match scheme {
            Some(scheme) => format!("Get {scheme}://{host}:{port}{path}: {refused}"),
            None => refused,
        }));
    };
    let Some(get) = get else {
        return Ok(ActionResult {
            succeeded: true,
            output: String::new(),
        });
    };
    let mut request = Request::get(&path)
        .header("host", format!("{host}:{port}"))
        .header("user-agent", "Go-http-client/1.1")
        .header("x-forwarded-for", node.to_string());
    for header in get["httpHeaders"].as_array().into_iter().flatten() {
        request = request.header(
            header["name"].as_str().unwrap_or_default(),
            header["value"].as_str().unwrap_or_default(),
        );
    }
    let request = request.body(Bytes::new()).map_err(|why| why.to_string())?;
    let response = server.answer(request).await;
    let status = response.status();
    if status.is_success() || status.is_redirection() {
        return Ok(ActionResult {
            succeeded: true,
            output: String::from_utf8_lossy(response.body()).into_owned(),
        });
    }
    Ok(ActionResult::failure(format!(
        "HTTP probe failed with statuscode: {}",
        status.as_u16()
    )))
}

/// Returns a port by its number, or by its name among the container's ports.
fn port(port: &Value, spec: &Value) -> Result<u16, String> {
    let number = port.as_u64().or_else(|| {
        let name = port.as_str()?;
        let ports = spec["ports"].as_array().into_iter().flatten();
        let named = ports
            .filter(|port| port["name"] == name)
            .find_map(|port| port["containerPort"].as_u64());
        named.or_else(|| name.parse().ok())
    });
    let number = number
        .and_then(|number| u16::try_from(number).ok())
        .filter(|number| *number > 0);
    number.ok_or_else(|| format!("couldn't find port: {port} in {}", spec["name"]))
}

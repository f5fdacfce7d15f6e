//! Detects whether a target enforces limit ranges and quotas, as v1.2 does with the recommended admission plug-ins.

use http::Method;
use serde_json::{Value, json};

use super::act::{NOT_READY_RETRIES, is_not_ready};
use super::environment_error::EnvironmentError;
use super::run::{LABEL, Run, deletion};
use crate::request::Request;
use crate::target::Target;

/// Name of the limit range, and prefix of the names of the pods that exceed it.
const NAME: &str = "sd-admission";

/// Returns whether the target refuses a pod that exceeds a limit range. Tested once per run.
pub(super) async fn is_enforced(target: &Target, run: &Run) -> Result<bool, EnvironmentError> {
    if target.is_own() || target.is_recorded() {
        return Ok(true);
    }
    run.admission.get_or_try_init(|| refuses(target, run)).await.copied()
}

async fn refuses(target: &Target, run: &Run) -> Result<bool, EnvironmentError> {
    let lease = run.lease(target, 1).await?;
    let namespace: String = lease.names().concat();
    let labels = json!({LABEL: run.name()});
    let range = json!({
        "kind": "LimitRange",
        "apiVersion": "v1",
        "metadata": {"name": NAME, "labels": labels},
        "spec": {"limits": [{"type": "Pod", "max": {"cpu": "100m"}}]},
    });
    let container = json!({"name": "main", "image": "nginx", "resources": {"limits": {"cpu": "1"}}});
    let pod = json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"generateName": format!("{NAME}-"), "labels": labels},
        "spec": {"nodeSelector": {"stuntdouble.example/nowhere": "yes"}, "containers": [container]},
    });
    let ranges = format!("/api/v1/namespaces/{namespace}/limitranges");
    let pods = format!("/api/v1/namespaces/{namespace}/pods");
    let create =
        |path: &str, object: &Value| Request::new(Method::POST, path).with_body("application/json", object.to_string());
    target.send(&create(&ranges, &range)).await?;
    let (attempts, pause) = NOT_READY_RETRIES;
    let mut refused = false;
    for _ in 0..attempts {
        let answer = target.send(&create(&pods, &pod)).await?;
        refused = answer.status == 403 && !is_not_ready(&answer);
        if refused {
            break;
        }
        let created: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if let Some(name) = created.pointer("/metadata/name").and_then(Value::as_str) {
            target.send(&deletion(format!("{pods}/{name}"))).await?;
        }
        tokio::time::sleep(pause).await;
    }
    target.send(&deletion(format!("{ranges}/{NAME}"))).await?;
    // No other trial uses the namespace, because the target may continue to refuse pods for a while.
    Ok(refused)
}

//! Tests a controller: it gives each namespace with the label `team` a config map that names the team.
//!
//! `cargo run -p stuntdouble-simulator --example controller`

use std::{error::Error, sync::Arc};

use serde_json::json;
use stuntdouble_simulator::{Client, Informer, ListOptions, ObjectKey, Simulator, Status, WorkQueue};

/// The controller under test. It runs until the future is dropped.
async fn run(client: Client) -> Result<(), Status> {
    let labelled = ListOptions {
        label_selector: "team".to_owned(),
        ..ListOptions::default()
    };
    let namespaces = Arc::new(Informer::new(client.api("v1", "namespaces")?, labelled).await?);
    let queue = Arc::new(WorkQueue::new(client.clock().clone()));
    let keys = queue.clone();
    namespaces.on_change(move |change| keys.extend(change.object().map(|object| ObjectKey::of(object))));
    tokio::spawn(namespaces.clone().run());
    let config_maps = client.api("v1", "configmaps")?;
    loop {
        let key = queue.next().await;
        if let Some(namespace) = namespaces.get(&key) {
            let team = &namespace["metadata"]["labels"]["team"];
            let config_map = json!({"metadata": {"name": "team"}, "data": {"name": team}});
            match config_maps.in_namespace(&key.name).create(config_map).await {
                Err(status) if status.code != 409 => queue.add_rate_limited(key.clone()),
                _ => queue.forget(&key),
            }
        }
        queue.done(&key);
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let cluster = Simulator::builder().bare(true).start().await?;
    let client = cluster.client();
    let controller = tokio::spawn(run(client.clone()));
    let config_maps = client.api("v1", "configmaps")?;
    let mut changes = config_maps.watch(&ListOptions::default()).await?;

    let namespaces = client.api("v1", "namespaces")?;
    namespaces.create(json!({"metadata": {"name": "plain"}})).await?;
    namespaces
        .create(json!({"metadata": {"name": "shop", "labels": {"team": "sales"}}}))
        .await?;

    let change = changes.next().await.ok_or("the watch ended")?;
    assert_eq!(change.object()["metadata"]["namespace"], "shop");
    assert_eq!(change.object()["data"]["name"], "sales");
    controller.abort();
    println!("the namespace shop has its config map, and plain has none");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs() {
        super::main().expect("the example succeeds");
    }
}

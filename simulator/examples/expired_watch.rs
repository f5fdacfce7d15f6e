//! Tests a client with an expired watch: the server no longer has the version from which the client continues.
//!
//! `cargo run -p stuntdouble-simulator --example expired_watch`

use std::error::Error;

use serde_json::{Value, json};
use stuntdouble_simulator::Simulator;

/// The client under test: it lists, watches, and lists again when its version has expired.
struct Watcher {
    url: String,
    version: String,
    names: Vec<String>,
}

impl Watcher {
    async fn list(url: String) -> reqwest::Result<Self> {
        let list: Value = reqwest::get(&url).await?.json().await?;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let names = items.iter().filter_map(|item| item["metadata"]["name"].as_str());
        Ok(Self {
            version: list["metadata"]["resourceVersion"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            names: names.map(str::to_owned).collect(),
            url,
        })
    }

    /// Watches for at most one second. Returns whether it had to list again.
    async fn follow(&mut self) -> reqwest::Result<bool> {
        let url = format!(
            "{}?watch=true&timeoutSeconds=1&resourceVersion={}",
            self.url, self.version
        );
        let answer = reqwest::get(url).await?;
        let code = answer.status().as_u16();
        let frames = answer.text().await?;
        let events = frames
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        // A server reports it with the response's status, or in the first event of the stream.
        let expired = code == 410 || events.clone().any(|event| event["object"]["code"] == 410);
        if expired {
            *self = Self::list(self.url.clone()).await?;
            return Ok(true);
        }
        for event in events {
            let metadata = &event["object"]["metadata"];
            self.version = metadata["resourceVersion"].as_str().unwrap_or_default().to_owned();
            self.names.extend(metadata["name"].as_str().map(str::to_owned));
        }
        Ok(false)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The history keeps five changes of each kind.
    let cluster = Simulator::builder().bare(true).history(5).start().await?;
    let config_maps = cluster.client().api("v1", "configmaps")?.in_namespace("default");
    let url = format!("{}/api/v1/namespaces/default/configmaps", cluster.url());
    let mut follower = Watcher::list(url).await?;

    config_maps.create(json!({"metadata": {"name": "map-0"}})).await?;
    assert!(!follower.follow().await?, "the watch goes on from the list");
    assert_eq!(follower.names, ["map-0"]);

    for n in 1..10 {
        config_maps
            .create(json!({"metadata": {"name": format!("map-{n}")}}))
            .await?;
    }
    assert!(follower.follow().await?, "the version is no longer kept");
    assert_eq!(follower.names.len(), 10);
    println!("the client noticed that its version had expired, listed again, and missed nothing");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs() {
        // The workspace builds the client without a default cryptography provider.
        let _installed = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        super::main().expect("the example succeeds");
    }
}

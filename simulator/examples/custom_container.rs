//! Tests a client of a service: the containers of its image run Rust code of the test.
//!
//! `cargo run -p stuntdouble-simulator --example custom_container`

use std::{error::Error, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use serde_json::json;
use stuntdouble_simulator::{Clock, ContainerContext, Simulator};

/// Runs the containers of the image `greeter:1`: an HTTP server with the greeting of a mounted config map.
async fn greeter(mut container: ContainerContext) -> i32 {
    let Ok(greeting) = container.read_file("/etc/greeter/greeting") else {
        container.print_error("there is no greeting\n").await;
        return 1;
    };
    let answer = move |request: Request<Bytes>| {
        let name = request.uri().path().trim_start_matches('/').to_owned();
        let text = format!("{}, {name}!", String::from_utf8_lossy(&greeting));
        async move { Response::new(text.into()) }
    };
    container.serve(80, answer);
    container.print("ready to greet\n").await;
    container.terminated().await;
    0
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The clock is frozen, and stepped explicitly.
    let clock: Clock = "frozen:2016-03-01T00:00:00Z".parse()?;
    let builder = Simulator::builder().clock(clock).image("greeter:1", greeter);
    let cluster = builder.start().await?;
    let client = cluster.client();

    let config_map = json!({"metadata": {"name": "words"}, "data": {"greeting": "Hello"}});
    client
        .api("v1", "configmaps")?
        .in_namespace("default")
        .create(config_map)
        .await?;
    let pod = json!({
        "metadata": {"name": "greeter"},
        "spec": {
            "containers": [{
                "name": "main",
                "image": "greeter:1",
                "volumeMounts": [{"name": "words", "mountPath": "/etc/greeter"}],
            }],
            "volumes": [{"name": "words", "configMap": {"name": "words"}}],
        },
    });
    let pods = client.api("v1", "pods")?.in_namespace("default");
    pods.create(pod).await?;
    cluster.advance(Duration::from_secs(10)).await;
    assert_eq!(pods.get("greeter").await?["status"]["phase"], "Running");

    // The client under test connects through the API server's proxy.
    let pod = format!("{}/api/v1/namespaces/default/pods/greeter", cluster.url());
    let answer = reqwest::get(format!("{pod}/proxy/world")).await?.text().await?;
    assert_eq!(answer, "Hello, world!");
    let log = reqwest::get(format!("{pod}/log")).await?.text().await?;
    assert_eq!(log, "ready to greet\n");
    println!("{answer}");
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

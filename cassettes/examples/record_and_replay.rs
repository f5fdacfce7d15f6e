//! Records a session in the first run of a test, and replays it in later runs.
//!
//! `cargo run -p stuntdouble-cassettes --example record_and_replay`

use std::error::Error;

use stuntdouble_cassettes::{
    Cassette, Once, RecorderOptions, Replayer, ReplayerOptions,
    transport::{Client, Credentials, full},
};

/// The code under test. Returns the version of a server.
async fn version(url: &str) -> Result<String, Box<dyn Error>> {
    let client = Client::new(url, &Credentials::default(), true)?;
    let request = http::Request::get("/version").body(full(""))?;
    let answer = client.send(request).await.map_err(|failure| failure.text)?;
    let body = http_body_util::BodyExt::collect(answer.into_body()).await?.to_bytes();
    let version: serde_json::Value = serde_json::from_slice(&body)?;
    Ok(version["gitVersion"].as_str().unwrap_or_default().to_owned())
}

/// The server to record. Here it is a replayer.
async fn server() -> Result<Replayer, Box<dyn Error>> {
    let cassette = Cassette::parse(concat!(
        "cassette: 1\nrecorded: 2026-11-21T11:45:16Z\n---\nid: 1\nstarted: 2026-11-21T11:45:16Z\n",
        "request: {method: GET, url: /version}\n",
        "response: {status: 200, json: {gitVersion: v1.2.0}}\n...\n",
    ))?;
    Ok(Replayer::start(cassette, ReplayerOptions::default()).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("version.yaml");
    let server = server().await?;
    let upstream = server.url();
    let session = async || {
        Once::start(
            &path,
            RecorderOptions::new(upstream.clone()),
            ReplayerOptions::default(),
        )
        .await
    };

    let first = session().await?;
    assert!(first.is_recording());
    assert_eq!(version(&first.url()).await?, "v1.2.0");
    first.stop().await;
    drop(server);

    // The server is gone; the cassette answers.
    let second = session().await?;
    assert!(!second.is_recording());
    assert_eq!(version(&second.url()).await?, "v1.2.0");
    second.assert_all_played();
    second.stop().await;
    println!("recorded once, replayed without the server");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_holds() {
        super::main().expect("the example holds");
    }
}

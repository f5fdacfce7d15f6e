//! Simulators for cassettes: fresh ones to verify, and ones brought to the state that a cassette implies.

use serde_json::Value;
use stuntdouble_cassettes::{State, Thaw, Thawed};
use stuntdouble_simulator::Profile;
use stuntdouble_simulator::Simulator;

use crate::target;

/// Starts a bare simulator of the profile that a cassette names; of the documented one where it names none.
pub(super) async fn start(profile: Option<&str>) -> Result<Simulator, String> {
    let profile: Profile = profile.unwrap_or_default().parse().or_else(|error| {
        if profile.is_none() {
            Ok(Profile::default())
        } else {
            Err(error)
        }
    })?;
    Simulator::builder()
        .bare(true)
        .profile(profile)
        .start()
        .await
        .map_err(|error| error.to_string())
}

/// Thaws a cassette into a simulator, which runs as long as the process.
pub(super) struct Simulators {
    profile: Option<String>,
}

impl Simulators {
    /// Simulators of this profile.
    pub(super) fn new(profile: Option<&str>) -> Self {
        Self {
            profile: profile.map(str::to_owned),
        }
    }
}

impl Thaw for Simulators {
    fn thaw(&self, state: State) -> Thawed {
        let profile = self.profile.clone();
        Box::pin(async move {
            let simulator = start(profile.as_deref()).await?;
            let url = simulator.url();
            let client = target::client(&target::Credentials::default()).map_err(|error| error.to_string())?;
            let mut objects = state.objects;
            // Namespaces come before what lives in them.
            objects.sort_by_key(|object| object.value.get("kind").and_then(Value::as_str) != Some("Namespace"));
            for object in objects {
                create(&client, &url, &object.path, object.value).await?;
            }
            // Whoever thawed a cassette asks it until the process ends.
            std::mem::forget(simulator);
            Ok(url)
        })
    }
}

/// Creates an object in its collection; one that is there already is replaced.
async fn create(client: &reqwest::Client, url: &str, path: &str, mut object: Value) -> Result<(), String> {
    let Some((collection, _)) = path.rsplit_once('/') else {
        return Ok(());
    };
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for own in [
            "uid",
            "resourceVersion",
            "selfLink",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
        ] {
            metadata.remove(own);
        }
    }
    let failed = |error: reqwest::Error| format!("{path} could not be thawed: {error}");
    let answer = client
        .post(format!("{url}{collection}"))
        .json(&object)
        .send()
        .await
        .map_err(failed)?;
    let answer = match answer.status().as_u16() {
        409 => client
            .put(format!("{url}{path}"))
            .json(&object)
            .send()
            .await
            .map_err(failed)?,
        _ => answer,
    };
    if answer.status().is_success() {
        if object
            .get("status")
            .is_some_and(|status| status.as_object().is_some_and(|s| !s.is_empty()))
        {
            // Kinds without a status of their own refuse this, and need none.
            let _ = client
                .put(format!("{url}{path}/status"))
                .json(&object)
                .send()
                .await
                .map_err(failed)?;
        }
        return Ok(());
    }
    let (status, text) = (answer.status(), answer.text().await.unwrap_or_default());
    Err(format!("{path} could not be thawed: {status} {text}"))
}

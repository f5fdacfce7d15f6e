//! Simulators for cassettes: fresh ones for `verify`, and ones with the objects of a cassette for `--on-miss thaw`.

use serde_json::Value;
use stuntdouble_cassettes::{State, Thaw, Thawed};
use stuntdouble_simulator::Profile;
use stuntdouble_simulator::Simulator;

use crate::target;

/// Starts a bare simulator with the profile of a cassette. Default: documented.
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

/// Creates the objects of a cassette in a simulator, which runs until the process ends.
pub(super) struct Simulators {
    profile: Option<String>,
}

impl Simulators {
    /// Returns a factory of simulators with this profile.
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
            let client = target::client(&url, &target::Credentials::default()).map_err(|error| error.to_string())?;
            let mut objects = state.objects;
            // Namespaces first: other objects need them.
            objects.sort_by_key(|object| object.value.get("kind").and_then(Value::as_str) != Some("Namespace"));
            for object in objects {
                create(&client, &url, &object.path, object.value).await?;
            }
            // Dropping the simulator would stop it; it is needed until the process ends.
            std::mem::forget(simulator);
            Ok(url)
        })
    }
}

/// Creates an object, or replaces it if it exists.
async fn create(client: &reqwest::Client, url: &str, path: &str, mut object: Value) -> Result<(), String> {
    let Some((collection, _)) = path.rsplit_once('/') else {
        return Ok(());
    };
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for system_field in [
            "uid",
            "resourceVersion",
            "selfLink",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
        ] {
            metadata.remove(system_field);
        }
    }
    let failed = |error: reqwest::Error| format!("cannot create {path} of the cassette: {error}");
    let response = client
        .post(format!("{url}{collection}"))
        .json(&object)
        .send()
        .await
        .map_err(failed)?;
    let response = match response.status().as_u16() {
        409 => client
            .put(format!("{url}{path}"))
            .json(&object)
            .send()
            .await
            .map_err(failed)?,
        _ => response,
    };
    if response.status().is_success() {
        if object
            .get("status")
            .is_some_and(|status| status.as_object().is_some_and(|s| !s.is_empty()))
        {
            // Kinds without the status subresource refuse this: not an error.
            let _ = client
                .put(format!("{url}{path}/status"))
                .json(&object)
                .send()
                .await
                .map_err(failed)?;
        }
        return Ok(());
    }
    let (status, text) = (response.status(), response.text().await.unwrap_or_default());
    Err(format!("cannot create {path} of the cassette: {status} {text}"))
}

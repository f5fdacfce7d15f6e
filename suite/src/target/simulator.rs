//! Simulators that the suite starts.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use stuntdouble_simulator::Simulator;

use super::{Backend, BackendAddress, CredentialClients, Credentials, Target, TargetError};
use crate::catalog::Profile;

/// Seed of the simulators.
const SEED: u64 = 7;
/// Frozen clock of a simulator with log lines: the time at which the queries were recorded.
pub(super) const NOW: &str = "frozen:2015-06-26T12:00:00Z";
/// Clock of a simulator with running containers.
pub(super) const RUNNING: &str = "real";
/// Address at which the simulator's proxy reaches the suite's backend.
const BACKEND: (&str, u16) = ("10.99.0.2", 8080);
/// User of the simulator's secure listener.
const USER: &str = "admin";
/// Password of that user.
const PASSWORD: &str = "open-sesame";
/// Token of that user.
const TOKEN: &str = "a-token-for-admin";

/// A simulator that runs as long as its target.
#[derive(Debug)]
pub(super) struct Embedded {
    pub(super) profile: Profile,
    /// Clock of a full cluster; `None` for a bare one.
    pub(super) clock: Option<&'static str>,
    pub(super) _running: Simulator,
}

fn rule(profile: Profile) -> stuntdouble_simulator::Profile {
    match profile {
        Profile::Documented => stuntdouble_simulator::Profile::Documented,
        Profile::Kubernetes12 => stuntdouble_simulator::Profile::Kubernetes12,
    }
}

/// Starts a simulator of a full cluster: nodes, controllers and add-ons.
pub(super) async fn full_cluster(profile: Profile, clock: &str) -> Result<Simulator, TargetError> {
    let failed = |error: &dyn std::fmt::Display| TargetError::Simulator(error.to_string());
    let clock = clock
        .parse()
        .map_err(|e: <stuntdouble_simulator::Clock as std::str::FromStr>::Err| failed(&e))?;
    Simulator::builder()
        .profile(rule(profile))
        .seed(SEED)
        .clock(clock)
        .start()
        .await
        .map_err(|e| failed(&e))
}

impl Target {
    /// Starts a bare simulator with a secure listener, and a backend behind its proxy. Dropping the target stops it.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn simulator(profile: Profile) -> Result<Self, TargetError> {
        let failed = |error: &dyn std::fmt::Display| TargetError::Simulator(error.to_string());
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let backend = Backend::listen(any_port).await.map_err(|e| failed(&e))?;
        let backend_address = BackendAddress {
            host: BACKEND.0.to_owned(),
            port: BACKEND.1,
        };
        // Many concurrent trials need more service addresses than the default range has.
        let services = "10.0.0.0/16"
            .parse::<stuntdouble_simulator::Cidr>()
            .map_err(|e| failed(&e))?;
        let builder = Simulator::builder()
            .profile(rule(profile))
            .seed(SEED)
            .bare(true)
            .service_cluster_ip_range(services);
        let builder = builder.dial(
            format!("{}:{}", backend_address.host, backend_address.port),
            backend.address().to_string(),
        );
        let builder = builder
            .secure_listen(any_port)
            .credentials(accepted_credentials().map_err(|e| failed(&e))?);
        let running = builder.start().await.map_err(|e| failed(&e))?;
        let mut target = Self::at(&running.url(), &Credentials::default())?.with_backend(backend_address);
        if let (Some(url), Some(tls)) = (running.secure_url(), running.tls()) {
            let certificate = tls.client_certificate();
            let credentials = Credentials {
                token: Some(TOKEN.to_owned()),
                basic: Some(format!("{USER}:{PASSWORD}")),
                identity: Some(
                    [&certificate.certificate, "\n", certificate.key.reveal()]
                        .concat()
                        .into_bytes(),
                ),
                authorities: Some(tls.authority().as_bytes().to_vec()),
                insecure: false,
            };
            target.secrets = Arc::new(credentials.secrets());
            target.credential_clients = Some(CredentialClients::at(&url, &credentials)?);
        }
        target.embedded = Some(Arc::new(Embedded {
            profile,
            clock: None,
            _running: running,
        }));
        Ok(target.owning_backend(backend))
    }
}

/// Returns the credentials that the secure listener accepts, read from temporary files.
fn accepted_credentials() -> Result<stuntdouble_simulator::Credentials, Box<dyn std::error::Error>> {
    let file = |secret: &str| {
        let mut file = tempfile::NamedTempFile::new()?;
        writeln!(file, "{secret},{USER},1")?;
        Ok::<_, std::io::Error>(file)
    };
    let mut credentials = stuntdouble_simulator::Credentials::default();
    credentials.read_tokens(file(TOKEN)?.path())?;
    credentials.read_passwords(file(PASSWORD)?.path())?;
    Ok(credentials)
}

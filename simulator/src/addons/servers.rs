//! The servers in the add-ons' pods, by image and port.

use std::{collections::HashMap, sync::Arc};

use futures::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::{Request, Response};
use stuntdouble_search::SearchServer;

use super::{
    dns::DnsServer,
    metrics::{Heapster, Influx, Samples},
    page,
    upstream::{SearchUpstream, Upstream},
};
use crate::{
    clock::Clock,
    cluster::{
        Names,
        network::{Backend, Body},
    },
};

/// The log search backend.
#[derive(Clone)]
pub(crate) enum Search {
    /// A server inside this process.
    Inside(SearchServer),
    /// A cluster outside this process.
    Upstream(SearchUpstream),
}

/// Settings of the servers.
#[derive(Clone)]
pub(crate) struct Settings {
    /// The cluster's clock.
    pub(crate) clock: Clock,
    pub(crate) search: Search,
    /// Resolver of the cluster's names.
    pub(crate) names: Names,
}

/// The servers of an image, with their ports.
type Listening = Vec<(u16, Arc<dyn Backend>)>;

/// The servers by image.
pub(crate) struct Servers {
    by_image: HashMap<&'static str, Listening>,
    samples: Arc<Samples>,
}

impl Servers {
    /// Creates the servers of every add-on. All pods of the search backend share one index.
    ///
    /// # Errors
    /// Describes invalid settings of the search cluster.
    pub(crate) fn new(settings: &Settings) -> Result<Self, String> {
        let search: Arc<dyn Backend> = match &settings.search {
            Search::Upstream(upstream) => Arc::new(Upstream::new(upstream)?),
            Search::Inside(server) => Arc::new(backend(server.clone())),
        };
        let mut servers: HashMap<&'static str, Listening> = HashMap::new();
        servers.insert("elasticsearch", vec![(9200, search)]);
        servers.insert("kibana", vec![(5601, Arc::new(page::viewer()))]);
        servers.insert("kubernetes-dashboard-amd64", vec![(9090, Arc::new(page::dashboard()))]);
        let names = settings.names.clone();
        servers.insert("skydns", vec![(53, Arc::new(DnsServer { names }))]);
        let samples: Arc<Samples> = Arc::default();
        let influx: Arc<dyn Backend> = Arc::new(Influx::new(samples.clone(), settings.clock.clone()));
        servers.insert("heapster", vec![(8082, Arc::new(Heapster::new(samples.clone())))]);
        servers.insert("heapster_influxdb", vec![(8083, influx.clone()), (8086, influx)]);
        servers.insert("heapster_grafana", vec![(3000, Arc::new(page::metrics()))]);
        Ok(Self {
            by_image: servers,
            samples,
        })
    }

    /// Samples of the metrics collector.
    pub(super) fn samples(&self) -> Arc<Samples> {
        self.samples.clone()
    }

    /// Returns the servers of an image, with their ports. Ignores the registry and the tag.
    pub(super) fn of_image(&self, image: &str) -> &[(u16, Arc<dyn Backend>)] {
        let name = image.rsplit('/').next().unwrap_or_default();
        let name = name.split([':', '@']).next().unwrap_or_default();
        self.by_image.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Returns the search server as a pod's server.
fn backend(server: SearchServer) -> impl Backend + 'static {
    move |request: Request<Body>| -> BoxFuture<'static, Response<Body>> {
        let server = server.clone();
        Box::pin(async move {
            let response = server.handle(request).await;
            response.map(|body| body.map_err(|never| match never {}).boxed_unsync())
        })
    }
}

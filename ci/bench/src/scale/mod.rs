//! Simulated load of clusters of several sizes on their API servers, with the costs of a run.
//!
//! - The load is that of the defaults of Kubernetes v1.2; see [`cluster`]. Costs are the processor times measured by
//!   `run`; see [`costs`].
//! - A server is a queue with one place per core. Requests and deliveries arrive at random, from a seed.
//! - Limits: network and disk are not simulated; the commit of a replica takes as long as that of etcd.

mod cluster;
mod costs;
mod queue;

use std::{fmt::Write, path::Path};

use crate::{
    client::Outcome,
    plot::{Plot, Series},
    report,
    results::number,
};

use cluster::Cluster;
use costs::Costs;

/// API servers that share the load of a cluster.
struct Setup {
    name: &'static str,
    replicas: usize,
    cores: usize,
    /// Whether the objects are in etcd: every replica then applies every change.
    has_etcd: bool,
}

const SETUPS: [Setup; 4] = [
    Setup {
        name: "1 process, 2 cores",
        replicas: 1,
        cores: 2,
        has_etcd: false,
    },
    Setup {
        name: "1 process, 8 cores",
        replicas: 1,
        cores: 8,
        has_etcd: false,
    },
    Setup {
        name: "3 replicas over etcd, 8 cores each",
        replicas: 3,
        cores: 8,
        has_etcd: true,
    },
    Setup {
        name: "5 replicas over etcd, 16 cores each",
        replicas: 5,
        cores: 16,
        has_etcd: true,
    },
];

/// Numbers of nodes in the table. Each node has thirty pods.
const SIZES: [usize; 3] = [100, 1_000, 5_000];
/// Numbers of nodes in the plot.
const CURVE: [usize; 7] = [50, 100, 250, 500, 1_000, 2_500, 5_000];

/// Load of one replica.
struct Load {
    requests: f64,
    deliveries: f64,
    /// Number of busy cores.
    busy: f64,
    outcome: Option<queue::Delays>,
    /// Memory in MB.
    memory: f64,
}

fn simulate(setup: &Setup, nodes: usize, costs: &Costs) -> Load {
    let cluster = Cluster::of(nodes);
    let streams = cluster.streams(setup.replicas, setup.has_etcd, costs);
    let work: f64 = streams.iter().map(|stream| stream.rate * stream.work()).sum();
    let outcome = (work < 0.98 * setup.cores as f64).then(|| queue::run(&streams, setup.cores));
    Load {
        requests: streams
            .iter()
            .filter(|stream| stream.is_request)
            .map(|stream| stream.rate)
            .sum(),
        deliveries: streams.iter().map(|stream| stream.rate * stream.watchers).sum(),
        busy: work,
        outcome,
        memory: cluster.memory(setup.replicas, costs),
    }
}

/// Writes the table and the plot of `docs/scale.md`.
pub(crate) fn write(results: &Path, docs: &Path) -> Outcome {
    let costs = Costs::of(&report::read(results)?)?;
    let mut text = costs.table();
    text.push_str(
        "\n| nodes, pods | API servers | requests/s each | deliveries/s each | busy cores each | 99 % of requests \
         | 99 % of deliveries | memory each |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for nodes in SIZES {
        for setup in &SETUPS {
            let load = simulate(setup, nodes, &costs);
            let delay = |of: fn(&queue::Delays) -> f64| match &load.outcome {
                Some(delays) => format!("{} ms", number(of(delays) * 1e3)),
                None => "overloaded".to_owned(),
            };
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "| {}, {} | {} | {} | {} | {:.1} of {} | {} | {} | {} MB |",
                number(nodes as f64),
                number((nodes * cluster::PODS) as f64),
                setup.name,
                number(load.requests.round()),
                number(load.deliveries.round()),
                load.busy,
                setup.cores,
                delay(|delays| delays.request),
                delay(|delays| delays.delivery),
                number(load.memory.round()),
            );
        }
    }
    let series = SETUPS.iter().map(|setup| {
        let share = |nodes: usize| 100.0 * simulate(setup, nodes, &costs).busy / setup.cores as f64;
        Series::new(
            setup.name,
            CURVE.iter().map(|nodes| (*nodes as f64, share(*nodes))).collect(),
        )
    });
    let plot = Plot {
        title: "Busy share of each API server's cores in percent, by nodes (100 is overload)".to_owned(),
        series: series.collect(),
    };
    let images = docs.join("images").join("performance");
    std::fs::create_dir_all(&images)?;
    plot.draw(&images.join("scale.svg"))?;
    text.push_str("\n![Busy share of cores by nodes](images/performance/scale.svg)\n");
    report::replace(&docs.join("scale.md"), &text)
}

//! Alternating rounds of requests to a server and to bare hyper.

use crate::{
    client::{Outcome, Requests, throughput},
    results::Row,
    server::Server,
};

/// Figures of one server.
#[derive(Default)]
pub(crate) struct Side {
    /// Requests per second, one figure per round.
    pub(crate) rates: Vec<f64>,
    /// Processor time of the server per request in microseconds, one figure per round.
    pub(crate) costs: Vec<f64>,
}

impl Side {
    /// Sends a round of requests.
    pub(crate) async fn round(&mut self, server: &Server, connections: usize, requests: &Requests) -> Outcome {
        let before = server.processor()?;
        self.rates
            .push(throughput(&server.address, connections, requests).await?);
        let used = server.processor()? - before;
        self.costs.push(used * 1e6 / requests.len() as f64);
        Ok(())
    }
}

/// Figures of Stuntdouble and of bare hyper.
#[derive(Default)]
pub(crate) struct Turns {
    pub(crate) ours: Side,
    pub(crate) bare: Side,
}

impl Turns {
    /// Runs alternating rounds.
    pub(crate) async fn take(
        rounds: usize,
        connections: usize,
        ours: (&Server, &Requests),
        bare: (&Server, &Requests),
    ) -> Outcome<Self> {
        let mut turns = Self::default();
        for _ in 0..rounds {
            turns.ours.round(ours.0, connections, ours.1).await?;
            turns.bare.round(bare.0, connections, bare.1).await?;
        }
        Ok(turns)
    }

    /// Returns the row of the rates.
    pub(crate) fn rates(&self, section: &str, name: &str) -> Row {
        Row::beside(section, name, &self.ours.rates, &self.bare.rates, "requests/s")
    }

    /// Returns the row of the processor time.
    pub(crate) fn costs(&self, section: &str, name: &str) -> Row {
        let name = format!("{name}, processor time of the server");
        Row::beside(section, &name, &self.ours.costs, &self.bare.costs, "µs")
    }
}

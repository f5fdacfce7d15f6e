//! Costs of a request, a delivery and an object, from the figures of a run.

use std::fmt::Write;

use crate::{
    client::Outcome,
    results::{Row, number},
};

/// Seconds for a replica to apply a change of another one. Assumed: about a seventh of a write, which is mostly
/// decoding and validation.
const APPLY: f64 = 20e-6;

/// Processor time in seconds, and memory in MB.
pub(super) struct Costs {
    pub(super) create: f64,
    pub(super) update: f64,
    pub(super) delete: f64,
    pub(super) get: f64,
    pub(super) apply: f64,
    /// Sending a frame to one watcher.
    pub(super) delivery: f64,
    /// Memory of a pod.
    pub(super) pod: f64,
    /// Memory of a watcher.
    pub(super) watcher: f64,
    /// Memory of a server without objects.
    pub(super) empty: f64,
}

impl Costs {
    /// Reads the costs from the figures of a run.
    ///
    /// # Errors
    /// If a figure is missing.
    pub(super) fn of(rows: &[Row]) -> Outcome<Self> {
        let find = |name: &str, size: f64| {
            let row = rows
                .iter()
                .find(|row| row.name.starts_with(name) && row.size == Some(size));
            row.map(|row| row.value)
                .ok_or_else(|| format!("no figure {name:?} at size {size}"))
        };
        let request = |name: &str| Ok::<_, String>(find(&format!("{name}, processor time"), 64.0)? / 1e6);
        let pods = |count: f64| find("resident, `serve --bare`", count);
        let (most, empty) = (pods(100_000.0)?, pods(0.0)?);
        let every = "every change to every watcher";
        Ok(Self {
            create: request("create a pod")?,
            update: request("update a pod")?,
            delete: request("delete a pod")?,
            get: request("GET of one pod")?,
            apply: APPLY,
            delivery: find(&format!("{every}, processor time"), 1_000.0)? / 1e6,
            pod: (most - empty) / 100_000.0,
            watcher: find(&format!("{every}, memory"), 10_000.0)? / 1024.0,
            empty,
        })
    }

    /// Formats the costs as a table.
    pub(super) fn table(&self) -> String {
        let mut text = String::from("| cost | |\n|---|---:|\n");
        for (name, seconds) in [
            ("create", self.create),
            ("update", self.update),
            ("delete", self.delete),
            ("GET", self.get),
            ("a replica applies a change of another (assumed)", self.apply),
            ("a frame to one watcher", self.delivery),
        ] {
            // Writing to a string does not fail.
            let _ = writeln!(text, "| {name} | {} µs |", number(seconds * 1e6));
        }
        for (name, megabytes) in [("a pod", self.pod), ("a watcher", self.watcher)] {
            let _ = writeln!(text, "| memory of {name} | {} KB |", number(megabytes * 1024.0));
        }
        text
    }
}

//! The dependency graph of the files of a crate.

use std::collections::BTreeMap;

use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};

/// Dependencies between files: which file names a definition of which other file.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    dependencies: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

impl Graph {
    pub(crate) fn add(&mut self, file: &str) {
        self.dependencies.entry(file.to_owned()).or_default();
    }

    pub(crate) fn add_dependency(&mut self, from: &str, to: &str, name: &str) {
        let names = self
            .dependencies
            .entry(from.to_owned())
            .or_default()
            .entry(to.to_owned())
            .or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }

    /// Returns every dependency: from, to, and the first name that causes it.
    pub fn dependencies(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.dependencies.iter().flat_map(|(from, to)| {
            to.iter()
                .map(move |(to, names)| (from.as_str(), to.as_str(), names.first().map_or("", String::as_str)))
        })
    }

    /// Describes the dependency cycles (strongly connected components) of more than `max` files.
    pub fn cycles(&self, max: usize) -> Vec<String> {
        let mut graph: DiGraphMap<&str, ()> = DiGraphMap::new();
        for file in self.dependencies.keys() {
            graph.add_node(file);
        }
        for (from, to, _) in self.dependencies() {
            graph.add_edge(from, to, ());
        }
        let cycles = tarjan_scc(&graph).into_iter().filter(|cycle| cycle.len() > max);
        cycles
            .map(|mut cycle| {
                cycle.sort_unstable();
                let within = self
                    .dependencies()
                    .filter(|(from, to, _)| cycle.contains(from) && cycle.contains(to));
                let dependencies: Vec<String> = within
                    .map(|(from, to, name)| format!("  {from} -> {to} ({name})"))
                    .collect();
                format!(
                    "{} files depend on one another:\n{}",
                    cycle.len(),
                    dependencies.join("\n")
                )
            })
            .collect()
    }
}

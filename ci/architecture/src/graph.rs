//! Files, and which names which.

use std::collections::BTreeMap;

use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};

/// Which file names something that another defines, and what.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    ties: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

impl Graph {
    pub(crate) fn add(&mut self, file: &str) {
        self.ties.entry(file.to_owned()).or_default();
    }

    pub(crate) fn tie(&mut self, from: &str, to: &str, name: &str) {
        let names = self
            .ties
            .entry(from.to_owned())
            .or_default()
            .entry(to.to_owned())
            .or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }

    /// Every tie: from, to, and the first name that makes it.
    pub fn ties(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.ties.iter().flat_map(|(from, to)| {
            to.iter()
                .map(move |(to, names)| (from.as_str(), to.as_str(), names.first().map_or("", String::as_str)))
        })
    }

    /// The groups of more than `most` files each of which leads to all others, with the ties among them.
    pub fn circles(&self, most: usize) -> Vec<String> {
        let mut graph: DiGraphMap<&str, ()> = DiGraphMap::new();
        for file in self.ties.keys() {
            graph.add_node(file);
        }
        for (from, to, _) in self.ties() {
            graph.add_edge(from, to, ());
        }
        let circles = tarjan_scc(&graph).into_iter().filter(|circle| circle.len() > most);
        circles
            .map(|mut circle| {
                circle.sort_unstable();
                let within = self
                    .ties()
                    .filter(|(from, to, _)| circle.contains(from) && circle.contains(to));
                let ties: Vec<String> = within
                    .map(|(from, to, name)| format!("  {from} -> {to} ({name})"))
                    .collect();
                format!("{} files name one another:\n{}", circle.len(), ties.join("\n"))
            })
            .collect()
    }
}

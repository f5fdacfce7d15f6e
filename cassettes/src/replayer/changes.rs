//! Changes, and the paths that they affect: the changed path, paths that contain it or are below it, in one or all
//! namespaces, and watches of them.
//!
//! Guarantee: the time to add a change, and to find the last one that affects a path, depends only on the number of
//! path segments.

use std::collections::HashMap;

/// The replayed changes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    with_namespaces: LastChanges,
    without_namespaces: LastChanges,
}

/// The last changes by path.
#[derive(Debug, Default)]
struct LastChanges {
    /// Changes of the path itself.
    at: HashMap<String, usize>,
    /// Changes of the path and all paths below it.
    below: HashMap<String, usize>,
}

impl Changes {
    /// Adds a change of a path. `position` is that of the interaction.
    pub(super) fn note(&mut self, path: &str, position: usize) {
        let segments = segments(path);
        self.with_namespaces.note(&segments, position);
        self.without_namespaces.note(&without_namespace(&segments), position);
    }

    /// Position of the last added change that affects a path.
    pub(super) fn last(&self, path: &str) -> Option<usize> {
        let segments = segments(path);
        let within = self.with_namespaces.last(&segments);
        within.max(self.without_namespaces.last(&without_namespace(&segments)))
    }
}

impl LastChanges {
    fn note(&mut self, segments: &[&str], position: usize) {
        let latest = |of: &mut HashMap<String, usize>, path: String| {
            let known = of.entry(path).or_insert(position);
            *known = position.max(*known);
        };
        latest(&mut self.at, segments.join("/"));
        for length in 0..=segments.len() {
            latest(&mut self.below, segments.get(..length).unwrap_or_default().join("/"));
        }
    }

    fn last(&self, segments: &[&str]) -> Option<usize> {
        let above = (0..=segments.len())
            .filter_map(|length| self.at.get(&segments.get(..length)?.join("/")))
            .max();
        above.max(self.below.get(&segments.join("/"))).copied()
    }
}

/// Whether a change of one path affects the other.
pub(super) fn concerns(change: &str, path: &str) -> bool {
    let (these, those) = (segments(change), segments(path));
    let shared = |one: &[&str], two: &[&str]| one.iter().zip(two).all(|(one, two)| one == two);
    shared(&these, &those) || shared(&without_namespace(&these), &without_namespace(&those))
}

/// The segments of a path without those of a watch or proxy.
fn segments(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|segment| !segment.is_empty() && *segment != "watch" && *segment != "proxy")
        .collect()
}

fn without_namespace<'a>(segments: &[&'a str]) -> Vec<&'a str> {
    match segments.iter().position(|segment| *segment == "namespaces") {
        Some(at) if segments.len() > at + 2 => segments
            .iter()
            .take(at)
            .chain(segments.iter().skip(at + 2))
            .copied()
            .collect(),
        _ => segments.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/a/pods", true)]
    #[case("/api/v1/namespaces/a/pods/b", "/api/v1/pods", true)]
    #[case("/api/v1/namespaces/a/pods/b", "/api/v1/watch/namespaces/a/pods", true)]
    #[case("/api/v1/namespaces/a", "/api/v1/namespaces/a/pods", true)]
    #[case("/api/v1/pods", "/api/v1/namespaces/a/pods/b", true)]
    #[case("/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/a/pods/c", false)]
    #[case("/api/v1/namespaces/a/pods", "/api/v1/namespaces/b/services", false)]
    fn a_change_concerns_what_holds_it(#[case] change: &str, #[case] path: &str, #[case] expected: bool) {
        assert_eq!(concerns(change, path), expected);
        let mut changes = Changes::default();
        changes.note("/apis", 3);
        changes.note(change, 7);
        changes.note(change, 5);
        assert_eq!(changes.last(path), expected.then_some(7));
    }
}

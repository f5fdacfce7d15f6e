//! From what a request calls indices to the indices: names, lists, patterns, aliases, exceptions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Cluster, Index};
use crate::error::{Result, SearchError};
use crate::pattern;

/// What to do about names that nothing has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expand {
    pub(crate) ignore_unavailable: bool,
    pub(crate) allow_no_indices: bool,
    /// Whether open indices are among those that a pattern means.
    pub(crate) open: bool,
    /// Whether closed indices are among those that a pattern means.
    pub(crate) closed: bool,
    /// Whether a closed index may be named.
    pub(crate) forbid_closed: bool,
}

impl Default for Expand {
    fn default() -> Expand {
        Expand {
            ignore_unavailable: false,
            allow_no_indices: true,
            open: true,
            closed: false,
            forbid_closed: true,
        }
    }
}

/// An index with the filters of the aliases by which it was named: none if it was named by itself.
pub(crate) type Target = (Arc<Index>, Vec<Value>);

impl Cluster {
    /// The indices that `expression` means, by name; everything if it says nothing.
    ///
    /// # Errors
    /// A name that no index has, unless that may be.
    pub(crate) fn resolve(&self, expression: &str, expand: Expand) -> Result<Vec<Target>> {
        let all = self.indices();
        let open = |index: &Arc<Index>| if index.is_closed() { expand.closed } else { expand.open };
        let is_usable = |index: &Arc<Index>| match index.is_closed() && expand.forbid_closed {
            true if expand.ignore_unavailable => Ok(false),
            true => {
                let reason = format!("[{}] closed", index.name);
                Err(SearchError::new(403, "IndexClosedException", reason))
            }
            false => Ok(true),
        };
        let parts: Vec<&str> = expression
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        let everything = parts.is_empty() || parts == ["_all"];
        let parts = if everything { vec!["*"] } else { parts };
        // By name: none for an index named by itself, else the filters of its aliases.
        let mut found: BTreeMap<String, (Arc<Index>, Option<Vec<Value>>)> = BTreeMap::new();
        let mut add = |index: &Arc<Index>, filter: Option<Value>| {
            let entry = found
                .entry(index.name.clone())
                .or_insert_with(|| (index.clone(), Some(vec![])));
            match (filter, &mut entry.1) {
                (Some(filter), Some(filters)) => filters.push(filter),
                (_, filters) => *filters = None,
            }
        };
        let mut without: Vec<&str> = Vec::new();
        // A name without a wildcard is only excluded from a set: after a wildcard, or from everything.
        let mut is_set = false;
        for (at, part) in parts.into_iter().enumerate() {
            let excluded = part
                .strip_prefix('-')
                .filter(|excluded| at == 0 || is_set || excluded.contains('*'));
            if let Some(excluded) = excluded.filter(|_| all.iter().all(|index| index.name != part)) {
                if at == 0 {
                    all.iter()
                        .filter(|index| open(index))
                        .for_each(|index| add(index, None));
                }
                is_set = true;
                without.push(excluded);
                continue;
            }
            is_set |= part.contains('*') || part.starts_with('+');
            let part = part.strip_prefix('+').unwrap_or(part);
            // A pattern that means no index is a name.
            if part.contains('*') && (everything || expand.open || expand.closed) {
                for index in all.iter().filter(|index| open(index)) {
                    if pattern::matches(part, &index.name) && is_usable(index)? {
                        add(index, None);
                    }
                    for (_, alias) in index
                        .aliases
                        .read()
                        .iter()
                        .filter(|(name, _)| pattern::matches(part, name))
                    {
                        add(index, alias.filter.clone());
                    }
                }
                continue;
            }
            let mut met = false;
            for index in &all {
                if index.name == part {
                    met = true;
                    if !is_usable(index)? {
                        continue;
                    }
                    add(index, None);
                }
                if let Some(alias) = index.aliases.read().get(part) {
                    met = true;
                    if open(index) {
                        add(index, alias.filter.clone());
                    }
                }
            }
            if !met && !expand.ignore_unavailable {
                return Err(SearchError::index_missing(part));
            }
        }
        found.retain(|name, _| !without.iter().any(|excluded| pattern::matches(excluded, name)));
        if found.is_empty() && !expand.allow_no_indices {
            return Err(SearchError::index_missing(expression));
        }
        Ok(found
            .into_values()
            .map(|(index, filters)| (index, filters.unwrap_or_default()))
            .collect())
    }

    /// As [`Cluster::resolve`], without the filters.
    pub(crate) fn named(&self, expression: &str, expand: Expand) -> Result<Vec<Arc<Index>>> {
        Ok(self
            .resolve(expression, expand)?
            .into_iter()
            .map(|(index, _)| index)
            .collect())
    }
}

/// Refuses what cannot be the name of an index.
pub(super) fn check(name: &str) -> Result<()> {
    let refuse = |reason: &str| {
        Err(SearchError::new(
            400,
            "InvalidIndexNameException",
            format!("[{name}] Invalid index name [{name}], {reason}"),
        ))
    };
    if name.contains(['\\', '/', '*', '?', '"', '<', '>', '|', ' ', ',']) {
        return refuse("must not contain the following characters [\\, /, *, ?, \", <, >, |,  , ,]");
    }
    if name.contains('#') {
        return refuse("must not contain '#'");
    }
    if name.starts_with('_') {
        return refuse("must not start with '_'");
    }
    if name.to_lowercase() != name {
        return refuse("must be lowercase");
    }
    if name.is_empty() || name.len() > 255 || name == "." || name == ".." {
        return refuse("must be between 1 and 255 bytes, and not a dot");
    }
    Ok(())
}

//! Resolution of index expressions: names, lists, patterns, aliases and exclusions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Cluster, Index};
use crate::error::{Result, SearchError};
use crate::pattern;

/// Options for resolving an index expression, as `IndicesOptions` of Elasticsearch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expand {
    /// Whether names of missing or closed indices are ignored.
    pub(crate) ignore_unavailable: bool,
    /// Whether the expression may resolve to no index.
    pub(crate) allow_no_indices: bool,
    /// Whether patterns match open indices.
    pub(crate) open: bool,
    /// Whether patterns match closed indices.
    pub(crate) closed: bool,
    /// Whether a closed index is an error.
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

/// An index, with the filters of the aliases that resolved to it. No filters if it was also named directly.
pub(crate) type Target = (Arc<Index>, Vec<Value>);

impl Cluster {
    /// Resolves an index expression, sorted by name. An empty expression means all indices.
    ///
    /// # Errors
    /// A name of a missing or closed index, unless `expand` allows it. "All indices" may have closed ones.
    pub(crate) fn resolve(&self, expression: &str, expand: Expand) -> Result<Vec<Target>> {
        let all = self.indices();
        let open = |index: &Arc<Index>| if index.is_closed() { expand.closed } else { expand.open };
        let is_usable = |index: &Arc<Index>| match index.is_closed() && expand.forbid_closed {
            true if expand.ignore_unavailable => Ok(false),
            true => Err(closed(index)),
            false => Ok(true),
        };
        let parts: Vec<&str> = expression
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        let everything = parts.is_empty() || parts == ["_all"];
        let parts = if everything { vec!["*"] } else { parts };
        // Names of indices and aliases, with their index. `None` instead of a filter: all documents.
        let mut matched: Vec<(String, Arc<Index>, Option<Value>)> = Vec::new();
        let mut without: Vec<&str> = Vec::new();
        // An exclusion without a wildcard applies only as the first part, or after a wildcard, `+` or another
        // exclusion.
        let mut is_set = false;
        for (at, part) in parts.into_iter().enumerate() {
            let excluded = part
                .strip_prefix('-')
                .filter(|excluded| at == 0 || is_set || excluded.contains('*'));
            if let Some(excluded) = excluded.filter(|_| all.iter().all(|index| index.name != part)) {
                if at == 0 {
                    all.iter()
                        .filter(|index| open(index))
                        .for_each(|index| matched.push((index.name.clone(), index.clone(), None)));
                }
                is_set = true;
                without.push(excluded);
                continue;
            }
            is_set |= part.contains('*') || part.starts_with('+');
            let part = part.strip_prefix('+').unwrap_or(part);
            if part.contains('*') {
                for index in all.iter().filter(|index| open(index)) {
                    if everything || pattern::matches(part, &index.name) && is_usable(index)? {
                        matched.push((index.name.clone(), index.clone(), None));
                    }
                    for (name, alias) in index
                        .aliases
                        .read()
                        .iter()
                        .filter(|(name, _)| pattern::matches(part, name))
                    {
                        matched.push((name.clone(), index.clone(), alias.filter.clone()));
                    }
                }
                continue;
            }
            let mut is_known = false;
            for index in &all {
                if index.name == part {
                    is_known = true;
                    if !is_usable(index)? {
                        continue;
                    }
                    matched.push((part.to_owned(), index.clone(), None));
                }
                if let Some(alias) = index.aliases.read().get(part) {
                    is_known = true;
                    if is_usable(index)? {
                        matched.push((part.to_owned(), index.clone(), alias.filter.clone()));
                    }
                }
            }
            if !is_known && !expand.ignore_unavailable {
                return Err(SearchError::index_missing(part));
            }
        }
        matched.retain(|(name, ..)| !without.iter().any(|excluded| pattern::matches(excluded, name)));
        // By index name. `None` if all documents were named, else the filters of the aliases.
        let mut found: BTreeMap<String, (Arc<Index>, Option<Vec<Value>>)> = BTreeMap::new();
        for (_, index, filter) in matched {
            let name = index.name.clone();
            let (_, filters) = found.entry(name).or_insert_with(|| (index, Some(vec![])));
            match (filter, &mut *filters) {
                (Some(filter), Some(filters)) => filters.push(filter),
                _ => *filters = None,
            }
        }
        if found.is_empty() && !expand.allow_no_indices {
            return Err(SearchError::index_missing(expression));
        }
        Ok(found
            .into_values()
            .map(|(index, filters)| (index, filters.unwrap_or_default()))
            .collect())
    }

    /// Resolves the name of one index or of an alias of one index.
    ///
    /// # Errors
    /// A name of no index, or of several ones.
    pub(crate) fn single(&self, name: &str) -> Result<Arc<Index>> {
        let is_named = |index: &Arc<Index>| index.name == name || index.aliases.read().contains_key(name);
        let named: Vec<Arc<Index>> = self.indices().into_iter().filter(is_named).collect();
        match named.as_slice() {
            [] => Err(SearchError::index_missing(name)),
            [only] if only.is_closed() => Err(closed(only)),
            [only] => Ok(only.clone()),
            _ => Err(SearchError::illegal(format!(
                "Alias [{name}] has more than one indices associated with it [[{}]], can't execute a single index op",
                named
                    .iter()
                    .map(|index| index.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            ))),
        }
    }

    /// Resolves an index expression for an operation on shards, which closed indices have not. One that matches no
    /// index means all indices.
    pub(crate) fn broadcast(&self, expression: &str, expand: Expand) -> Result<Vec<Arc<Index>>> {
        let mut named = self.named(expression, expand)?;
        if named.is_empty() {
            return self.named("", Expand::default());
        }
        named.retain(|index| !index.is_closed());
        Ok(named)
    }

    /// Resolves an index expression without alias filters.
    pub(crate) fn named(&self, expression: &str, expand: Expand) -> Result<Vec<Arc<Index>>> {
        Ok(self
            .resolve(expression, expand)?
            .into_iter()
            .map(|(index, _)| index)
            .collect())
    }
}

/// Checks a value of `expand_wildcards`.
pub(crate) fn check_wildcards(given: &str) -> Result<()> {
    let mut given = given.split(',').filter(|text| !text.is_empty());
    match given.find(|text| !["open", "closed", "none", "all"].contains(text)) {
        Some(other) => Err(SearchError::illegal(format!(
            "No valid expand wildcard value [{other}]"
        ))),
        None => Ok(()),
    }
}

/// Returns the error for a closed index.
pub(super) fn closed(index: &Index) -> SearchError {
    SearchError::new(403, "IndexClosedException", format!("[{}] closed", index.name))
}

/// Fails if an index is closed, as an operation on shards does.
pub(crate) fn check_open<'a>(named: impl IntoIterator<Item = &'a Arc<Index>>) -> Result<()> {
    if named.into_iter().any(|index| index.is_closed()) {
        let reason = "blocked by: [FORBIDDEN/4/index closed];";
        return Err(SearchError::new(403, "ClusterBlockException", reason));
    }
    Ok(())
}

/// Fails for an invalid index name.
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

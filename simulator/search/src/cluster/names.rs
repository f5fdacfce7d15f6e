//! Resolution of index expressions: names, lists, patterns, aliases and exclusions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::{Block, Cluster, Index};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::pattern;
use crate::ties::in_hash_order;

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

impl Expand {
    /// Of operations on shards: patterns match open indices, and may match none.
    pub(crate) const SHARDS: Expand = Expand {
        ignore_unavailable: false,
        allow_no_indices: true,
        open: true,
        closed: false,
        forbid_closed: true,
    };

    /// Of reading metadata, which closed indices have, too.
    pub(crate) const METADATA: Expand = Expand {
        forbid_closed: false,
        ..Expand::SHARDS
    };

    /// Each pattern must match an open index.
    pub(crate) const MATCHED: Expand = Expand {
        allow_no_indices: false,
        ..Expand::METADATA
    };

    /// Of changing metadata: each pattern must match an index, open or closed.
    pub(crate) const CHANGES: Expand = Expand {
        closed: true,
        ..Expand::MATCHED
    };

    /// Of reading metadata of open and closed indices.
    pub(crate) const ALL: Expand = Expand {
        closed: true,
        ..Expand::METADATA
    };

    /// Of filtering: names of nothing are ignored.
    pub(crate) const FILTER: Expand = Expand {
        ignore_unavailable: true,
        ..Expand::METADATA
    };

    /// Returns whether patterns match an index, by its state.
    fn matches(self, index: &Index) -> bool {
        if index.is_closed() { self.closed } else { self.open }
    }
}

/// An index, with the filters of the aliases that resolved to it. No filters if it was also named directly.
pub(crate) type Target = (Arc<Index>, Vec<Value>);

impl Cluster {
    /// Resolves an index expression, sorted by name. An empty expression means all indices.
    ///
    /// # Errors
    /// A name of a missing or closed index, or a pattern of nothing, unless `expand` allows it. "All indices" may have
    /// closed ones.
    pub(crate) fn resolve(&self, expression: &str, expand: Expand) -> Result<Vec<Target>> {
        resolve(&self.indices(), expression, expand)
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
    ///
    /// # Errors
    /// A setting of the cluster or of an index blocks the operation.
    pub(crate) fn broadcast(&self, expression: &str, expand: Expand, operation: Block) -> Result<Vec<Arc<Index>>> {
        self.check_blocks(&[], operation)?;
        let mut named = self.allowed(expression, expand, operation)?;
        if named.is_empty() {
            return self.allowed("", Expand::SHARDS, operation);
        }
        named.retain(|index| !index.is_closed());
        Ok(named)
    }

    /// Resolves an index expression for an operation.
    ///
    /// # Errors
    /// A setting of the cluster or of an index blocks the operation.
    pub(crate) fn allowed(&self, expression: &str, expand: Expand, operation: Block) -> Result<Vec<Arc<Index>>> {
        let named = self.named(expression, expand)?;
        self.check_blocks(&named, operation)?;
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

/// Resolves an index expression among these indices, as [`Cluster::resolve`] does.
pub(crate) fn resolve(all: &[Arc<Index>], expression: &str, expand: Expand) -> Result<Vec<Target>> {
    let parts: Vec<&str> = expression.split(',').filter(|part| !part.is_empty()).collect();
    let has_wildcards = expand.open || expand.closed;
    if has_wildcards && (parts.is_empty() || parts == ["_all"]) {
        let named: Vec<Target> = all
            .iter()
            .filter(|index| expand.matches(index))
            .map(|index| (index.clone(), vec![]))
            .collect();
        return match named.is_empty() && !expand.allow_no_indices {
            true => Err(SearchError::index_missing("_all")),
            false => Ok(named),
        };
    }
    let names = match has_wildcards {
        true => expanded(all, &parts, expand)?,
        false => parts.iter().map(|part| (*part).to_owned()).collect(),
    };
    if names.is_empty() && !expand.allow_no_indices {
        let reason = "no indices were specified and wildcard expansion is disabled.";
        return Err(SearchError::illegal(reason));
    }
    let may_be_missing = match names.len() {
        1 => expand.allow_no_indices,
        _ => expand.ignore_unavailable,
    };
    // By index name. `None` if all documents were named, else the filters of the aliases.
    let mut found: BTreeMap<String, (Arc<Index>, Option<Vec<Value>>)> = BTreeMap::new();
    for name in &names {
        let named = with_name(all, name);
        if named.is_empty() && !may_be_missing {
            return Err(SearchError::index_missing(name));
        }
        for (index, filter) in named {
            if index.is_closed() && expand.forbid_closed {
                match expand.ignore_unavailable {
                    true => continue,
                    false => return Err(closed(&index)),
                }
            }
            let name = index.name.clone();
            let (_, filters) = found.entry(name).or_insert_with(|| (index, Some(vec![])));
            match (filter, &mut *filters) {
                (Some(filter), Some(filters)) => filters.push(filter),
                _ => *filters = None,
            }
        }
    }
    if found.is_empty() && !expand.allow_no_indices {
        return Err(SearchError::index_missing(&format!("[{}]", names.join(", "))));
    }
    Ok(found
        .into_values()
        .map(|(index, filters)| (index, filters.unwrap_or_default()))
        .collect())
}

/// Returns the indices with a name: the one that has it, or all that have an alias of it, with its filter.
fn with_name(all: &[Arc<Index>], name: &str) -> Vec<(Arc<Index>, Option<Value>)> {
    if let Some(index) = all.iter().find(|index| index.name == name) {
        return vec![(index.clone(), None)];
    }
    let aliased = |index: &Arc<Index>| Some((index.clone(), index.aliases.read().get(name)?.filter.clone()));
    all.iter().filter_map(aliased).collect()
}

/// Returns whether an index or alias has a name.
fn is_known(all: &[Arc<Index>], name: &str) -> bool {
    let is_aliased = |index: &Arc<Index>| index.aliases.read().contains_key(name);
    all.iter().any(|index| index.name == name) || all.iter().any(is_aliased)
}

/// Returns the names of indices and aliases that the parts of an expression stand for.
///
/// Once a part is a pattern, or has a sign, the names are a set: a part adds to it, or takes out with a `-`, which as
/// the first part takes out of all indices.
///
/// # Errors
/// A name of nothing, or a pattern of nothing, unless `expand` allows it.
fn expanded(all: &[Arc<Index>], parts: &[&str], expand: Expand) -> Result<Vec<String>> {
    let matching = || {
        all.iter()
            .filter(|index| expand.matches(index))
            .map(|index| &index.name)
    };
    let mut set: Option<Vec<String>> = None;
    let add = |set: &mut Vec<String>, name: &str| {
        if !set.iter().any(|own| own == name) {
            set.push(name.to_owned());
        }
    };
    for (at, part) in parts.iter().enumerate() {
        if is_known(all, part) {
            if let Some(set) = &mut set {
                add(set, part);
            }
            continue;
        }
        let adds = !part.starts_with('-');
        let pattern = part.strip_prefix(['+', '-']).unwrap_or(part);
        if at == 0 && pattern != *part {
            set = Some(if adds { vec![] } else { matching().cloned().collect() });
        }
        let names: Vec<String> = if pattern.contains('*') {
            let aliases: BTreeSet<String> = all
                .iter()
                .flat_map(|index| index.aliases.read().keys().cloned().collect::<Vec<_>>())
                .collect();
            let names = matching().cloned().chain(aliases);
            names.filter(|name| pattern::matches(pattern, name)).collect()
        } else if !expand.ignore_unavailable && !is_known(all, pattern) {
            return Err(SearchError::index_missing(pattern));
        } else {
            vec![pattern.to_owned()]
        };
        if names.is_empty() && !expand.allow_no_indices {
            return Err(SearchError::index_missing(pattern));
        }
        if set.is_none() && pattern.contains('*') {
            set = Some(parts.iter().take(at).map(|part| (*part).to_owned()).collect());
        }
        match &mut set {
            Some(set) if adds => names.iter().for_each(|name| add(set, name)),
            Some(set) => set.retain(|own| !names.contains(own)),
            None => {}
        }
    }
    match set {
        Some(set) if set.is_empty() && !expand.allow_no_indices => {
            Err(SearchError::index_missing(&format!("[{}]", parts.join(", "))))
        }
        Some(set) => Ok(in_hash_order(set, String::clone)),
        None => Ok(parts.iter().map(|part| (*part).to_owned()).collect()),
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
    SearchError::new(403, Exception::IndexClosed, format!("[{}] closed", index.name))
}

/// Fails if an index is closed, as an operation on shards does.
pub(crate) fn check_open<'a>(named: impl IntoIterator<Item = &'a Arc<Index>>) -> Result<()> {
    if named.into_iter().any(|index| index.is_closed()) {
        let reason = "blocked by: [FORBIDDEN/4/index closed];";
        return Err(SearchError::new(403, Exception::ClusterBlock, reason));
    }
    Ok(())
}

/// Index of rivers, the only one whose name may begin with `_`.
const RIVERS: &str = "_river";

/// Fails for an invalid index name.
pub(super) fn check(name: &str) -> Result<()> {
    let refuse = |reason: &str| {
        Err(SearchError::new(
            400,
            Exception::InvalidIndexName,
            format!("[{name}] Invalid index name [{name}], {reason}"),
        ))
    };
    if name.contains(['\\', '/', '*', '?', '"', '<', '>', '|', ' ', ',']) {
        return refuse("must not contain the following characters [\\, /, *, ?, \", <, >, |,  , ,]");
    }
    if name.contains('#') {
        return refuse("must not contain '#'");
    }
    if name.starts_with('_') && name != RIVERS {
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

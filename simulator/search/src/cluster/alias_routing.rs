//! Routing values of requests and aliases.
//!
//! Source: `resolveSearchRouting` and `resolveIndexRouting` of Elasticsearch 1.5's `MetaData`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Alias, Block, Cluster, Index};
use crate::error::{Result, SearchError};
use crate::pattern;
use crate::routing::shard_of;

/// The shards that a search visits.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SearchRouting {
    /// The routing values of indices by their names. An index without any is searched whole.
    values: BTreeMap<String, BTreeSet<String>>,
    /// The numbers of the shards that a preference names.
    shards: Option<BTreeSet<u32>>,
}

impl SearchRouting {
    /// Returns whether a search visits a shard of an index.
    pub(crate) fn visits(&self, index: &Index, shard: u32) -> bool {
        if self.shards.as_ref().is_some_and(|shards| !shards.contains(&shard)) {
            return false;
        }
        let values = self.values.get(&index.name);
        values.is_none_or(|values| values.iter().any(|value| shard_of(value, index.shard_count()) == shard))
    }
}

/// Returns the shard numbers of a preference such as `_shards:2,3;_local`.
fn preferred(preference: &str) -> Result<Option<BTreeSet<u32>>> {
    let Some(wanted) = preference.strip_prefix("_shards:") else {
        return Ok(None);
    };
    let numbers = wanted.split(';').next().unwrap_or_default().split(',');
    let numbers = numbers.map(|number| number.parse().map_err(|_| SearchError::number(number)));
    numbers.collect::<Result<_>>().map(Some)
}

/// Splits a comma-separated list.
fn values_of(list: &str) -> BTreeSet<String> {
    let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

impl Cluster {
    /// Returns the shards to visit for a search of `expression`. `given` is the comma-separated list of the request.
    ///
    /// # Errors
    /// A preference with a shard number that is not a number.
    pub(crate) fn search_routing(
        &self,
        expression: &str,
        given: Option<&str>,
        preference: Option<&str>,
    ) -> Result<SearchRouting> {
        let given = given.map(values_of);
        let mut found = BTreeMap::new();
        let parts = expression.split(',').map(str::trim).filter(|part| !part.is_empty());
        let parts: Vec<&str> = parts.map(|part| part.strip_prefix('+').unwrap_or(part)).collect();
        let everything = parts.is_empty() || parts == ["_all"];
        for index in self.indices() {
            let mut values = BTreeSet::new();
            let aliases = index.aliases.read();
            let named = parts.iter().any(|part| pattern::matches(part, &index.name));
            let mut whole = everything || named;
            for (_, alias) in aliases
                .iter()
                .filter(|(name, _)| parts.iter().any(|part| pattern::matches(part, name)))
            {
                match alias.search_routing.as_deref().map(values_of) {
                    Some(own) if !own.is_empty() => values.extend(own),
                    _ => whole = true,
                }
            }
            match &given {
                // An index that is also named without routing is limited only by the routing of the request.
                Some(given) if whole => values.clone_from(given),
                Some(given) => values.retain(|value| given.contains(value)),
                None if whole => values.clear(),
                None => {}
            }
            // Without values, a routing of the request visits no shard.
            if !values.is_empty() || given.as_ref().is_some_and(BTreeSet::is_empty) {
                found.insert(index.name.clone(), values);
            }
        }
        Ok(SearchRouting {
            values: found,
            shards: preferred(preference.unwrap_or_default())?,
        })
    }

    /// Returns the index of a name, from which a document is to be read, and the routing value of the document.
    ///
    /// # Errors
    /// A name of no index, of several ones, or of one that may not be read, and those of [`Cluster::index_routing`].
    pub(crate) fn readable<'a>(
        &self,
        name: &str,
        routing: Option<&'a str>,
    ) -> Result<(Arc<Index>, Option<Cow<'a, str>>)> {
        let index = self.single(name)?;
        index.check_block(Block::Read)?;
        Ok((index, self.index_routing(name, routing)?))
    }

    /// Returns the routing value for reading or writing a document of an index or alias.
    ///
    /// # Errors
    /// A value other than that of the alias, or several values; an alias of several indices.
    pub(crate) fn index_routing<'a>(&self, name: &str, given: Option<&'a str>) -> Result<Option<Cow<'a, str>>> {
        let given = given.map(Cow::Borrowed);
        if self.index(name).is_some() {
            return Ok(given);
        }
        let indices = self.indices();
        let of_index = |index: &Arc<Index>| Some((index.name.clone(), index.aliases.read().get(name).cloned()?));
        let aliased: Vec<(String, Alias)> = indices.iter().filter_map(of_index).collect();
        let alias = match aliased.as_slice() {
            [] => return Ok(given),
            [(_, alias)] => alias,
            several => {
                let names: Vec<&str> = several.iter().map(|(index, _)| index.as_str()).collect();
                return Err(SearchError::illegal(format!(
                    "Alias [{name}] has more than one index associated with it [[{}]], can't execute a single index op",
                    names.join(", ")
                )));
            }
        };
        let routing = match (&alias.index_routing, given) {
            (Some(own), Some(given)) if **own != *given => {
                return Err(SearchError::illegal(format!(
                    "Alias [{name}] has index routing associated with it [{own}], and was provided with routing value \
                     [{given}], rejecting operation"
                )));
            }
            (Some(own), _) => Some(Cow::Owned(own.clone())),
            (None, given) => given,
        };
        match routing {
            Some(routing) if routing.contains(',') => Err(SearchError::illegal(format!(
                "index/alias [{name}] provided with routing value [{routing}] that resolved to several routing values, \
                 rejecting operation"
            ))),
            routing => Ok(routing),
        }
    }
}

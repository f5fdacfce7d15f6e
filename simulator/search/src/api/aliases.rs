//! The `_aliases` and `_alias` APIs.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::described;
use crate::cluster::{Alias, Block, Expand, Index, same_as_index};
use crate::error::{Result, SearchError, problems};
use crate::find::names;
use crate::json;
use crate::pattern;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// Returns the aliases of an index as JSON.
pub(crate) fn describe(index: &Index) -> Value {
    index
        .aliases
        .read()
        .iter()
        .map(|(name, alias)| (name.clone(), alias.describe()))
        .collect::<Map<_, _>>()
        .into()
}

/// `GET [/index]/_alias[es][/name]`.
pub(crate) fn get(
    shared: &Shared,
    request: &RestRequest,
    indices: &str,
    wanted: Option<&str>,
    strict: bool,
) -> Result<Answer> {
    let mut response = Map::new();
    // A pattern does not match closed indices.
    let expand = request.expand_or(Expand {
        ignore_unavailable: !strict,
        closed: indices.is_empty(),
        ..Expand::METADATA
    })?;
    for index in shared.cluster.allowed(indices, expand, Block::Metadata)? {
        let aliases = index.aliases.read();
        let kept: Map<String, Value> = aliases
            .iter()
            .filter(|(name, _)| wanted.is_none_or(|wanted| pattern::matches_any(wanted, name)))
            .map(|(name, alias)| (name.clone(), alias.describe()))
            .collect();
        if wanted.is_none() || !kept.is_empty() || !strict {
            response.insert(index.name.clone(), json!({"aliases": kept}));
        }
    }
    match wanted {
        Some(wanted) if response.is_empty() && strict && indices.is_empty() => Ok(Answer::json(
            404,
            json!({"error": format!("alias [{wanted}] missing"), "status": 404}),
        )),
        _ => Ok(Answer::ok(response.into())),
    }
}

/// `HEAD [/index]/_alias/name`.
pub(crate) fn exists(shared: &Shared, request: &RestRequest, indices: &str, wanted: &str) -> Result<Answer> {
    let named = described(shared, request, indices);
    let has = |index: &Arc<Index>| {
        let aliases = index.aliases.read();
        aliases
            .keys()
            .any(|name| wanted.split(',').any(|wanted| pattern::matches(wanted, name)))
    };
    Answer::found(named.map(|named| named.iter().any(has)))
}

/// Fails for an alias with the name of an index.
fn check(shared: &Shared, index: &str, alias: &str) -> Result<()> {
    match shared.cluster.index(alias) {
        Some(_) => Err(same_as_index(index, alias)),
        None => Ok(()),
    }
}

fn missing(aliases: &str) -> SearchError {
    SearchError::new(404, "AliasesMissingException", format!("aliases [[{aliases}]] missing"))
}

/// `PUT /index/_alias/name`.
///
/// The alias and the index of the body, if any, replace those of the path.
pub(crate) fn put(shared: &Shared, request: &RestRequest, indices: &str, alias: &str) -> Result<Answer> {
    request.check_timeouts()?;
    let body = request.json()?.unwrap_or_else(|| json!({}));
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let (indices, alias) = (text("index").unwrap_or(indices), text("alias").unwrap_or(alias));
    let found = problems([
        (
            alias.trim().is_empty(),
            "Alias action [add] requires an [alias] to be set",
        ),
        (
            indices.is_empty(),
            "Alias action [add]: Property [index] was either missing or null",
        ),
    ]);
    SearchError::validated(&found.collect::<Vec<_>>())?;
    let definition = Alias::parse(&body);
    let named = shared.cluster.named(indices, Expand::MATCHED)?;
    check(shared, named.first().map_or(indices, |index| &index.name), alias)?;
    named.iter().try_for_each(|index| index.check_block(Block::Metadata))?;
    named
        .iter()
        .try_for_each(|index| index.check_alias(&shared.cluster, alias, &definition))?;
    for index in &named {
        index.aliases.write().insert(alias.to_owned(), definition.clone());
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged(request.acknowledged()?))
}

/// `DELETE /index/_alias/name`.
pub(crate) fn delete(shared: &Shared, request: &RestRequest, indices: &str, wanted: &str) -> Result<Answer> {
    let mut found = false;
    request.check_timeouts()?;
    let named = shared.cluster.allowed(indices, Expand::MATCHED, Block::Metadata)?;
    for index in &named {
        index.aliases.write().retain(|name, _| {
            let removed = wanted == "_all" || pattern::matches_any(wanted, name);
            found |= removed;
            !removed
        });
    }
    if !found {
        return Err(missing(&wanted.replace(',', ", ")));
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged(request.acknowledged()?))
}

/// An action of `POST /_aliases`.
struct AliasAction<'a> {
    adds: bool,
    indices: Vec<String>,
    aliases: Vec<String>,
    definition: &'a Value,
}

impl AliasAction<'_> {
    /// Parses an action: its first member. Items without one are no actions.
    ///
    /// # Errors
    /// An unknown action.
    fn parse(action: &Value) -> Result<Option<AliasAction<'_>>> {
        let Some((kind, definition)) = action.as_object().and_then(|action| action.iter().next()) else {
            return Ok(None);
        };
        let adds = match kind.as_str() {
            "add" => true,
            "remove" => false,
            other => return Err(SearchError::illegal(format!("Alias action [{other}] not supported"))),
        };
        let list = |key: &str| match definition.get(key) {
            Some(Value::Number(number)) => vec![number.to_string()],
            // The name of an alias may have a comma.
            Some(Value::String(name)) if key == "alias" && !name.trim().is_empty() => vec![name.clone()],
            other => other.map(names).unwrap_or_default(),
        };
        Ok(Some(AliasAction {
            adds,
            indices: list("index"),
            aliases: list("alias"),
            definition,
        }))
    }

    /// Returns what the action lacks.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let kind = if self.adds { "add" } else { "remove" };
        if self.aliases.is_empty() && self.adds {
            problems.push(format!("Alias action [{kind}] requires an [alias] to be set"));
        } else if self.aliases.is_empty() {
            problems.push(format!("Alias action [{kind}]: [alias] may not be empty string"));
        }
        if self.indices.is_empty() {
            problems.push(format!("Alias action [{kind}]: [index] may not be empty string"));
        }
        problems
    }
}

/// `POST /_aliases`: applies the actions in order.
///
/// # Errors
/// An invalid action, one for a missing index, or only removals of aliases that are missing. Then no action is applied.
pub(crate) fn update(shared: &Shared, request: &RestRequest) -> Result<Answer> {
    let source = request.body_or_source();
    json::derivable(source)?;
    request.check_timeouts()?;
    let body = request.json()?.unwrap_or_default();
    let given = body.get("actions").and_then(Value::as_array).into_iter().flatten();
    let actions: Vec<AliasAction<'_>> = given
        .filter_map(|action| AliasAction::parse(action).transpose())
        .collect::<Result<_>>()?;
    if actions.is_empty() {
        return Err(SearchError::validation("Must specify at least one alias action"));
    }
    let problems: Vec<String> = actions.iter().flat_map(AliasAction::problems).collect();
    SearchError::validated(&problems)?;
    let mut planned = Vec::new();
    let mut removed = Vec::new();
    for AliasAction {
        adds,
        indices,
        aliases,
        definition,
    } in actions
    {
        let named = shared
            .cluster
            .allowed(&indices.join(","), Expand::MATCHED, Block::Metadata)?;
        if adds {
            let first = named.first().map_or("", |index| &index.name);
            aliases.iter().try_for_each(|alias| check(shared, first, alias))?;
        }
        let definition = adds.then(|| Alias::parse(definition));
        if let (Some(definition), Some(alias)) = (&definition, aliases.first()) {
            named
                .iter()
                .try_for_each(|index| index.check_alias(&shared.cluster, alias, definition))?;
        }
        for index in named {
            // What is removed is known before the first action.
            let names = match adds {
                true => aliases.clone(),
                false => {
                    let known = index.aliases.read();
                    let is_removed = |name: &&String| aliases.iter().any(|alias| pattern::matches(alias, name));
                    known.keys().filter(is_removed).cloned().collect()
                }
            };
            planned.push((index, names, definition.clone()));
        }
        if !adds {
            removed.extend(aliases);
        }
    }
    if planned
        .iter()
        .all(|(_, names, _): &(_, Vec<String>, _)| names.is_empty())
    {
        return Err(missing(&removed.join(", ")));
    }
    let mut changed = Vec::new();
    for (index, names, definition) in planned {
        let mut known = index.aliases.write();
        for name in names {
            match &definition {
                Some(definition) => drop(known.insert(name, definition.clone())),
                None => drop(known.remove(&name)),
            }
        }
        drop(known);
        changed.push(index);
    }
    shared.cluster.changed(&changed)?;
    Ok(Answer::acknowledged(request.acknowledged()?))
}

//! The `_aliases` and `_alias` APIs.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::described;
use crate::cluster::{Alias, Block, Expand, Index, same_as_index};
use crate::error::{Result, SearchError, problems};
use crate::exception::Exception;
use crate::json::{self, Token, Tokens, java_text};
use crate::pattern;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;
use crate::ties::as_hash_set;

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
    // A pattern does not match closed indices, nor do all if a name is given.
    let default = Expand {
        ignore_unavailable: !strict,
        closed: indices.is_empty() || indices == "_all" && wanted.is_none(),
        ..Expand::METADATA
    };
    // `_aliases/name` has no parameters for indices.
    let expand = match wanted {
        Some(_) if !strict => default,
        _ => request.expand_or(default)?,
    };
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

/// Returns the error of removals that found none of `aliases`, which it lists as a `HashSet`.
fn missing<'a>(aliases: impl IntoIterator<Item = &'a str>) -> SearchError {
    let aliases = as_hash_set(aliases).join(", ");
    SearchError::new(404, Exception::AliasesMissing, format!("aliases [[{aliases}]] missing"))
}

/// `PUT /index/_alias/name`.
///
/// The alias and the index of the body, if any, replace those of the path.
pub(crate) fn put(shared: &Shared, request: &RestRequest, indices: &str, alias: &str) -> Result<Answer> {
    request.check_timeouts()?;
    let body = request.json()?.unwrap_or_else(|| json!({}));
    let mut definition = Definition::read(&mut Tokens::new(&body));
    let (index, name) = (definition.index.take(), definition.alias.take());
    let (indices, alias) = (index.as_deref().unwrap_or(indices), name.as_deref().unwrap_or(alias));
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
    let definition = definition.alias();
    let named = shared.cluster.named(indices, Expand::MATCHED)?;
    check(shared, named.first().map_or(indices, |index| &index.name), alias)?;
    shared.cluster.check_blocks(&named, Block::Metadata)?;
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
        return Err(missing(wanted.split(',')));
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged(request.acknowledged()?))
}

/// Definition of an alias, with the names beside it.
#[derive(Default)]
struct Definition {
    index: Option<String>,
    alias: Option<String>,
    settings: Map<String, Value>,
}

impl Definition {
    /// Reads a definition up to the end of an object, token by token as Elasticsearch does.
    fn read(tokens: &mut Tokens<'_>) -> Definition {
        let mut found = Definition::default();
        let mut key = "";
        while let Some(token) = tokens.within_object() {
            let setting = match key {
                "indexRouting" | "index-routing" => "index_routing",
                "searchRouting" | "search-routing" => "search_routing",
                other => other,
            };
            match (token, setting) {
                (Token::Name(name), _) => key = name,
                (Token::Value(value), "index") => found.index = Some(java_text(value)),
                (Token::Value(value), "alias") => found.alias = Some(java_text(value)),
                (Token::Value(value), "routing" | "index_routing" | "search_routing") => {
                    found.settings.insert(setting.to_owned(), value.clone());
                }
                (Token::Object, "filter") => {
                    let filter = tokens.whole().cloned().unwrap_or_default();
                    found.settings.insert(setting.to_owned(), filter);
                }
                _ => {}
            }
        }
        found
    }

    /// Returns the alias without its names.
    fn alias(self) -> Alias {
        Alias::parse(&Value::Object(self.settings))
    }
}

/// An action of `POST /_aliases`.
struct AliasAction {
    adds: bool,
    index: String,
    alias: String,
    definition: Definition,
}

/// Reads the actions of a body, token by token as Elasticsearch does: those of the members of any list.
///
/// # Errors
/// An unknown action.
fn actions_of(body: &Value) -> Result<Vec<AliasAction>> {
    let (mut tokens, mut actions) = (Tokens::new(body), Vec::new());
    while let Some(token) = tokens.within_object() {
        if !matches!(token, Token::Array) {
            continue;
        }
        while let Some(token) = tokens.within_array() {
            if let Token::Name(kind) = token {
                actions.push(AliasAction::read(kind, &mut tokens)?);
            }
        }
    }
    Ok(actions)
}

impl AliasAction {
    fn read(kind: &str, tokens: &mut Tokens<'_>) -> Result<AliasAction> {
        let adds = match kind {
            "add" => true,
            "remove" => false,
            other => return Err(SearchError::illegal(format!("Alias action [{other}] not supported"))),
        };
        let mut definition = Definition::read(tokens);
        Ok(AliasAction {
            adds,
            index: definition.index.take().unwrap_or_default(),
            alias: definition.alias.take().unwrap_or_default(),
            definition,
        })
    }

    /// Returns what the action lacks.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let kind = if self.adds { "add" } else { "remove" };
        if self.alias.trim().is_empty() && self.adds {
            problems.push(format!("Alias action [{kind}] requires an [alias] to be set"));
        } else if self.alias.is_empty() {
            problems.push(format!("Alias action [{kind}]: [alias] may not be empty string"));
        }
        if self.index.is_empty() {
            problems.push(format!("Alias action [{kind}]: [index] may not be empty string"));
        }
        problems
    }

    /// Returns whether a removal concerns an alias.
    fn removes(&self, name: &str) -> bool {
        self.alias == "_all" || pattern::matches(&self.alias, name)
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
    let actions = actions_of(&body)?;
    if actions.is_empty() {
        return Err(SearchError::validation("Must specify at least one alias action"));
    }
    let problems: Vec<String> = actions.iter().flat_map(AliasAction::problems).collect();
    SearchError::validated(&problems)?;
    shared.cluster.check_blocks(&[], Block::Metadata)?;
    let mut planned = Vec::new();
    let mut removed = Vec::new();
    for action in actions {
        // The name of an index has no comma.
        if action.index.contains(',') {
            return Err(SearchError::index_missing(&action.index));
        }
        let named = shared
            .cluster
            .allowed(&action.index, Expand::MATCHED, Block::Metadata)?;
        if !action.adds {
            removed.push(action.alias.clone());
            for index in named {
                // What is removed is known before the first action.
                let names = index
                    .aliases
                    .read()
                    .keys()
                    .filter(|name| action.removes(name))
                    .cloned()
                    .collect();
                planned.push((index, names, None));
            }
            continue;
        }
        check(shared, named.first().map_or("", |index| &index.name), &action.alias)?;
        let definition = action.definition.alias();
        named
            .iter()
            .try_for_each(|index| index.check_alias(&shared.cluster, &action.alias, &definition))?;
        let added = named.into_iter();
        planned.extend(added.map(|index| (index, vec![action.alias.clone()], Some(definition.clone()))));
    }
    if planned
        .iter()
        .all(|(_, names, _): &(_, Vec<String>, Option<Alias>)| names.is_empty())
    {
        return Err(missing(removed.iter().map(String::as_str)));
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

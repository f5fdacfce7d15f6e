//! The `_aliases` and `_alias` APIs.

use serde_json::{Map, Value, json};

use crate::cluster::{Alias, Block, Expand, Index};
use crate::error::{Result, SearchError};
use crate::find::names;
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
    let expand = Expand {
        forbid_closed: false,
        ignore_unavailable: !strict || request.flag("ignore_unavailable"),
        ..request.expand()
    };
    for index in shared.cluster.named(indices, expand)? {
        let aliases = index.aliases.read();
        let kept: Map<String, Value> = aliases
            .iter()
            .filter(|(name, _)| wanted.is_none_or(|wanted| pattern::matches_any(wanted, name)))
            .map(|(name, alias)| (name.clone(), alias.describe()))
            .collect();
        if wanted.is_none() || !kept.is_empty() {
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
pub(crate) fn exists(shared: &Shared, request: &RestRequest, indices: &str, wanted: &str) -> Answer {
    let named = shared.cluster.named(indices, request.expand()).unwrap_or_default();
    Answer::exists(named.iter().any(|index| {
        let aliases = index.aliases.read();
        aliases
            .keys()
            .any(|name| wanted.split(',').any(|wanted| pattern::matches(wanted, name)))
    }))
}

/// Fails for an invalid alias name.
fn check(shared: &Shared, index: &str, alias: &str) -> Result<()> {
    if shared.cluster.index(alias).is_some() {
        return Err(SearchError::new(
            400,
            "InvalidAliasNameException",
            format!("[{index}] Invalid alias name [{alias}], an index exists with the same name as the alias"),
        ));
    }
    if alias.is_empty() || alias.contains(['*', ',', '/', ' ', '"']) {
        return Err(SearchError::new(
            400,
            "InvalidAliasNameException",
            format!("[{alias}] Invalid alias name [{alias}]"),
        ));
    }
    Ok(())
}

/// `PUT /index/_alias/name`.
///
/// The alias and the index of the body, if any, replace those of the path.
pub(crate) fn put(shared: &Shared, request: &RestRequest, indices: &str, alias: &str) -> Result<Answer> {
    let body = request.json()?.unwrap_or_else(|| json!({}));
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let (indices, alias) = (text("index").unwrap_or(indices), text("alias").unwrap_or(alias));
    if alias.trim().is_empty() {
        let reason = "Alias action [add]: [alias] may not be empty string";
        return Err(SearchError::validation(reason));
    }
    check(shared, indices, alias)?;
    let definition = Alias::parse(&body);
    let named = shared.cluster.named(
        indices,
        Expand {
            allow_no_indices: false,
            ..request.expand()
        },
    )?;
    named.iter().try_for_each(|index| index.check_block(Block::Metadata))?;
    for index in &named {
        index.check_alias(&shared.cluster, alias, &definition)?;
        index.aliases.write().insert(alias.to_owned(), definition.clone());
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged())
}

/// `DELETE /index/_alias/name`.
pub(crate) fn delete(shared: &Shared, request: &RestRequest, indices: &str, wanted: &str) -> Result<Answer> {
    let mut found = false;
    let named = shared.cluster.named(indices, request.expand())?;
    named.iter().try_for_each(|index| index.check_block(Block::Metadata))?;
    for index in &named {
        index.aliases.write().retain(|name, _| {
            let removed = pattern::matches_any(wanted, name);
            found |= removed;
            !removed
        });
    }
    if !found {
        return Err(SearchError::new(
            404,
            "AliasesMissingException",
            format!("aliases [[{wanted}]] missing"),
        ));
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged())
}

/// `POST /_aliases`: applies all actions or none.
pub(crate) fn update(shared: &Shared, request: &RestRequest) -> Result<Answer> {
    let body = request.json()?.unwrap_or_default();
    let actions = body
        .get("actions")
        .and_then(Value::as_array)
        .filter(|actions| !actions.is_empty())
        .ok_or_else(|| {
            SearchError::new(
                400,
                "ActionRequestValidationException",
                "Validation Failed: 1: Must specify at least one alias action;",
            )
        })?;
    let mut planned = Vec::new();
    for action in actions {
        let (kind, what) = action
            .as_object()
            .and_then(|action| action.iter().next())
            .ok_or_else(|| SearchError::illegal("No action is specified"))?;
        let list = |key: &str| what.get(key).map(names).unwrap_or_default();
        let (indices, aliases) = (list("index"), list("alias"));
        let mut problems = Vec::new();
        if aliases.is_empty() && what.get("alias").is_none() {
            problems.push(format!("Alias action [{kind}] requires an [alias] to be set"));
        } else if aliases.is_empty() {
            problems.push(format!("Alias action [{kind}]: [alias] may not be empty string"));
        }
        if indices.is_empty() {
            problems.push(format!("Alias action [{kind}]: [index] may not be empty string"));
        }
        if !problems.is_empty() {
            return Err(SearchError::validation(&problems.join(";2: ")));
        }
        let adds = match kind.as_str() {
            "add" => true,
            "remove" => false,
            other => {
                return Err(SearchError::illegal(format!("Alias action [{other}] not supported")));
            }
        };
        let named = shared.cluster.named(
            &indices.join(","),
            Expand {
                allow_no_indices: false,
                ..Expand::default()
            },
        )?;
        named.iter().try_for_each(|index| index.check_block(Block::Metadata))?;
        for alias in &aliases {
            if adds {
                check(shared, &indices.join(","), alias)?;
            } else if !alias.contains('*') && !named.iter().any(|index| index.aliases.read().contains_key(alias)) {
                return Err(SearchError::new(
                    404,
                    "AliasesMissingException",
                    format!("aliases [[{alias}]] missing"),
                ));
            }
        }
        let definition = adds.then(|| Alias::parse(what));
        if let (Some(definition), Some(alias)) = (&definition, aliases.first()) {
            named
                .iter()
                .try_for_each(|index| index.check_alias(&shared.cluster, alias, definition))?;
        }
        planned.push((named, aliases, definition));
    }
    let mut changed = Vec::new();
    for (named, aliases, definition) in planned {
        for index in named {
            let mut known = index.aliases.write();
            for alias in &aliases {
                match &definition {
                    Some(definition) => drop(known.insert(alias.clone(), definition.clone())),
                    None => known.retain(|name, _| !pattern::matches(alias, name)),
                }
            }
            drop(known);
            changed.push(index);
        }
    }
    shared.cluster.changed(&changed)?;
    Ok(Answer::acknowledged())
}

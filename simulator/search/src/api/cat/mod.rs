//! The `_cat` APIs: tables of statistics.

mod indices;
mod nodes;
mod table;

use std::sync::Arc;

use serde_json::Value;

use super::query::count_matches;
use crate::cluster::{Block, Expand, Index, resolve};
use crate::error::Result;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;
use table::{Row, Table};

/// Returns the columns `epoch` (seconds since 1970) and `timestamp` (time of day).
fn time(shared: &Shared) -> [(&'static str, String); 2] {
    let seconds = shared.cluster.now().div_euclid(1000);
    let of_day = seconds.rem_euclid(86_400);
    let clock = format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
    [("epoch", seconds.to_string()), ("timestamp", clock)]
}

/// Returns whether there is a page, of everything or of what has one of `names`.
pub(crate) fn has_page(page: &str, names: Option<&str>) -> bool {
    let is_asked = |listed: &str| match (listed.split_once('/'), names) {
        (None, None) => listed == page,
        (Some((listed, _)), Some(_)) => listed == page,
        _ => false,
    };
    PAGES.iter().any(|listed| is_asked(listed))
}

/// `GET /_cat/page[/names]`, of a page that there is.
pub(crate) fn cat(shared: &Shared, request: &RestRequest, page: &str, names: Option<&str>) -> Result<Answer> {
    if request.flag("help") {
        return Table::new(page).answer(request);
    }
    if !matches!(page, "aliases" | "count" | "health" | "recovery") {
        request.check_duration("master_timeout")?;
    }
    if matches!(page, "pending_tasks" | "shards") {
        shared.cluster.check_blocks(&[], Block::Metadata)?;
    }
    let expression = names.or(request.param("index")).unwrap_or("");
    let broadcast = |expand, operation| shared.cluster.broadcast(expression, expand, operation);
    let table = match page {
        "indices" => indices::indices(shared, request, &listed(shared, expression)?),
        "shards" => indices::shards(shared, request, &routed(shared, expression)),
        "segments" => indices::segments(shared, request, &broadcast(Expand::SHARDS, Block::Metadata)?),
        "recovery" => {
            let named = broadcast(request.expand()?, Block::Read)?;
            // Every recovery is done.
            let shown = if request.flag("active_only") {
                &[]
            } else {
                named.as_slice()
            };
            indices::recovery(shared, shown)
        }
        "count" => {
            let mut row = Row::new(&time(shared));
            let count = count_matches(shared, request, expression)?;
            row.set("count", count.to_string());
            one_row(page, row)
        }
        "nodes" => nodes::nodes(shared, request),
        "master" => nodes::master(shared),
        "allocation" => nodes::allocation(shared, request, names.or(request.param("nodes"))),
        "thread_pool" => nodes::thread_pool(shared, request),
        "fielddata" => nodes::fielddata(shared, request, names.or(request.param("fields"))),
        "health" => one_row(page, health(shared)),
        "aliases" => aliases(shared, names)?,
        _ => Table::new(page),
    };
    table.answer(request)
}

/// Returns the indices of the page `indices`: an expression is resolved among the indices that it has filtered.
fn listed(shared: &Shared, expression: &str) -> Result<Vec<Arc<Index>>> {
    if expression.is_empty() {
        return shared.cluster.allowed(expression, Expand::ALL, Block::Metadata);
    }
    let filtered = shared.cluster.allowed(expression, Expand::FILTER, Block::Metadata)?;
    let listed = resolve(&filtered, expression, Expand::ALL)?;
    Ok(listed.into_iter().map(|(index, _)| index).collect())
}

/// Returns the indices of the page `shards`: open ones, which must be named without patterns and aliases.
fn routed(shared: &Shared, expression: &str) -> Vec<Arc<Index>> {
    let mut indices = shared.cluster.indices();
    indices.retain(|index| {
        let is_named = expression.is_empty() || expression.split(',').any(|name| name == index.name);
        is_named && !index.is_closed()
    });
    indices
}

fn one_row(page: &str, row: Row) -> Table {
    let mut table = Table::new(page);
    table.row(row);
    table
}

fn health(shared: &Shared) -> Row {
    let health = shared.cluster.health(&shared.cluster.indices());
    let nodes = shared.cluster.node_count();
    let mut row = Row::new(&time(shared));
    row.set("cluster", shared.cluster.options.cluster_name.clone());
    row.set("status", health.status().to_owned());
    for (name, number) in [
        ("node.total", nodes),
        ("node.data", nodes),
        ("shards", health.active),
        ("pri", health.primaries),
        ("relo", 0),
        ("init", 0),
        ("unassign", health.unassigned),
        ("pending_tasks", 0),
    ] {
        row.set(name, number.to_string());
    }
    row
}

fn aliases(shared: &Shared, names: Option<&str>) -> Result<Table> {
    let mut table = Table::new("aliases");
    // As in Elasticsearch, a list is one name.
    let wanted = |name: &str| names.is_none_or(|wanted| wanted == "_all" || crate::pattern::matches(wanted, name));
    for index in shared.cluster.allowed("", Expand::ALL, Block::Metadata)? {
        for (name, alias) in index.aliases.read().iter().filter(|(name, _)| wanted(name)) {
            let definition = alias.describe();
            let routing = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or("-").to_owned();
            table.row(Row::new(&[
                ("alias", name.clone()),
                ("index", index.name.clone()),
                ("filter", if alias.filter.is_some() { "*" } else { "-" }.to_owned()),
                ("routing.index", routing("index_routing")),
                ("routing.search", routing("search_routing")),
            ]));
        }
    }
    Ok(table)
}

/// Paths of the pages.
const PAGES: [&str; 21] = [
    "allocation",
    "shards",
    "shards/{index}",
    "master",
    "nodes",
    "indices",
    "indices/{index}",
    "segments",
    "segments/{index}",
    "count",
    "count/{index}",
    "recovery",
    "recovery/{index}",
    "health",
    "pending_tasks",
    "aliases",
    "aliases/{alias}",
    "thread_pool",
    "plugins",
    "fielddata",
    "fielddata/{fields}",
];

/// `GET /_cat`: the list of pages.
pub(crate) fn list() -> Answer {
    let lines = PAGES.iter().map(|name| format!("/_cat/{name}\n"));
    Answer::text(std::iter::once("=^.^=\n".to_owned()).chain(lines).collect())
}

//! `_cat`: the same as tables of text.

use std::sync::Arc;

use serde_json::{Value, json};

use super::cluster::Health;
use super::nodes::{address, id_of};
use super::state::routing;
use super::stats::bytes;
use super::table::Table;
use crate::cluster::{Expand, Index};
use crate::error::{Result, SearchError};
use crate::rest::{Answer, RestRequest, Shared};

/// `2.3mb`.
fn size(bytes: u64, request: &RestRequest) -> String {
    let units = [
        ("b", 0),
        ("k", 10),
        ("kb", 10),
        ("m", 20),
        ("mb", 20),
        ("g", 30),
        ("gb", 30),
    ];
    if let Some((_, shift)) = request
        .param("bytes")
        .and_then(|wanted| units.iter().find(|(name, _)| *name == wanted))
    {
        return (bytes >> shift).to_string();
    }
    let (shift, unit) = match bytes {
        0..1_024 => return format!("{bytes}b"),
        1_024..1_048_576 => (10, "kb"),
        1_048_576..1_073_741_824 => (20, "mb"),
        _ => (30, "gb"),
    };
    let value = bytes as f64 / f64::from(1u32 << shift);
    if value.fract() < 0.05 {
        format!("{value:.0}{unit}")
    } else {
        format!("{value:.1}{unit}")
    }
}

fn time(shared: &Shared) -> [String; 2] {
    let now = shared.cluster.now();
    let seconds = now.div_euclid(1000);
    let of_day = seconds.rem_euclid(86_400);
    [
        seconds.to_string(),
        format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60),
    ]
}

/// `GET /_cat/what[/indices]`.
pub(crate) fn cat(shared: &Shared, request: &RestRequest, what: &str, rest: Option<&str>) -> Result<Answer> {
    let named = || {
        shared.cluster.named(
            rest.unwrap_or(""),
            Expand {
                closed: what == "indices",
                forbid_closed: false,
                ..request.expand()
            },
        )
    };
    let nodes = || (0u32..).zip(&shared.cluster.options.nodes);
    let table = match what {
        "indices" => indices(shared, request, &named()?),
        "health" => {
            let health = Health::of(shared, &shared.cluster.indices());
            let mut table = Table::new(&[
                "epoch|t",
                "timestamp|ts",
                "cluster|cl",
                "status|st",
                ">node.total|nt",
                ">node.data|nd",
                ">shards|t",
                ">pri|p",
                ">relo|r",
                ">init|i",
                ">unassign|u",
                ">pending_tasks|pt",
            ]);
            let [epoch, clock] = time(shared);
            let nodes = shared.cluster.options.nodes.len().to_string();
            let cells = [
                epoch,
                clock,
                shared.cluster.options.cluster_name.clone(),
                health.status().to_owned(),
                nodes.clone(),
                nodes,
                health.active.to_string(),
                health.primaries.to_string(),
                "0".to_owned(),
                "0".to_owned(),
                health.unassigned.to_string(),
                "0".to_owned(),
            ];
            table.row(cells);
            table
        }
        "count" => {
            let count: u32 = named()?
                .iter()
                .map(|index| {
                    index
                        .refresh_if_due(
                            (shared.cluster.options.ticks)(),
                            shared.cluster.options.refresh_interval,
                        )
                        .map(|()| index.live_docs())
                })
                .sum::<Result<u32>>()?;
            let mut table = Table::new(&["epoch|t", "timestamp|ts", "count|dc"]);
            let [epoch, clock] = time(shared);
            table.row([epoch, clock, count.to_string()]);
            table
        }
        "shards" => shards(shared, request, &named()?),
        "nodes" => {
            let mut table = Table::new(&[
                "host|h",
                "ip|i",
                ">heap.percent|hp",
                ">ram.percent|rp",
                ">load|l",
                "node.role|r",
                "master|m",
                "name|n",
            ]);
            for (place, name) in nodes() {
                table.row([
                    name.clone(),
                    address(place),
                    "10".to_owned(),
                    String::new(),
                    String::new(),
                    "d".to_owned(),
                    if place == 0 { "*" } else { "m" }.to_owned(),
                    name.clone(),
                ]);
            }
            table
        }
        "master" => {
            let mut table = Table::new(&["id", "host|h", "ip", "node|n"]);
            if let Some((place, name)) = nodes().next() {
                table.row([id_of(place), name.clone(), address(place), name.clone()]);
            }
            table
        }
        "aliases" => {
            let mut table = Table::new(&[
                "alias|a",
                "index|i",
                "filter|f",
                "routing.index|ri",
                "routing.search|rs",
            ]);
            for index in shared.cluster.indices() {
                for (name, alias) in index.aliases.read().iter().filter(|(name, _)| {
                    rest.is_none_or(|rest| rest.split(',').any(|wanted| crate::pattern::matches(wanted, name)))
                }) {
                    let shown = alias.describe();
                    let routing = |key: &str| shown.get(key).and_then(Value::as_str).unwrap_or("-").to_owned();
                    table.row([
                        name.clone(),
                        index.name.clone(),
                        if alias.filter.is_some() { "*" } else { "-" }.to_owned(),
                        routing("index_routing"),
                        routing("search_routing"),
                    ]);
                }
            }
            table
        }
        "allocation" => {
            let mut table = Table::new(&[
                ">shards|s",
                ">disk.used|du",
                ">disk.avail|da",
                ">disk.total|dt",
                ">disk.percent|dp",
                "host|h",
                "ip|i",
                "node|n",
            ]);
            let copies: Vec<Value> = shared
                .cluster
                .indices()
                .iter()
                .flat_map(|index| routing(shared, index))
                .flat_map(|(_, copies)| copies)
                .collect();
            for (place, name) in nodes() {
                let own = copies.iter().filter(|copy| copy["node"] == json!(id_of(place))).count();
                table.row([
                    own.to_string(),
                    "20gb".to_owned(),
                    "80gb".to_owned(),
                    "100gb".to_owned(),
                    "20".to_owned(),
                    name.clone(),
                    address(place),
                    name.clone(),
                ]);
            }
            table
        }
        "segments" => {
            let mut table = Table::new(&[
                "index|i",
                ">shard|s",
                "prirep|p",
                "ip",
                "segment|seg",
                ">generation|g",
                ">docs.count|dc",
                ">docs.deleted|dd",
                ">size|si",
                ">size.memory|sm",
                "committed|ic",
                "searchable|is",
                "version|v",
                "compound|ico",
            ]);
            for index in named()? {
                let nodes = u32::try_from(shared.cluster.options.nodes.len()).unwrap_or(1).max(1);
                let views = index.views();
                let segments = (0u32..)
                    .zip(&views)
                    .flat_map(|(shard, view)| view.segments.iter().map(move |segment| (shard, segment)));
                for (shard, view) in segments {
                    let segment = &view.segment;
                    let cells = [
                        index.name.clone(),
                        shard.to_string(),
                        "p".to_owned(),
                        address(shard % nodes),
                        format!("_{}", segment.number),
                        segment.number.to_string(),
                        view.live_docs().to_string(),
                        (segment.max_doc() - view.live_docs()).to_string(),
                        size(segment.bytes(), request),
                        "0".to_owned(),
                        "true".to_owned(),
                        "true".to_owned(),
                        super::cluster::LUCENE.to_owned(),
                        "false".to_owned(),
                    ];
                    table.row(cells);
                }
            }
            table
        }
        "pending_tasks" => Table::new(&[">insertOrder|o", ">timeInQueue|t", "priority|p", "source|s"]),
        "plugins" => Table::new(&["name|n", "component|c", "version|v", "type|t", "url|u"]),
        "recovery" => {
            let mut table = Table::new(&[
                "index|i",
                ">shard|s",
                ">time|t",
                "type|ty",
                "stage|st",
                "source_host|shost",
                "target_host|thost",
                "repository|rep",
                "snapshot|snap",
                ">files|f",
                ">files_percent|fp",
                ">bytes|b",
                ">bytes_percent|bp",
                ">total_files|tf",
                ">total_bytes|tb",
                ">translog|tr",
                ">translog_percent|trp",
                ">total_translog|trt",
            ]);
            for index in named()? {
                for shard in 0..index.shard_count() {
                    table.row([
                        index.name.clone(),
                        shard.to_string(),
                        "0".to_owned(),
                        "gateway".to_owned(),
                        "done".to_owned(),
                        address(0),
                        address(0),
                        "n/a".to_owned(),
                        "n/a".to_owned(),
                        "0".to_owned(),
                        "0.0%".to_owned(),
                        "0".to_owned(),
                        "0.0%".to_owned(),
                        "0".to_owned(),
                        "0".to_owned(),
                        "0".to_owned(),
                        "100.0%".to_owned(),
                        "0".to_owned(),
                    ]);
                }
            }
            table
        }
        "thread_pool" | "fielddata" => {
            let mut table = Table::new(&[
                "host|h",
                "ip|i",
                ">bulk.active|ba",
                ">bulk.queue|bq",
                ">bulk.rejected|br",
                ">index.active|ia",
                ">index.queue|iq",
                ">index.rejected|ir",
                ">search.active|sa",
                ">search.queue|sq",
                ">search.rejected|sr",
            ]);
            for (place, name) in nodes() {
                table.row(
                    [name.clone(), address(place)]
                        .into_iter()
                        .chain(std::iter::repeat_n("0".to_owned(), 9)),
                );
            }
            table
        }
        other => {
            return Err(SearchError::illegal(format!(
                "No handler found for uri [/_cat/{other}] and method [{}]",
                request.method
            )));
        }
    };
    table.answer(request)
}

fn indices(shared: &Shared, request: &RestRequest, named: &[Arc<Index>]) -> Table {
    let mut table = Table::new(&[
        "health|h",
        "status|s",
        "index|i",
        ">pri|p",
        ">rep|r",
        ">docs.count|dc",
        ">docs.deleted|dd",
        ">store.size|ss",
        ">pri.store.size|pss",
    ]);
    for index in named {
        if index.is_closed() {
            table.row(["".to_owned(), "close".to_owned(), index.name.clone()]);
            continue;
        }
        let health = Health::of(shared, std::slice::from_ref(index));
        let primary = bytes(index);
        let copies = u64::from(super::state::assigned(shared, index) / index.shard_count());
        table.row([
            health.status().to_owned(),
            "open".to_owned(),
            index.name.clone(),
            index.shard_count().to_string(),
            index.replicas().to_string(),
            index.live_docs().to_string(),
            (index.max_doc() - index.live_docs()).to_string(),
            size(primary * copies, request),
            size(primary, request),
        ]);
    }
    table
}

fn shards(shared: &Shared, request: &RestRequest, named: &[Arc<Index>]) -> Table {
    let mut table = Table::new(&[
        "index|i",
        ">shard|s",
        "prirep|p",
        "state|st",
        ">docs|d",
        ">store|sto",
        "ip",
        "node|n",
    ]);
    for index in named {
        let views = index.views();
        for (shard, copies) in routing(shared, index) {
            for copy in copies {
                let place = (0u32..)
                    .zip(&shared.cluster.options.nodes)
                    .find(|(place, _)| copy["node"] == json!(id_of(*place)));
                let (docs, bytes) = match views.get(shard as usize).filter(|_| place.is_some()) {
                    Some(view) => (view.live_docs().to_string(), size(view.bytes(), request)),
                    None => (String::new(), String::new()),
                };
                let kind = if copy["primary"] == json!(true) { "p" } else { "r" };
                let state = copy["state"].as_str().unwrap_or("").to_owned();
                table.row([
                    index.name.clone(),
                    shard.to_string(),
                    kind.to_owned(),
                    state,
                    docs,
                    bytes,
                    place.map(|(place, _)| address(place)).unwrap_or_default(),
                    place.map(|(_, name)| name.clone()).unwrap_or_default(),
                ]);
            }
        }
    }
    table
}

/// `GET /_cat`: what there is.
pub(crate) fn list() -> Answer {
    let names = [
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
    Answer::text(
        std::iter::once("=^.^=\n".to_owned())
            .chain(names.iter().map(|name| format!("/_cat/{name}\n")))
            .collect(),
    )
}

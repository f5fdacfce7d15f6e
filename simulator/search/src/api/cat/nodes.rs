//! The `_cat` tables of nodes: `nodes`, `master`, `allocation`, `thread_pool`, `fielddata`.

use serde_json::Value;

use super::table::{Row, Table, size};
use crate::api::nodes::thread_pools;
use crate::api::process::Process;
use crate::cluster::{BUILD, Breakdown, JVM, VERSION, address, field_data, id_of, sections};
use crate::pattern;
use crate::rest::RestRequest;
use crate::shared::Shared;

/// Returns the columns that several tables share.
fn node(ordinal: u32, name: &str, full_id: bool) -> Vec<(&'static str, String)> {
    let id = id_of(ordinal);
    vec![
        ("id", if full_id { id } else { id.chars().take(4).collect() }),
        ("pid", std::process::id().to_string()),
        ("host", name.to_owned()),
        ("ip", address(ordinal)),
        ("port", "9300".to_owned()),
    ]
}

/// `nodes`: the statistics of a node cover its shard copies.
pub(super) fn nodes(shared: &Shared, request: &RestRequest) -> Table {
    let mut table = Table::new("nodes");
    let process = Process::now();
    let all = shared.cluster.indices();
    let copies = shared.cluster.copies(&all);
    let percent = |part: u64, whole: u64| (part * 100).checked_div(whole).unwrap_or(0).to_string();
    let uptime = u64::try_from((shared.cluster.options.ticks)().as_millis()).unwrap_or(u64::MAX);
    for (ordinal, name) in shared.cluster.nodes() {
        let mut cells = node(ordinal, name, request.flag("full_id"));
        cells.extend([
            ("version", VERSION.to_owned()),
            ("build", BUILD.chars().take(7).collect()),
            ("jdk", JVM.to_owned()),
            ("heap.current", size(process.resident, request)),
            ("heap.percent", percent(process.resident, process.total)),
            ("heap.max", size(process.total, request)),
            ("file_desc.current", process.open_files.to_string()),
            ("file_desc.percent", percent(process.open_files, process.max_files)),
            ("file_desc.max", process.max_files.to_string()),
            ("uptime", crate::api::human::time(uptime)),
            ("node.role", "d".to_owned()),
            ("master", if ordinal == 0 { "*" } else { "m" }.to_owned()),
            ("name", name.clone()),
        ]);
        let own: Vec<_> = copies.iter().filter(|copy| copy.node == ordinal).copied().collect();
        table.row(Row::new(&cells).with(sections(&own, Breakdown::default())));
    }
    table
}

pub(super) fn master(shared: &Shared) -> Table {
    let mut table = Table::new("master");
    if let Some((ordinal, name)) = shared.cluster.nodes().next() {
        let mut row = Row::new(&node(ordinal, name, true));
        row.set("node", name.clone());
        table.row(row);
    }
    table
}

pub(super) fn allocation(shared: &Shared, request: &RestRequest, wanted: Option<&str>) -> Table {
    let mut table = Table::new("allocation");
    let all = shared.cluster.indices();
    let open: Vec<_> = all.into_iter().filter(|index| !index.is_closed()).collect();
    let copies = shared.cluster.copies(&open);
    let is_wanted = |name: &str| wanted.is_none_or(|wanted| pattern::matches_any(wanted, name));
    for (ordinal, name) in shared.cluster.nodes().filter(|(_, name)| is_wanted(name)) {
        let own = copies.iter().filter(|copy| copy.node == ordinal);
        let used: u64 = own.clone().map(|copy| copy.shard.view().bytes()).sum();
        let mut row = Row::new(&node(ordinal, name, true));
        row.set("shards", own.count().to_string());
        row.set("disk.used", size(used, request));
        // Shards are in memory, so the disk has no free space to report.
        row.set("disk.avail", size(0, request));
        row.set("disk.total", size(used, request));
        row.set("disk.percent", "0".to_owned());
        row.set("node", name.clone());
        table.row(row);
    }
    table
}

pub(super) fn thread_pool(shared: &Shared, request: &RestRequest) -> Table {
    let mut table = Table::new("thread_pool");
    let pools = thread_pools();
    for (ordinal, name) in shared.cluster.nodes() {
        let mut row = Row::new(&node(ordinal, name, request.flag("full_id")));
        for (pool, settings) in pools.as_object().into_iter().flatten() {
            let text = |key: &str| match settings.get(key)? {
                Value::String(text) if text == "1k" => Some("1000".to_owned()),
                Value::String(text) => Some(text.clone()),
                number => number.as_u64().map(|number| number.to_string()),
            };
            for idle in ["active", "size", "queue", "rejected", "largest", "completed"] {
                row.set(&format!("{pool}.{idle}"), "0".to_owned());
            }
            for (column, key) in [
                ("type", "type"),
                ("min", "min"),
                ("max", "max"),
                ("queueSize", "queue_size"),
                ("keepAlive", "keep_alive"),
            ] {
                text(key)
                    .into_iter()
                    .for_each(|text| row.set(&format!("{pool}.{column}"), text));
            }
        }
        table.row(row);
    }
    table
}

/// `fielddata`: memory of loaded field data, one column per field.
pub(super) fn fielddata(shared: &Shared, request: &RestRequest, wanted: Option<&str>) -> Table {
    let mut table = Table::new("fielddata");
    let wanted = wanted.or(request.param("fields"));
    let all = shared.cluster.indices();
    let copies = shared.cluster.copies(&all);
    let mut fields: Vec<String> = field_data(&copies).into_iter().map(|(field, _)| field).collect();
    fields.retain(|field| wanted.is_none_or(|wanted| wanted.split(',').any(|wanted| pattern::matches(wanted, field))));
    fields.iter().for_each(|field| table.add_column(field));
    for (ordinal, name) in shared.cluster.nodes() {
        let mut row = Row::new(&node(ordinal, name, true));
        row.set("node", name.clone());
        let own: Vec<_> = copies.iter().filter(|copy| copy.node == ordinal).copied().collect();
        let loaded = field_data(&own);
        let mut total = 0;
        for field in &fields {
            let bytes = loaded.get(field).and_then(Value::as_u64).unwrap_or(0);
            total += bytes;
            row.set(field, size(bytes, request));
        }
        row.set("total", size(total, request));
        table.row(row);
    }
    table
}

//! The `_cat` tables of indices: `indices`, `shards`, `segments`, `recovery`, `count`.

use std::sync::Arc;

use serde_json::Value;

use super::table::{Row, Table, size};
use crate::cluster::{Breakdown, Index, LUCENE, ShardCopy, address, bytes, id_of, sections};
use crate::rest::RestRequest;
use crate::shared::Shared;

pub(super) fn indices(shared: &Shared, request: &RestRequest, named: &[Arc<Index>]) -> Table {
    let mut table = Table::new("indices");
    for index in named {
        if index.is_closed() {
            table.row(Row::new(&[
                ("status", "close".to_owned()),
                ("index", index.name.clone()),
            ]));
            continue;
        }
        let own = std::slice::from_ref(index);
        let primary = bytes(index);
        let copies = u64::from(shared.cluster.assigned(index) / index.shard_count());
        let primaries: Vec<_> = shared.cluster.copies_of(index).filter(|copy| copy.primary).collect();
        let statistics = sections(&primaries, Breakdown::default());
        let row = Row::new(&[
            ("health", shared.cluster.health(own).status().to_owned()),
            ("status", "open".to_owned()),
            ("index", index.name.clone()),
            ("pri", index.shard_count().to_string()),
            ("rep", index.replicas().to_string()),
            ("store.size", size(primary * copies, request)),
            ("pri.store.size", size(primary, request)),
        ]);
        table.row(row.with(statistics));
    }
    table
}

/// Returns the value of the column `prirep`.
fn prirep(primary: bool) -> String {
    if primary { "p" } else { "r" }.to_owned()
}

pub(super) fn shards(shared: &Shared, request: &RestRequest, named: &[Arc<Index>]) -> Table {
    let mut table = Table::new("shards");
    for index in named {
        for ((number, copies), shard) in shared.cluster.routing(index).into_iter().zip(&index.shards) {
            let view = shard.view();
            for copy in copies {
                let node = copy.get("node").and_then(Value::as_str);
                let ordinal = shared
                    .cluster
                    .nodes()
                    .find(|(ordinal, _)| node == Some(&id_of(*ordinal)));
                let primary = copy.get("primary").and_then(Value::as_bool) == Some(true);
                let mut row = Row::new(&[
                    ("index", index.name.clone()),
                    ("shard", number.to_string()),
                    ("prirep", prirep(primary)),
                    (
                        "state",
                        copy.get("state").and_then(Value::as_str).unwrap_or("").to_owned(),
                    ),
                ]);
                if let Some((ordinal, name)) = ordinal {
                    row.set("docs", view.live_docs().to_string());
                    row.set("store", size(view.bytes(), request));
                    row.set("ip", address(ordinal));
                    row.set("node", name.clone());
                    let copy = ShardCopy {
                        index,
                        shard,
                        node: ordinal,
                        primary,
                    };
                    row = row.with(sections(&[copy], Breakdown::default()));
                }
                table.row(row);
            }
        }
    }
    table
}

pub(super) fn segments(shared: &Shared, request: &RestRequest, named: &[Arc<Index>]) -> Table {
    let mut table = Table::new("segments");
    for index in named {
        for copy in shared.cluster.copies_of(index) {
            for view in &copy.shard.view().segments {
                let segment = &view.segment;
                let memory: u64 = segment.field_data().iter().map(|(_, bytes)| bytes).sum();
                table.row(Row::new(&[
                    ("index", index.name.clone()),
                    ("shard", copy.shard.number().to_string()),
                    ("prirep", prirep(copy.primary)),
                    ("ip", address(copy.node)),
                    ("segment", segment.name()),
                    ("generation", segment.generation().to_string()),
                    ("docs.count", view.live_docs().to_string()),
                    ("docs.deleted", (segment.max_doc() - view.live_docs()).to_string()),
                    ("size", size(segment.bytes(), request)),
                    ("size.memory", memory.to_string()),
                    ("committed", segment.is_committed().to_string()),
                    ("searchable", "true".to_owned()),
                    ("version", LUCENE.to_owned()),
                    ("compound", segment.is_compound().to_string()),
                ]));
            }
        }
    }
    table
}

pub(super) fn recovery(shared: &Shared, named: &[Arc<Index>]) -> Table {
    let mut table = Table::new("recovery");
    for index in named {
        let mut source = 0;
        for copy in shared.cluster.copies_of(index) {
            if copy.primary {
                source = copy.node;
            }
            // A replica is a view of its primary and needs no recovery.
            let recovery = copy.shard.recovery().filter(|_| copy.primary).unwrap_or_default();
            let percent = |total: u64| if total == 0 { "0.0%" } else { "100.0%" }.to_owned();
            let mut row = Row::new(&[
                ("index", index.name.clone()),
                ("shard", copy.shard.number().to_string()),
                ("type", if copy.primary { "gateway" } else { "replica" }.to_owned()),
                ("stage", "done".to_owned()),
                ("source_host", address(source)),
                ("target_host", address(copy.node)),
                ("repository", "n/a".to_owned()),
                ("snapshot", "n/a".to_owned()),
                ("files_percent", percent(recovery.files)),
                ("bytes_percent", percent(recovery.bytes)),
                ("translog_percent", "100.0%".to_owned()),
            ]);
            let millis = (recovery.index_time + recovery.translog_time).as_millis();
            row.set("time", u64::try_from(millis).unwrap_or(u64::MAX).to_string());
            for name in ["files", "total_files"] {
                row.set(name, recovery.files.to_string());
            }
            for name in ["bytes", "total_bytes"] {
                row.set(name, recovery.bytes.to_string());
            }
            for name in ["translog", "total_translog"] {
                row.set(name, recovery.operations.to_string());
            }
            table.row(row);
        }
    }
    table
}

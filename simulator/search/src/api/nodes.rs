//! The `_nodes` APIs and `_cluster/pending_tasks`.
//!
//! All nodes are simulated by this process.

use serde_json::{Map, Value, json};

use super::human;
use super::process::Process;
use crate::cluster::{BUILD, Block, JVM, JVM_BUILD, VERSION, address, id_of, sections};
use crate::error::Result;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// Memory pools of the JVM.
const MEMORY_POOLS: [&str; 6] = [
    "Metaspace",
    "Tenured Gen",
    "Eden Space",
    "Survivor Space",
    "Compressed Class Space",
    "CodeCache",
];

/// Returns the nodes that match a list of names, ids, addresses or `_local`, `_master`, `_all`. Default: all nodes.
fn selected_nodes(shared: &Shared, wanted: Option<&str>) -> Vec<(u32, String)> {
    let is_selected = |ordinal: u32, name: &str| {
        wanted.is_none_or(|wanted| {
            wanted.split(',').any(|wanted| match wanted {
                "_all" => true,
                "_local" | "_master" => ordinal == 0,
                wanted => {
                    crate::pattern::matches(wanted, name) || wanted == id_of(ordinal) || wanted == address(ordinal)
                }
            })
        })
    };
    shared
        .cluster
        .nodes()
        .filter(|(ordinal, name)| is_selected(*ordinal, name))
        .map(|(ordinal, name)| (ordinal, name.clone()))
        .collect()
}

/// Returns the thread pools of a node, as Elasticsearch 1.5 configures them on two processors.
pub(super) fn thread_pools() -> Value {
    let fixed =
        |threads: u32, queue: Value| json!({"type": "fixed", "min": threads, "max": threads, "queue_size": queue});
    let scaling = |max: u32| json!({"type": "scaling", "min": 1, "max": max, "keep_alive": "5m", "queue_size": -1});
    json!({
        "percolate": fixed(2, json!("1k")),
        "listener": fixed(1, json!(-1)),
        "index": fixed(2, json!("200")),
        "refresh": scaling(1),
        "suggest": fixed(2, json!("1k")),
        "generic": {"type": "cached", "keep_alive": "30s", "queue_size": -1},
        "warmer": scaling(1),
        "search": fixed(4, json!("1k")),
        "flush": scaling(1),
        "optimize": fixed(1, json!(-1)),
        "management": scaling(5),
        "get": fixed(2, json!("1k")),
        "merge": scaling(1),
        "bulk": fixed(2, json!("50")),
        "snapshot": scaling(1),
    })
}

/// `GET /_nodes[/nodes][/metrics]`.
pub(crate) fn info(shared: &Shared, request: &RestRequest, nodes: Option<&str>, metrics: Option<&str>) -> Answer {
    let metrics: Vec<&str> = metrics.map(|metrics| metrics.split(',').collect()).unwrap_or_default();
    let wants = |metric: &str| metrics.is_empty() || metrics.contains(&"_all") || metrics.contains(&metric);
    let process = Process::now();
    let by_node: Map<String, Value> = selected_nodes(shared, nodes)
        .into_iter()
        .map(|(ordinal, name)| {
            let ip = address(ordinal);
            let mut node = json!({
                "name": name,
                "transport_address": format!("inet[/{ip}:9300]"),
                "host": name,
                "ip": ip,
                "version": VERSION,
                "build": &BUILD[..7],
                "http_address": format!("inet[/{ip}:9200]"),
            });
            let sections = [
                (
                    "settings",
                    json!({
                        "cluster": {"name": shared.cluster.options.cluster_name},
                        "node": {"master": "true", "data": "true"},
                        "name": name,
                    }),
                ),
                (
                    "os",
                    json!({"refresh_interval_in_millis": 1000, "available_processors": 2}),
                ),
                (
                    "process",
                    json!({
                        "refresh_interval_in_millis": 1000,
                        "id": process.id,
                        "max_file_descriptors": process.max_files,
                        "mlockall": false,
                    }),
                ),
                (
                    "jvm",
                    json!({
                        "pid": process.id,
                        "version": JVM,
                        "vm_name": "OpenJDK 64-Bit Server VM",
                        "vm_version": JVM_BUILD,
                        "vm_vendor": "Debian",
                        "start_time_in_millis": shared.cluster.now(),
                        "mem": {
                            "heap_init_in_bytes": 268_435_456,
                            "heap_max_in_bytes": 1_065_025_536,
                            "non_heap_init_in_bytes": 24_313_856,
                            "non_heap_max_in_bytes": 224_395_264,
                            "direct_max_in_bytes": 1_065_025_536,
                        },
                        "gc_collectors": ["Copy", "MarkSweepCompact"],
                        "memory_pools": MEMORY_POOLS,
                    }),
                ),
                ("thread_pool", thread_pools()),
                (
                    "network",
                    json!({
                        "refresh_interval_in_millis": 5000,
                        "primary_interface": {"address": ip, "name": "eth0"},
                    }),
                ),
                (
                    "transport",
                    json!({
                        "bound_address": "inet[/0:0:0:0:0:0:0:0:9300]",
                        "publish_address": format!("inet[/{ip}:9300]"),
                        "profiles": {},
                    }),
                ),
                (
                    "http",
                    json!({
                        "bound_address": "inet[/0:0:0:0:0:0:0:0:9200]",
                        "publish_address": format!("inet[/{ip}:9200]"),
                        "max_content_length_in_bytes": shared.cluster.options.limits.body,
                    }),
                ),
                ("plugins", json!([])),
            ];
            for (metric, value) in sections {
                if wants(metric) {
                    node[metric] = value;
                }
            }
            (id_of(ordinal), node)
        })
        .collect();
    let mut response = json!({"cluster_name": shared.cluster.options.cluster_name, "nodes": by_node});
    if request.flag("human") {
        human::add_texts(&mut response);
    }
    Answer::ok(response)
}

/// Returns the sections of node statistics. The heap is the memory of this process.
fn node_stats(shared: &Shared) -> [(&'static str, Value); 9] {
    let process = Process::now();
    let uptime = u64::try_from((shared.cluster.options.ticks)().as_millis()).unwrap_or(u64::MAX);
    let heap_max = process.total.max(1);
    let now = shared.cluster.now();
    let pool = |size: u64| {
        json!({
            "used_in_bytes": 0,
            "max_in_bytes": size,
            "peak_used_in_bytes": 0,
            "peak_max_in_bytes": size,
        })
    };
    let collector = json!({"collection_count": 0, "collection_time_in_millis": 0});
    let buffers = json!({"count": 0, "used_in_bytes": 0, "total_capacity_in_bytes": 0});
    let threads: Map<String, Value> = match thread_pools() {
        Value::Object(pools) => pools
            .into_iter()
            .map(|(name, _)| {
                let idle = json!({"threads": 0, "queue": 0, "active": 0, "rejected": 0, "largest": 0, "completed": 0});
                (name, idle)
            })
            .collect(),
        _ => Map::new(),
    };
    let breaker = |bytes: u64, text: &str, overhead: f64| {
        json!({
            "limit_size_in_bytes": bytes,
            "limit_size": text,
            "estimated_size_in_bytes": 0,
            "estimated_size": "0b",
            "overhead": overhead,
            "tripped": 0,
        })
    };
    [
        ("os", json!({"timestamp": now})),
        (
            "process",
            json!({"timestamp": now, "open_file_descriptors": process.open_files}),
        ),
        (
            "jvm",
            json!({
                "timestamp": now,
                "uptime_in_millis": uptime,
                "mem": {
                    "heap_used_in_bytes": process.resident,
                    "heap_used_percent": process.resident * 100 / heap_max,
                    "heap_committed_in_bytes": process.resident,
                    "heap_max_in_bytes": heap_max,
                    "non_heap_used_in_bytes": 0,
                    "non_heap_committed_in_bytes": 0,
                    "pools": {
                        "young": pool(139_591_680),
                        "survivor": pool(17_432_576),
                        "old": pool(907_345_920),
                    },
                },
                "threads": {"count": process.threads, "peak_count": process.threads},
                "gc": {"collectors": {"young": collector, "old": collector}},
                "buffer_pools": {"direct": buffers, "mapped": buffers},
            }),
        ),
        ("thread_pool", threads.into()),
        ("network", json!({})),
        ("fs", json!({"timestamp": now, "total": {}, "data": []})),
        (
            "transport",
            json!({"server_open": 0, "rx_count": 0, "rx_size_in_bytes": 0, "tx_count": 0, "tx_size_in_bytes": 0}),
        ),
        ("http", json!({"current_open": 1, "total_opened": 1})),
        (
            "breakers",
            json!({
                "request": breaker(426_010_214, "406.2mb", 1.0),
                "fielddata": breaker(639_015_321, "609.4mb", 1.03),
                "parent": breaker(745_517_875, "710.9mb", 1.0),
            }),
        ),
    ]
}

/// `GET /_nodes[/nodes]/stats`: the statistics of a node cover its shard copies.
pub(crate) fn stats(shared: &Shared, request: &RestRequest, nodes: Option<&str>, metrics: &[&str]) -> Answer {
    let wanted: Vec<&str> = metrics
        .first()
        .map(|list| list.split(',').collect())
        .unwrap_or_default();
    let wants = |metric: &str| wanted.is_empty() || wanted.contains(&"_all") || wanted.contains(&metric);
    let all = shared.cluster.indices();
    let copies = shared.cluster.copies(&all);
    let by_node: Map<String, Value> = selected_nodes(shared, nodes)
        .into_iter()
        .map(|(ordinal, name)| {
            let ip = address(ordinal);
            let own: Vec<_> = copies.iter().filter(|copy| copy.node == ordinal).copied().collect();
            let indices = sections(&own, super::stats::breakdown(request));
            let mut node = json!({
                "timestamp": shared.cluster.now(),
                "name": name,
                "transport_address": format!("inet[/{ip}:9300]"),
                "host": name,
                "ip": [format!("inet[/{ip}:9300]"), "NONE"],
            });
            if wants("indices") {
                node["indices"] = super::stats::selected_sections(indices, metrics.get(1).copied());
            }
            for (metric, value) in node_stats(shared) {
                if wants(metric) {
                    node[metric] = value;
                }
            }
            (id_of(ordinal), node)
        })
        .collect();
    let mut response = json!({"cluster_name": shared.cluster.options.cluster_name, "nodes": by_node});
    if request.flag("human") {
        human::add_texts(&mut response);
    }
    Answer::ok(response)
}

/// `GET /_nodes[/nodes]/hot_threads`: no threads are reported.
pub(crate) fn hot_threads(shared: &Shared, nodes: Option<&str>) -> Answer {
    Answer::text(
        selected_nodes(shared, nodes)
            .into_iter()
            .map(|(ordinal, name)| {
                format!(
                    "::: [{name}][{}][{name}][inet[/{}:9300]]\n\n",
                    id_of(ordinal),
                    address(ordinal)
                )
            })
            .collect(),
    )
}

/// `GET /_cluster/pending_tasks`: always empty.
pub(crate) fn pending_tasks(shared: &Shared, request: &RestRequest) -> Result<Answer> {
    request.check_duration("master_timeout")?;
    shared.cluster.check_blocks(&[], Block::Metadata)?;
    Ok(Answer::ok(json!({"tasks": []})))
}

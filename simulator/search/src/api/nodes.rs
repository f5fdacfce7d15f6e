//! `_nodes`: the nodes that the cluster is said to have.

use serde_json::{Map, Value, json};

use super::cluster::{BUILD, VERSION};
use crate::error::Result;
use crate::rest::{Answer, RestRequest, Shared};

/// The id of a node by its place among the nodes.
pub(crate) fn id_of(place: u32) -> String {
    crate::ids::text_id(0x5d0c_8b1a_94e3_77f2_u128 << 64 | u128::from(place + 1) << 32 | 0x2f)
}

/// The transport address of a node by its place.
pub(crate) fn address(place: u32) -> String {
    format!("10.244.{}.{}", place / 200, place % 200 + 3)
}

fn each(shared: &Shared) -> impl Iterator<Item = (u32, &String)> {
    (0u32..).zip(&shared.cluster.options.nodes)
}

/// The nodes with their names and addresses, as states and shard lists show them.
pub(crate) fn addresses(shared: &Shared) -> Value {
    each(shared)
        .map(|(place, name)| {
            (
                id_of(place),
                json!({"name": name, "transport_address": format!("inet[/{}:9300]", address(place)), "attributes": {}}),
            )
        })
        .collect::<Map<_, _>>()
        .into()
}

fn picked(shared: &Shared, wanted: Option<&str>) -> Vec<(u32, String)> {
    let fits = |place: u32, name: &str| {
        wanted.is_none_or(|wanted| {
            wanted.split(',').any(|wanted| match wanted {
                "_all" => true,
                "_local" | "_master" => place == 0,
                wanted => crate::pattern::matches(wanted, name) || wanted == id_of(place) || wanted == address(place),
            })
        })
    };
    each(shared)
        .filter(|(place, name)| fits(*place, name))
        .map(|(place, name)| (place, name.clone()))
        .collect()
}

/// `GET /_nodes[/nodes][/metrics]`.
pub(crate) fn info(shared: &Shared, nodes: Option<&str>, metrics: Option<&str>) -> Answer {
    let metrics: Vec<&str> = metrics.map(|metrics| metrics.split(',').collect()).unwrap_or_default();
    let wants = |metric: &str| metrics.is_empty() || metrics.contains(&"_all") || metrics.contains(&metric);
    let shown: Map<String, Value> = picked(shared, nodes)
        .into_iter()
        .map(|(place, name)| {
            let ip = address(place);
            let mut node = json!({
                "name": name,
                "transport_address": format!("inet[/{ip}:9300]"),
                "host": name,
                "ip": ip,
                "version": VERSION,
                "build": &BUILD[..7],
                "http_address": format!("inet[/{ip}:9200]"),
                "attributes": {"master": "true"},
            });
            let sections = [
                ("settings", json!({"cluster": {"name": shared.cluster.options.cluster_name}, "node": {"master": "true", "data": "true"}, "name": name})),
                ("os", json!({"refresh_interval_in_millis": 1000, "available_processors": 2})),
                ("process", json!({"refresh_interval_in_millis": 1000, "id": 1, "max_file_descriptors": 65535, "mlockall": false})),
                ("jvm", json!({"pid": 1, "version": "1.7.0_79", "vm_name": "OpenJDK 64-Bit Server VM", "start_time_in_millis": shared.cluster.now()})),
                ("thread_pool", json!({"search": {"type": "fixed", "min": 4, "max": 4, "queue_size": "1k"}, "index": {"type": "fixed", "min": 2, "max": 2, "queue_size": "200"}, "bulk": {"type": "fixed", "min": 2, "max": 2, "queue_size": "50"}})),
                ("network", json!({"refresh_interval_in_millis": 5000, "primary_interface": {"address": ip, "name": "eth0"}})),
                ("transport", json!({"bound_address": "inet[/0:0:0:0:0:0:0:0:9300]", "publish_address": format!("inet[/{ip}:9300]"), "profiles": {}})),
                ("http", json!({"bound_address": "inet[/0:0:0:0:0:0:0:0:9200]", "publish_address": format!("inet[/{ip}:9200]"), "max_content_length_in_bytes": shared.cluster.options.limits.body})),
                ("plugins", json!([])),
            ];
            for (metric, value) in sections {
                if wants(metric) {
                    node[metric] = value;
                }
            }
            (id_of(place), node)
        })
        .collect();
    Answer::ok(json!({"cluster_name": shared.cluster.options.cluster_name, "nodes": shown}))
}

/// `GET /_nodes[/nodes]/stats`: the first node has everything.
pub(crate) fn stats(shared: &Shared, nodes: Option<&str>) -> Answer {
    let all = shared.cluster.indices();
    let shown: Map<String, Value> = picked(shared, nodes)
        .into_iter()
        .map(|(place, name)| {
            let ip = address(place);
            let indices = if place == 0 {
                super::stats::sections(&all)
            } else {
                super::stats::sections(&[])
            };
            let node = json!({
                "timestamp": shared.cluster.now(),
                "name": name,
                "transport_address": format!("inet[/{ip}:9300]"),
                "host": name,
                "ip": [format!("inet[/{ip}:9300]"), "NONE"],
                "attributes": {"master": "true"},
                "indices": indices,
            });
            (id_of(place), node)
        })
        .collect();
    Answer::ok(json!({"cluster_name": shared.cluster.options.cluster_name, "nodes": shown}))
}

/// `GET /_nodes[/nodes]/hot_threads`: there is nothing to tell.
pub(crate) fn hot_threads(shared: &Shared, nodes: Option<&str>) -> Answer {
    Answer::text(
        picked(shared, nodes)
            .into_iter()
            .map(|(place, name)| {
                format!(
                    "::: [{name}][{}][{name}][inet[/{}:9300]]\n\n",
                    id_of(place),
                    address(place)
                )
            })
            .collect(),
    )
}

/// `GET /_cluster/pending_tasks`: there never are any.
pub(crate) fn pending_tasks(_request: &RestRequest) -> Result<Answer> {
    Ok(Answer::ok(json!({"tasks": []})))
}

//! The settings of the cluster.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cluster::{Block, Rule, only_read_only, rule_of};
use crate::error::{Result, SearchError};
use crate::json::{self, leaves};
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// The dynamic settings. Values that their rules do not have are ignored.
const DYNAMIC: [(&str, Rule); 59] = [
    ("action.destructive_requires_name", Rule::Any),
    ("cluster.blocks.read_only", Rule::Any),
    ("cluster.info.update.interval", Rule::Duration),
    ("cluster.info.update.timeout", Rule::Duration),
    ("cluster.routing.allocation.allow_rebalance", Rule::Rebalance),
    ("cluster.routing.allocation.awareness.attributes", Rule::Any),
    ("cluster.routing.allocation.awareness.force.*", Rule::Any),
    ("cluster.routing.allocation.balance.index", Rule::Number),
    ("cluster.routing.allocation.balance.primary", Rule::Number),
    ("cluster.routing.allocation.balance.shard", Rule::Number),
    ("cluster.routing.allocation.balance.threshold", Rule::Ratio),
    ("cluster.routing.allocation.cluster_concurrent_rebalance", Rule::Integer),
    ("cluster.routing.allocation.disable_allocation", Rule::Any),
    ("cluster.routing.allocation.disable_new_allocation", Rule::Any),
    ("cluster.routing.allocation.disable_replica_allocation", Rule::Any),
    ("cluster.routing.allocation.disk.include_relocations", Rule::Flag),
    ("cluster.routing.allocation.disk.reroute_interval", Rule::Duration),
    ("cluster.routing.allocation.disk.threshold_enabled", Rule::Flag),
    ("cluster.routing.allocation.disk.watermark.high", Rule::Any),
    ("cluster.routing.allocation.disk.watermark.low", Rule::Any),
    ("cluster.routing.allocation.enable", Rule::Any),
    ("cluster.routing.allocation.exclude.*", Rule::Any),
    ("cluster.routing.allocation.include.*", Rule::Any),
    ("cluster.routing.allocation.node_concurrent_recoveries", Rule::Integer),
    (
        "cluster.routing.allocation.node_initial_primaries_recoveries",
        Rule::Integer,
    ),
    ("cluster.routing.allocation.require.*", Rule::Any),
    ("cluster.routing.allocation.snapshot.relocation_enabled", Rule::Any),
    ("discovery.zen.minimum_master_nodes", Rule::Nodes),
    ("discovery.zen.no_master_block", Rule::Any),
    ("discovery.zen.publish_timeout", Rule::Duration),
    ("discovery.zen.rejoin_on_master_gone", Rule::Flag),
    ("indices.breaker.fielddata.limit", Rule::Memory),
    ("indices.breaker.fielddata.overhead", Rule::Ratio),
    ("indices.breaker.request.limit", Rule::Memory),
    ("indices.breaker.request.overhead", Rule::Ratio),
    ("indices.breaker.total.limit", Rule::Memory),
    ("indices.cache.filter.expire", Rule::Time),
    ("indices.cache.filter.size", Rule::Any),
    ("indices.mapping.additional_mapping_change_time", Rule::Time),
    ("indices.recovery.compress", Rule::Any),
    ("indices.recovery.concurrent_small_file_streams", Rule::Positive),
    ("indices.recovery.concurrent_streams", Rule::Positive),
    ("indices.recovery.file_chunk_size", Rule::Bytes),
    ("indices.recovery.internal_action_long_timeout", Rule::Duration),
    ("indices.recovery.internal_action_timeout", Rule::Duration),
    ("indices.recovery.max_bytes_per_sec", Rule::Bytes),
    ("indices.recovery.max_size_per_sec", Rule::Bytes),
    ("indices.recovery.recovery_activity_timeout", Rule::Duration),
    ("indices.recovery.retry_delay_network", Rule::Duration),
    ("indices.recovery.retry_delay_state_sync", Rule::Duration),
    ("indices.recovery.translog_ops", Rule::Integer),
    ("indices.recovery.translog_size", Rule::Bytes),
    ("indices.store.throttle.max_bytes_per_sec", Rule::Bytes),
    ("indices.store.throttle.type", Rule::Any),
    ("indices.ttl.interval", Rule::Time),
    ("logger.*", Rule::Any),
    ("threadpool.*", Rule::Any),
    ("transport.tracer.exclude", Rule::Any),
    ("transport.tracer.include", Rule::Any),
];

fn show_settings(settings: &BTreeMap<String, String>, flat: bool) -> Value {
    let mut nested = json!({});
    for (name, value) in settings {
        let parts: Vec<&str> = if flat { vec![name] } else { name.split('.').collect() };
        let mut at = &mut nested;
        for part in parts {
            // If a name is both a value and a section, the section is shown.
            if !at.is_object() {
                *at = json!({});
            }
            at = &mut at[part];
        }
        *at = json!(value);
    }
    nested
}

/// `GET|PUT /_cluster/settings`.
///
/// Settings are stored and returned. Only `indices.ttl.interval` and `cluster.blocks.read_only` have an effect.
pub(crate) fn settings(shared: &Shared, request: &RestRequest) -> Result<Answer> {
    let flat = request.flag("flat_settings");
    if request.method != http::Method::PUT {
        let [persistent, transient] = &*shared.cluster.settings.read();
        return Ok(Answer::ok(json!({
            "persistent": show_settings(persistent, flat),
            "transient": show_settings(transient, flat),
        })));
    }
    request.check_timeouts()?;
    json::derivable(request.body_or_source())?;
    let body = request.json()?.unwrap_or_default();
    let given = ["transient", "persistent"]
        .into_iter()
        .filter_map(|section| body.get(section));
    let mut invalid = given.filter(|settings| !settings.is_null() && !settings.is_object());
    if let Some(other) = invalid.next() {
        return Err(json::not_a_map(other));
    }
    // A section that is null is no reason to refuse the request.
    let sections = ["persistent", "transient"].map(|section| match body.get(section) {
        None => None,
        Some(settings) => {
            let mut fresh = BTreeMap::new();
            leaves("", settings, &mut |name, text| {
                drop(fresh.insert(name.to_owned(), text))
            });
            Some(fresh).filter(|fresh| settings.is_null() || !fresh.is_empty())
        }
    });
    if sections.iter().all(Option::is_none) {
        return Err(SearchError::validation("no settings to update"));
    }
    if !only_read_only(sections.iter().flatten().flat_map(BTreeMap::keys)) {
        shared.cluster.check_blocks(&[], Block::Metadata)?;
    }
    let mut known = shared.cluster.settings.write();
    let [persistent, transient] = &mut *known;
    let mut response = json!({"acknowledged": request.acknowledged()?});
    for ((section, known), fresh) in [("persistent", persistent), ("transient", transient)]
        .into_iter()
        .zip(sections)
    {
        let mut fresh = fresh.unwrap_or_default();
        fresh.retain(|name, value| {
            let rule = rule_of(&DYNAMIC, name);
            rule.is_some_and(|rule| rule.problem(name, value, shared.cluster.nodes().count()).is_none())
        });
        response[section] = show_settings(&fresh, flat);
        known.extend(fresh);
    }
    drop(known);
    shared.cluster.metadata_changed()?;
    Ok(Answer::ok(response))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const VALUES: [&str; 20] = [
        "x",
        "5",
        "-1",
        "0",
        "1",
        "1.5",
        "-1.5",
        "10%",
        "110%",
        "10mb",
        "10m",
        "-10mb",
        "true",
        "off",
        "1s",
        "-1s",
        "1d",
        "",
        "indices_all_active",
        "1e3",
    ];

    /// The values that Elasticsearch 1.5.2 with two nodes accepts.
    #[rstest]
    #[case("cluster.routing.allocation.allow_rebalance", &["indices_all_active"])]
    #[case("indices.recovery.concurrent_streams", &["5", "1"])]
    #[case("discovery.zen.minimum_master_nodes", &["-1", "0", "1"])]
    #[case("indices.recovery.translog_ops", &["5", "-1", "0", "1"])]
    #[case("cluster.routing.allocation.disk.threshold_enabled", &["0", "1", "true", "off"])]
    #[case("cluster.info.update.interval", &["5", "0", "1", "10m", "1s", "1d"])]
    #[case("indices.ttl.interval", &["5", "-1", "0", "1", "10m", "1s", "-1s", "1d"])]
    #[case("indices.breaker.request.overhead", &["5", "0", "1", "1.5", "1d", "1e3"])]
    #[case("cluster.routing.allocation.balance.shard", &["5", "-1", "0", "1", "1.5", "-1.5", "1d", "1e3"])]
    #[case("indices.recovery.max_bytes_per_sec", &["5", "-1", "0", "1", "10mb", "10m", "-10mb"])]
    #[case("indices.breaker.total.limit", &["5", "-1", "0", "1", "10%", "10mb", "10m", "-10mb"])]
    #[case("cluster.routing.allocation.include.zone", &VALUES)]
    #[case("logger.action", &VALUES)]
    #[case("threadpool.search.size", &VALUES)]
    #[case("cluster.routing.rebalance.enable", &[])]
    #[case("cluster.name", &[])]
    #[case("index.refresh_interval", &[])]
    fn a_dynamic_setting_has_the_values_of_its_rule(#[case] name: &str, #[case] expected: &[&str]) {
        let rule = rule_of(&DYNAMIC, name);
        let is_accepted = |value: &&str| rule.is_some_and(|rule| rule.problem(name, value, 2).is_none());
        let accepted: Vec<&str> = VALUES.into_iter().filter(is_accepted).collect();
        assert_eq!(accepted, expected);
    }
}

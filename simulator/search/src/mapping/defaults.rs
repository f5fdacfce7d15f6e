//! Field mappings with all settings, including those that have their default value.
//!
//! Source: `include_defaults` of Elasticsearch 1.5's field mappings.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::kind::MAX_PRECISION_STEP;
use super::times::{TIMESTAMP, TTL};
use crate::mapping::{FieldNode, FieldType, Indexing, Kind, TypeMapping, is_on};
use crate::query::MAX_GEOHASH_LENGTH;

/// Returns a field with all of its settings. A completion field has no others than those that it always returns.
pub(crate) fn with_defaults(name: &str, node: &FieldNode) -> Value {
    let field = &node.field_type;
    if field.kind == Kind::Completion {
        return field.describe().into();
    }
    let whole = field.indexing == Indexing::NotAnalyzed;
    let text = field.kind == Kind::String;
    let mut definition = json!({
        "type": field.kind.name(),
        "index_name": name,
        "boost": 1.0,
        "index": field.indexing.name(),
        "store": false,
        "doc_values": false,
        "term_vector": "no",
        "norms": {"enabled": field.kind == Kind::Binary || text && !whole},
        "index_options": if field.kind == Kind::Binary || text && !whole { "positions" } else { "docs" },
        "postings_format": "default",
        "doc_values_format": "default",
        "similarity": "default",
        "fielddata": {},
    });
    let mut add = |settings: Value| {
        if let (Value::Object(definition), Value::Object(settings)) = (&mut definition, settings) {
            definition.extend(settings);
        }
    };
    if let (Some((kind, _)), Some(step)) = (field.kind.precision(), field.precision_step()) {
        let search_analyzer = format!("_{kind}/max");
        // Both analyzers are the same object, except those of small numbers and addresses.
        let is_same = step == MAX_PRECISION_STEP && !matches!(field.kind, Kind::Short | Kind::Byte | Kind::Ip);
        add(match is_same {
            true => json!({"analyzer": search_analyzer}),
            false => json!({"index_analyzer": format!("_{kind}/{step}"), "search_analyzer": search_analyzer}),
        });
        add(json!({
            "ignore_malformed": false,
            "coerce": true,
            "precision_step": step,
            "include_in_all": false,
        }));
        if field.kind == Kind::Date {
            add(json!({"numeric_resolution": "milliseconds", "locale": ""}));
        }
    } else {
        let default = if whole { "_keyword" } else { "default" };
        if whole || field.analyzer == field.search_analyzer {
            let analyzer = field.analyzer.as_deref().filter(|_| !whole).unwrap_or(default);
            add(json!({"analyzer": analyzer}));
        }
        match field.kind {
            Kind::GeoPoint => add(point_defaults(field)),
            Kind::Binary => add(json!({"compress": false, "compress_threshold": -1})),
            _ => {}
        }
        if text {
            add(json!({
                "include_in_all": false,
                "position_offset_gap": 0,
                "search_quote_analyzer": field.quote_analyzer.as_deref().unwrap_or(default),
                "ignore_above": -1,
            }));
        }
    }
    if !matches!(field.kind, Kind::Binary | Kind::GeoPoint) {
        add(json!({"null_value": null}));
    }
    let mut own = field.describe();
    if let Some(Value::Object(norms)) = own.get_mut("norms") {
        norms.entry("enabled").or_insert(json!(text && !whole));
    }
    add(own.into());
    let fields: BTreeMap<&String, &FieldNode> = node.own_fields().collect();
    if !fields.is_empty() {
        let fields = fields.into_iter();
        let fields: Map<String, Value> = fields
            .map(|(name, node)| (name.clone(), with_defaults(name, node)))
            .collect();
        add(json!({"fields": fields}));
    }
    definition
}

/// The settings of points with their defaults. Those of both coordinates are shown as one if both are set.
fn point_defaults(field: &FieldType) -> Value {
    let mut defaults = json!({
        "path": "full",
        "lat_lon": false,
        "geohash": false,
        "geohash_prefix": false,
        "geohash_precision": MAX_GEOHASH_LENGTH,
        "precision_step": null,
    });
    for name in ["validate", "normalize"] {
        let parts = ["lat", "lon"].map(|part| format!("{name}_{part}"));
        let is_set = |key: &str| field.setting(key).is_none_or(is_on);
        if parts.iter().all(|part| is_set(part)) && is_set(name) {
            defaults[name] = json!(true);
        } else {
            for part in parts {
                defaults[&part] = json!(is_set(&part) && is_set(name));
            }
        }
    }
    defaults
}

/// Returns the metadata fields of a type, with all of their settings.
pub(crate) fn metadata_fields(mapping: &TypeMapping) -> Map<String, Value> {
    let formats = json!({"postings_format": "default", "doc_values_format": "default", "fielddata": {}});
    let mut id = json!({"store": false, "index": "no", "path": null});
    if let (Value::Object(id), Value::Object(formats)) = (&mut id, &formats) {
        id.extend(formats.clone());
    }
    let fields = json!({
        "_routing": {"index": "not_analyzed", "store": true, "required": false, "path": null},
        TTL: mapping.times.ttl.with_defaults(),
        "_index": {"store": false, "enabled": false, "fielddata": {}},
        "_type": {"store": false, "index": "not_analyzed"},
        "_all": {
            "enabled": mapping.all_enabled,
            "auto_boost": false,
            "store": false,
            "store_term_vectors": false,
            "store_term_vector_offsets": false,
            "store_term_vector_positions": false,
            "store_term_vector_payloads": false,
            "omit_norms": false,
            "analyzer": "default",
            "similarity": "default",
            "fielddata": {},
        },
        "_size": {"enabled": false, "store": false},
        "_boost": {"name": "_boost", "null_value": null, "index": "no", "store": false, "fielddata": {}},
        "_parent": null,
        "_field_names": {
            "enabled": true,
            "type": "_field_names",
            "index_name": "_field_names",
            "boost": 1.0,
            "index": "not_analyzed",
            "store": false,
            "doc_values": false,
            "term_vector": "no",
            "norms": {"enabled": false},
            "index_options": "docs",
            "analyzer": "_keyword",
            "postings_format": "default",
            "doc_values_format": "default",
            "similarity": "default",
            "fielddata": {},
        },
        "_source": {
            "enabled": true,
            "format": null,
            "compress": false,
            "compress_threshold": -1,
            "includes": [],
            "excludes": [],
        },
        "_id": id,
        TIMESTAMP: mapping.times.timestamp.with_defaults(),
        "_version": {"doc_values_format": "default"},
        "_uid": formats,
    });
    let Value::Object(mut fields) = fields else {
        return Map::new();
    };
    for (name, settings) in &mut fields {
        if let Some(own) = mapping.metadata(name) {
            match (settings, own) {
                (Value::Object(settings), Value::Object(own)) => settings.extend(own.clone()),
                (settings, own) => *settings = own.clone(),
            }
        }
    }
    if let Some(Value::Object(parent)) = fields.get_mut("_parent") {
        parent.insert("fielddata".to_owned(), json!({"loading": "eager"}));
    }
    fields
}

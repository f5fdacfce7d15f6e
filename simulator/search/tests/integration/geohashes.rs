//! Geohash cells, and sub-fields of geo points.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, ask, index_of};

/// Three points: in Berlin, a few kilometres east of it, and in Paris.
async fn places() -> Backend {
    let properties = json!({
        "p": {"type": "geo_point", "geohash_prefix": true, "geohash_precision": 8, "lat_lon": true},
        "bare": {"type": "geo_point"},
        "n": {"type": "long"},
    });
    let backend = index_of("i", "d", properties).await;
    for (id, place) in [
        ("1", json!("52.5,13.4")),
        ("2", json!([13.42, 52.5])),
        ("3", json!("u09tvw0")),
    ] {
        ask(&backend, "PUT", &format!("/i/d/{id}?refresh"), json!({"p": place})).await;
    }
    backend
}

#[rstest]
#[case(json!({"geohash_cell": {"p": "u33d8b", "precision": 5}}), &["1"])]
#[case(json!({"geohash_cell": {"p": "u33d8", "neighbors": true}}), &["1", "2"])]
#[case(json!({"geohash_cell": {"p": {"lat": 52.5, "lon": 13.4}, "precision": "5km"}}), &["1"])]
#[case(json!({"geohash_cell": {"p": "52.5,13.4", "precision": 2}}), &["1", "2"])]
#[case(json!({"geohash_cell": {"p": "52.5,13.4"}}), &[])]
#[case(json!({"geohash_cell": {"p": {"geohash": "u09"}, "precision": 3}}), &["3"])]
#[case(json!({"term": {"p.geohash": "u09tvw0"}}), &["3"])]
#[case(json!({"prefix": {"p.geohash": "u33d"}}), &["1", "2"])]
#[case(json!({"range": {"p.lon": {"gte": 13.41}}}), &["2"])]
#[case(json!({"range": {"p.lat": {"lt": 50}}}), &["3"])]
#[tokio::test]
async fn a_cell_matches_the_points_with_its_prefix(#[case] filter: Value, #[case] expected: &[&str]) {
    let body = json!({"query": {"filtered": {"filter": filter}}, "sort": "_uid"});
    assert_eq!(places().await.ids("/i/_search", &body).await, expected);
}

#[rstest]
#[case(json!({"neighbors": true}), "QueryParsingException[[i] no geohash value provided to geohash_cell filter]")]
#[case(json!(["u33"]), "ElasticsearchParseException[geohash_cell must be an object]")]
#[case(json!({"z": "u33"}), "QueryParsingException[[i] failed to find geo_point field [z]]")]
#[case(json!({"n": "u33"}), "QueryParsingException[[i] field [n] is not a geo_point field]")]
#[case(
    json!({"bare": "u33"}),
    "QueryParsingException[[i] can't execute geohash_cell on field [bare], geohash_prefix is not enabled]"
)]
#[tokio::test]
async fn a_cell_needs_a_point_and_a_field_with_prefixes(#[case] filter: Value, #[case] reason: &str) {
    let body = json!({"query": {"filtered": {"filter": {"geohash_cell": filter}}}});
    let answer = places().await.send_json("POST", "/i/_search", &body).await;
    answer.expect_error(400, reason);
}

#[tokio::test]
async fn sub_fields_of_a_point_are_not_in_its_mapping() {
    let backend = places().await;
    let shown = ask(&backend, "GET", "/i/_mapping", Value::Null).await;
    let point = &shown["i"]["mappings"]["d"]["properties"]["p"];
    assert!(point.get("fields").is_none(), "{point}");
    let body = json!({"query": {"filtered": {"filter": {"geohash_cell": {"p": "u33d8", "neighbors": true}}}}});
    let explained = ask(&backend, "POST", "/i/_validate/query?explain", body).await;
    let text = explained["explanations"][0]["explanation"].as_str().unwrap();
    assert!(text.contains("p.geohash:u33d8 p.geohash:u33d9"), "{text}");
}

#[rstest]
#[case(13)]
#[case(0)]
#[case(-1)]
#[tokio::test]
async fn a_grid_with_an_invalid_precision_fails_if_there_are_points(#[case] precision: i64) {
    let backend = places().await;
    let grid = |field: &str| json!({"aggs": {"a": {"geohash_grid": {"field": field, "precision": precision}}}});
    let answer = backend.send_json("POST", "/i/_search", &grid("p")).await;
    let reason = format!(
        "Query Failed [Failed to execute main query]]; nested: ElasticsearchIllegalArgumentException[Illegal precision \
         length of {precision}. Long-based geohashes only support precisions between 1 and 12]; "
    );
    answer.expect_error(500, &reason);
    let none = ask(&backend, "POST", "/i/_search", grid("bare")).await;
    assert_eq!(none["aggregations"]["a"], json!({"buckets": []}));
}

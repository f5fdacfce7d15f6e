//! Facets and suggestions of a search, and their errors per shard.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, ask, index_of};

/// Three shops at distances of 0, 1 and 10 degrees from 10,10.
async fn town() -> Backend {
    let properties = json!({
        "rank": {"type": "long"}, "at": {"type": "geo_point"}, "opened": {"type": "date"}, "name": {"type": "string"},
    });
    let backend = index_of("town", "shop", properties).await;
    for (id, at, opened) in [
        (1, "10,10", "2015-06-22T10:00:00Z"),
        (2, "11,10", "2015-06-22T12:00:00Z"),
        (3, "20,10", "2015-06-23T10:00:00Z"),
    ] {
        let shop = json!({"rank": id, "at": at, "opened": opened, "name": "tea"});
        ask(&backend, "PUT", &format!("/town/shop/{id}?refresh"), shop).await;
    }
    backend
}

/// Computes a facet over all shops.
async fn facet(facet: Value) -> Value {
    let backend = town().await;
    let body = json!({"size": 0, "facets": {"f": facet}});
    ask(&backend, "POST", "/town/_search", body).await["facets"]["f"].clone()
}

#[tokio::test]
async fn a_geo_distance_facet_counts_documents_by_distance() {
    let found = facet(
        json!({"geo_distance": {"at": "10,10", "unit": "km", "ranges": [{"to": 200}, {"from": 200}, {"from": 5000}]}}),
    )
    .await;
    assert_eq!(found["_type"], "geo_distance");
    let ranges = found["ranges"].as_array().unwrap();
    let counts: Vec<&Value> = ranges.iter().map(|range| &range["count"]).collect();
    assert_eq!(counts, [2, 1, 0], "{found}");
    // From 10 to 11 degrees north, as Elasticsearch 1.5.2 returns it.
    let degree = 111.307_302;
    let near = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 0.01;
    assert!(
        near(&ranges[0]["max"], degree) && near(&ranges[0]["mean"], degree / 2.0),
        "{found}"
    );
    assert!(near(&ranges[1]["total"], 1_112.946_130), "{found}");
    assert_eq!(
        (&ranges[0]["to"], &ranges[2]["min"]),
        (&json!(200.0), &json!("Infinity"))
    );

    let settings = json!({"at": {"lat": 10, "lon": 10}, "unit": "mi", "value_field": "rank", "ranges": [{"to": 100}]});
    let found = facet(json!({"geo_distance": settings})).await;
    let expected =
        json!({"to": 100.0, "count": 2, "min": 1.0, "max": 2.0, "total": 3.0, "total_count": 2, "mean": 1.5});
    assert_eq!(found["ranges"], json!([expected]));
}

#[tokio::test]
async fn a_histogram_facet_of_dates_has_a_time_interval() {
    let found = facet(json!({"histogram": {"field": "opened", "time_interval": "1d"}})).await;
    let expected = json!([{"key": 1_434_931_200_000_u64, "count": 2}, {"key": 1_435_017_600_000_u64, "count": 1}]);
    assert_eq!(found["entries"], expected);
}

#[tokio::test]
async fn histograms_and_terms_can_be_ordered_by_their_numbers() {
    let found = facet(json!({"date_histogram": {"field": "opened", "interval": "day", "order": "count"}})).await;
    assert_eq!(found["entries"][0]["count"], 1);
    let found = facet(json!({"terms_stats": {"key_field": "rank", "value_field": "rank", "order": "min"}})).await;
    assert_eq!(found["terms"][0]["term"], 1);
    let found = facet(json!({"terms_stats": {"key_field": "rank", "value_field": "rank", "order": "total"}})).await;
    assert_eq!(found["terms"][0]["term"], 3);
}

#[tokio::test]
async fn a_range_of_dates_is_said_in_texts() {
    let found = facet(json!({"range": {"opened": [{"from": "2015-06-23"}]}})).await;
    assert_eq!(found["ranges"][0]["from"], json!(1_435_017_600_000.0));
    assert_eq!(found["ranges"][0]["from_str"], "2015-06-23");
    assert_eq!(found["ranges"][0]["count"], 1);
}

#[tokio::test]
async fn a_pattern_of_terms_has_flags() {
    let found = facet(json!({"terms": {"field": "name", "regex": "T.A", "regex_flags": "CASE_INSENSITIVE"}})).await;
    assert_eq!(found["terms"], json!([{"term": "tea", "count": 3}]));
}

const CAST: &str = "org.elasticsearch.index.fielddata.plain.PagedBytesIndexFieldData cannot be cast to \
                    org.elasticsearch.index.fielddata.IndexNumericFieldData";

#[rstest]
#[case(
    json!({"facets": {"f": {"odd": {}}}}),
    "SearchParseException[[town][0]: from[-1],size[-1]: Parse Failure [No facet type found for [odd]]]"
)]
#[case(
    json!({"facets": {"f": {"geo_distance": {"at": "1,2"}}}}),
    "FacetPhaseExecutionException[Facet [f]: no ranges defined for geo_distance facet]"
)]
#[case(
    json!({"facets": {"f": {"geo_distance": {"odd": "1,2", "ranges": [{"to": 1}]}}}}),
    "FacetPhaseExecutionException[Facet [f]: failed to find mapping for [odd]]"
)]
#[case(
    json!({"facets": {"f": {"histogram": {"field": "rank"}}}}),
    "FacetPhaseExecutionException[Facet [f]: [interval] is required to be set for histogram facet]"
)]
#[case(
    json!({"facets": {"f": {"histogram": {"interval": 5}}}}),
    "FacetPhaseExecutionException[Facet [f]: key field is required to be set for histogram facet, either using \
     [field] or using [key_field]]"
)]
#[case(json!({"facets": {"f": {"histogram": {"field": "name", "interval": 5}}}}), CAST)]
#[case(
    json!({"facets": {"f": {"statistical": {"field": "name"}}}}),
    "FacetPhaseExecutionException[Facet [f]: field [name] isn't a number field, but a string]"
)]
#[case(
    json!({"facets": {"f": {"statistical": {}}}}),
    "FacetPhaseExecutionException[Facet [f]: statistical facet requires either [script] or [field] to be set]"
)]
#[case(
    json!({"facets": {"f": {"terms": {}}}}),
    "ElasticsearchParseException[terms facet [f] must have a field, fields or script parameter]"
)]
#[case(
    json!({"facets": {"f": {"terms": {"field": "name", "odd": 1}}}}),
    "ElasticsearchParseException[unknown parameter [odd] while parsing terms facet [f]]"
)]
#[case(
    json!({"facets": {"f": {"terms": {"field": "name", "order": "odd"}}}}),
    "ElasticsearchIllegalArgumentException[No type argument match for terms facet comparator [odd]]"
)]
#[case(
    json!({"facets": {"f": {"terms_stats": {"key_field": "name"}}}}),
    "FacetPhaseExecutionException[Facet [f]: either [value_field] or [script] are required to be set for terms stats \
     facet]"
)]
#[case(
    json!({"facets": {"f": {"terms_stats": {"key_field": "odd", "value_field": "rank"}}}}),
    "FacetPhaseExecutionException[Facet [f]: failed to find mapping for odd]"
)]
#[case(
    json!({"facets": {"f": {"range": {"field": "rank"}}}}),
    "FacetPhaseExecutionException[Facet [f]: no ranges defined for range facet]"
)]
#[case(
    json!({"facets": {"f": {"range": {"odd": [{"to": 1}]}}}}),
    "FacetPhaseExecutionException[Facet [f]: No mapping found for key_field [odd]]"
)]
#[case(
    json!({"facets": {"f": {"date_histogram": {"field": "opened", "interval": "odd"}}}}),
    "ElasticsearchParseException[Failed to parse [odd]]; nested: NumberFormatException[For input string: \"od\"]; "
)]
#[case(
    json!({"facets": {"f": {"filter": {"odd": {}}}}}),
    "QueryParsingException[[town] No filter registered for [odd]]"
)]
#[case(
    json!({"suggest": {"s": {"text": "a", "odd": {}}}}),
    "ElasticsearchIllegalArgumentException[Suggester[odd] not supported]"
)]
#[case(
    json!({"suggest": {"s": {"text": "a", "term": {}}}}),
    "ElasticsearchIllegalArgumentException[The required field option is missing]"
)]
#[tokio::test]
async fn invalid_facets_and_suggestions_fail_the_shard(#[case] body: Value, #[case] reason: &str) {
    let backend = town().await;
    let answer = backend.post("/town/_search", &body.to_string()).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    let error = answer.body["error"].as_str().unwrap();
    assert!(
        error.starts_with("SearchPhaseExecutionException[") && error.contains("]; nested: "),
        "{error}"
    );
    assert!(error.contains(reason), "{error}");
}

//! Range and geo aggregations.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, ask, index_of};

async fn addresses() -> Backend {
    let properties =
        json!({"ip": {"type": "ip"}, "n": {"type": "long"}, "f": {"type": "float"}, "s": {"type": "string"}});
    let backend = index_of("i", "d", properties).await;
    for (id, address) in ["10.0.0.1", "10.0.1.7", "200.0.0.1"].iter().enumerate() {
        let document = json!({"ip": address, "n": id, "f": id, "s": "x"});
        ask(&backend, "PUT", &format!("/i/d/{id}?refresh"), document).await;
    }
    backend
}

#[rstest]
#[case(
    "10.0.0.9/24",
    json!({
        "from": 167772160.0,
        "from_as_string": "10.0.0.0",
        "to": 167772416.0,
        "to_as_string": "10.0.1.0",
        "doc_count": 1
    })
)]
#[case(
    "10.0.0.1/32",
    json!({
        "from": 167772161.0,
        "from_as_string": "10.0.0.1",
        "to": 167772162.0,
        "to_as_string": "10.0.0.2",
        "doc_count": 1
    })
)]
#[case("10.0.0.0/1", json!({"to": 2147483648.0, "to_as_string": "128.0.0.0", "doc_count": 2}))]
#[case("200.0.0.0/1", json!({"from": 2147483648.0, "from_as_string": "128.0.0.0", "doc_count": 1}))]
#[tokio::test]
async fn a_cidr_mask_is_a_range_of_addresses(#[case] mask: &str, #[case] expected: Value) {
    let body = json!({"aggs": {"a": {"ip_range": {"field": "ip", "keyed": true, "ranges": [{"mask": mask}]}}}});
    let found = ask(&addresses().await, "POST", "/i/_search", body).await;
    assert_eq!(found["aggregations"]["a"]["buckets"][mask], expected);
}

#[rstest]
#[case(
    json!({"ip_range": {"field": "ip", "ranges": [{"mask": "10.0.0.0"}]}}),
    400,
    "nested: SearchParseException[[i][0]: from[-1],size[-1]: Parse Failure [invalid CIDR mask [10.0.0.0] in \
     aggregation [a]]]; "
)]
#[case(
    json!({"ip_range": {"field": "ip", "ranges": [{"mask": "10.0.0/24"}]}}),
    400,
    "Parse Failure [invalid CIDR mask [10.0.0/24] in aggregation [a]]]; "
)]
#[case(
    json!({"ip_range": {"field": "ip", "ranges": [{"to": "x"}]}}),
    400,
    "ElasticsearchIllegalArgumentException[failed to parse ip [x], not a valid ip address]"
)]
#[case(json!({"range": {"field": "n", "ranges": []}}), 500, "ArrayIndexOutOfBoundsException[")]
#[case(
    json!({"ip_range": {"field": "n", "ranges": [{"to": "10.0.0.1"}]}}),
    500,
    "NumberFormatException[multiple points]"
)]
#[case(
    json!({"date_histogram": {"field": "n", "interval": "0s"}}),
    400,
    "ElasticsearchIllegalArgumentException[Zero or negative time interval not supported]"
)]
#[case(
    json!({"histogram": {"field": "n", "interval": 1, "order": {"m.x": "asc"}}}),
    400,
    "ElasticsearchIllegalArgumentException[Invalid order path [m.x]. Cannot find aggregation named [m]]"
)]
#[case(
    json!({"range": {"field": "n", "ranges": [{"to": "x"}]}}),
    500,
    "NumberFormatException[For input string: \"x\"]"
)]
#[case(
    json!({"date_histogram": {"field": "n", "interval": "1x"}}),
    400,
    "ElasticsearchParseException[Failed to parse [1x]]; nested: NumberFormatException[For input string: \"1x\"]; "
)]
#[case(
    json!({"geo_bounds": {"field": "n"}}),
    500,
    "ClassCastException[org.elasticsearch.index.fielddata.plain.PackedArrayIndexFieldData cannot be cast to \
     org.elasticsearch.index.fielddata.IndexGeoPointFieldData]"
)]
#[case(
    json!({"geohash_grid": {"field": "s"}}),
    500,
    "ClassCastException[org.elasticsearch.index.fielddata.plain.PagedBytesIndexFieldData cannot be cast to \
     org.elasticsearch.index.fielddata.IndexGeoPointFieldData]"
)]
#[case(
    json!({"geohash_grid": {"field": "f"}}),
    500,
    "ClassCastException[org.elasticsearch.index.fielddata.plain.FloatArrayIndexFieldData cannot be cast to \
     org.elasticsearch.index.fielddata.IndexGeoPointFieldData]"
)]
#[tokio::test]
async fn invalid_aggregations_fail(#[case] aggregation: Value, #[case] status: u16, #[case] reason: &str) {
    let body = json!({"aggs": {"a": aggregation}});
    let answer = addresses().await.send_json("POST", "/i/_search", &body).await;
    answer.expect_error(status, reason);
}

#[tokio::test]
async fn buckets_of_no_ranges_of_no_field_are_none() {
    let body = json!({"aggs": {"a": {"range": {"field": "nope", "ranges": []}}}});
    let found = ask(&addresses().await, "POST", "/i/_search", body).await;
    assert!(found["aggregations"]["a"]["buckets"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn the_addresses_of_a_field_that_no_index_has_are_addresses() {
    let body = json!({"aggs": {"a": {"ip_range": {"field": "nope", "ranges": [{"to": "10.0.1.0"}]}}}});
    let found = ask(&addresses().await, "POST", "/i/_search", body).await;
    let expected = json!([{"key": "*-10.0.1.0", "to": 167772416.0, "to_as_string": "10.0.1.0", "doc_count": 0}]);
    assert_eq!(found["aggregations"]["a"]["buckets"], expected);
}

#[tokio::test]
async fn a_histogram_of_numbers_can_be_moved() {
    let body = json!({"aggs": {"a": {"histogram": {"field": "n", "interval": 2, "pre_offset": 1, "post_offset": -1}}}});
    let found = ask(&addresses().await, "POST", "/i/_search", body).await;
    let expected = json!([{"key": -1, "doc_count": 1}, {"key": 1, "doc_count": 2}]);
    assert_eq!(found["aggregations"]["a"]["buckets"], expected);
}

#[tokio::test]
async fn extended_statistics_are_shown_as_texts_too() {
    let body = json!({"aggs": {"a": {"extended_stats": {"field": "n", "format": "0.0"}}}});
    let found = ask(&addresses().await, "POST", "/i/_search", body).await;
    let found = &found["aggregations"]["a"];
    assert_eq!(found["sum_of_squares_as_string"], "5.0");
    assert_eq!(found["std_deviation_bounds_as_string"]["upper"], "2.6");
}

#[tokio::test]
async fn no_aggregations_are_not_shown() {
    let found = ask(&addresses().await, "POST", "/i/_search", json!({"aggs": {}})).await;
    assert!(found.get("aggregations").is_none());
}

//! Explanations of scores, text forms of queries and filters, and documents that a function cannot score.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, ask};

/// Three shops, one of them without a rank, and one visit, a child of a shop.
async fn shops() -> Backend {
    let backend = Backend::new();
    let mapping = json!({"mappings": {
        "shop": {"properties": {
            "kind": {"type": "string", "index": "not_analyzed"},
            "rank": {"type": "integer"},
            "staff": {"type": "nested", "properties": {"name": {"type": "string"}}},
        }},
        "visit": {"_parent": {"type": "shop"}},
    }});
    ask(&backend, "PUT", "/town", mapping).await;
    for (id, shop) in [
        (
            "1",
            json!({"kind": "tea", "rank": 4, "staff": [{"name": "ann"}, {"name": "bob"}]}),
        ),
        ("2", json!({"kind": "tea", "rank": 9})),
        ("3", json!({"kind": "bread"})),
    ] {
        ask(&backend, "PUT", &format!("/town/shop/{id}"), shop).await;
    }
    ask(&backend, "PUT", "/town/visit/v?parent=1&refresh", json!({"at": "noon"})).await;
    backend
}

/// Flattens an explanation to its values and descriptions, the root first.
fn flat(explanation: &Value) -> Vec<String> {
    let own = format!(
        "{} {}",
        explanation["value"],
        explanation["description"].as_str().unwrap()
    );
    let details = explanation["details"].as_array().into_iter().flatten();
    std::iter::once(own).chain(details.flat_map(flat)).collect()
}

const ALL: [&str; 3] = ["1.0 ConstantScore(*:*), product of:", "1.0 boost", "1.0 queryNorm"];

#[rstest]
#[case(
    json!({
        "function_score": {
            "field_value_factor": {"field": "rank", "factor": 2, "modifier": "square"},
            "filter": {"term": {"_id": "1"}},
        }
    }),
    &[
        "64.0 function score, product of:",
        "1.0 ConstantScore(cache(_uid:shop#1)), product of:", "1.0 boost", "1.0 queryNorm",
        "64.0 Math.min of", "64.0 field value function: square(doc['rank'].value * \
         factor=2.0)", "3.4028235e+38 maxBoost",
        "1.0 queryBoost",
    ]
)]
#[case(
    json!({"function_score": {"query": {"match_all": {}}, "boost_mode": "sum", "score_mode": "sum", "max_boost": 5,
      "functions": [
        {"filter": {"term": {"kind": "tea"}}, "weight": 3},
        {"filter": {"term": {"kind": "bread"}}, "weight": 7},
        {"linear": {"rank": {"origin": 2, "scale": 2}}},
    ]}}),
    &[
        "4.5 function score, product of:", "4.5 sum of", ALL[0], ALL[1], ALL[2],
        "3.5 Math.min of", "3.5 function score, score mode [sum]",
        "3.0 function score, product of:", "1.0 match filter: cache(kind:tea)",
        "3.0 product of:", "1.0 constant score 1.0 - no function provided", "3.0 weight",
        "0.5 function score, product of:", "1.0 match filter: *:*", "0.5 Function for field rank:",
        "0.5 max(0.0, ((4.0 - MIN[Math.max(Math.abs(4.0(=doc value) - 2.0(=origin))) - 0.0(=offset), 0)])/4.0)",
        "5.0 maxBoost", "1.0 queryBoost",
    ]
)]
#[case(
    json!({"function_score": {"functions": [{"filter": {"term": {"kind": "bread"}}, "weight": 7}]}}),
    &["1.0 function score, no filter match, product of:", ALL[0], ALL[1], ALL[2], "1.0 queryBoost"]
)]
#[case(
    json!({"nested": {"path": "staff", "query": {"match_all": {}}}}),
    &["1.0 Score based on child doc range from 0 to 1"]
)]
#[case(json!({"has_child": {"type": "visit", "query": {"match_all": {}}}}), &["1.0 not implemented yet..."])]
#[case(
    json!({"constant_score": {"filter": {"term": {"kind": "tea"}}, "boost": 2}}),
    &["1.0 ConstantScore(cache(kind:tea))^2.0, product of:", "2.0 boost", "0.5 queryNorm"]
)]
#[tokio::test]
async fn a_score_is_explained(#[case] query: Value, #[case] expected: &[&str]) {
    let backend = shops().await;
    let body = json!({"query": query}).to_string();
    let answer = backend.post("/town/shop/1/_explain", &body).await;
    assert_eq!(answer.body["matched"], true, "{}", answer.text);
    let shown = flat(&answer.body["explanation"]);
    assert_eq!(shown, expected, "{}", answer.text);
}

#[rstest]
#[case(
    json!({"bool": {"must": {"match_all": {}}, "must_not": {"term": {"kind": "bread"}}}}),
    true,
    &["sum of:", "ConstantScore(*:*), product of:", "boost", "queryNorm"]
)]
#[case(
    json!({"bool": {"must": [{"match_all": {}}, {"term": {"kind": "bread"}}]}}),
    false,
    &[
        "Failure to meet condition(s) of required/prohibited clause(s)",
        "ConstantScore(*:*), product of:", "boost", "queryNorm",
        "no match on required clause (kind:bread)",
    ]
)]
#[case(
    json!({"bool": {"must": {"match_all": {}}, "must_not": {"match_all": {}}}}),
    false,
    &[
        "Failure to meet condition(s) of required/prohibited clause(s)",
        "ConstantScore(*:*), product of:", "boost", "queryNorm",
        "match on prohibited clause (ConstantScore(*:*))", "ConstantScore(*:*), product of:", "boost", "queryNorm",
    ]
)]
#[case(
    json!({"bool": {"should": [{"term": {"kind": "bread"}}, {"term": {"kind": "cake"}}], "minimum_should_match": 1}}),
    false,
    &["Failure to match minimum number of optional clauses: 1"]
)]
#[tokio::test]
async fn the_explanation_of_a_boolean_query_has_the_failing_clause(
    #[case] query: Value,
    #[case] matched: bool,
    #[case] expected: &[&str],
) {
    let backend = Backend::new();
    for (id, kind) in [("1", "tea"), ("2", "bread")] {
        ask(
            &backend,
            "PUT",
            &format!("/town/shop/{id}?refresh"),
            json!({"kind": kind}),
        )
        .await;
    }
    let body = json!({"query": query}).to_string();
    let answer = backend.post("/town/shop/1/_explain", &body).await;
    assert_eq!(answer.body["matched"], matched, "{}", answer.text);
    let shown = flat(&answer.body["explanation"]);
    let descriptions = shown.iter().filter_map(|line| Some(line.split_once(' ')?.1));
    assert!(descriptions.eq(expected.iter().copied()), "{}", answer.text);
}

#[rstest]
#[case(json!({"field": "rank"}), "nested: ElasticsearchException[Missing value for field [rank]]; ")]
#[case(
    json!({"field": "rank", "factor": 0, "modifier": "log"}),
    "Result of field modification [log(0.0)] must be a number"
)]
#[tokio::test]
async fn a_document_that_a_function_cannot_score_fails_the_shard(#[case] factor: Value, #[case] reason: &str) {
    let backend = shops().await;
    let query = json!({"function_score": {"field_value_factor": factor}});
    let answer = backend
        .post("/town/shop/_search", &json!({"query": query}).to_string())
        .await;
    assert_eq!(answer.status, 500, "{}", answer.text);
    let error = answer.body["error"].as_str().unwrap();
    let place = "QueryPhaseExecutionException[[town][0]: query[filtered(function score (";
    let phase = "from[0],size[10]: Query Failed [Failed to execute main query]]; nested: ";
    assert!(
        error.contains(place) && error.contains(phase) && error.contains(reason),
        "{error}"
    );
    // Nothing fails if documents are not scored.
    let sorted = json!({"query": query, "sort": "rank"});
    assert_eq!(
        backend.post("/town/shop/_search", &sorted.to_string()).await.status,
        200
    );
    let tea = json!({"query": {"filtered": {"query": query, "filter": {"term": {"kind": "tea"}}}}});
    let tea = backend.post("/town/shop/_search", &tea.to_string()).await;
    assert_eq!(tea.status == 200, reason.contains("Missing"), "{}", tea.text);
}

#[rstest]
#[case(json!({"rank": {"gte": 1, "lt": 5}}), "rank:[1 TO 5}")]
#[case(json!({"rank": {"gt": 1}}), "rank:{1 TO *]")]
#[case(json!({"size": {"lte": 2.5, "boost": 2}}), "size:[* TO 2.5]^2.0")]
#[case(json!({"at": {"gt": "2015-06-23", "lt": "2015-06-24"}}), "at:{1435103999999 TO 1435104000000}")]
#[case(
    json!({"at": {"gte": "23/06/2015", "lte": "23/06/2015", "format": "dd/MM/yyyy"}}),
    "at:[1435017600000 TO 1435103999999]"
)]
#[case(json!({"name": {"gt": "a", "lte": "b"}}), "name:{a TO b]")]
#[tokio::test]
async fn a_range_prints_its_original_bounds(#[case] range: Value, #[case] expected: &str) {
    let backend = Backend::new();
    let properties = json!({
        "rank": {"type": "integer"}, "size": {"type": "float"}, "at": {"type": "date"}, "name": {"type": "string"},
    });
    let mapping = json!({"mappings": {"shop": {"properties": properties}}});
    ask(&backend, "PUT", "/town", mapping).await;
    let body = json!({"query": {"range": range}}).to_string();
    let answer = backend.post("/town/_validate/query?explain", &body).await;
    assert_eq!(
        answer.body["explanations"][0]["explanation"], expected,
        "{}",
        answer.text
    );
}

#[rstest]
#[case::term(json!({"term": {"kind": "tea"}}), "cache(kind:tea)")]
#[case::uncached(json!({"term": {"kind": "tea", "_cache": false}}), "kind:tea")]
#[case::type_term(json!({"term": {"_type": "shop"}}), "cache(_type:shop)")]
#[case::terms(json!({"terms": {"kind": ["tea", "bread", "tea"]}}), "cache(kind:bread kind:tea)")]
#[case::each_term(
    json!({"terms": {"kind": ["tea", "bread"], "execution": "bool"}}),
    "BooleanFilter(cache(kind:tea) cache(kind:bread))"
)]
#[case::each_and(
    json!({"terms": {"kind": ["tea", "bread"], "execution": "and_nocache"}}),
    "cache(+kind:tea +kind:bread)"
)]
#[case::no_terms(json!({"terms": {"kind": []}}), "MatchNoDocsFilter")]
#[case::range(json!({"range": {"rank": {"gt": 1, "lte": 5}}}), "cache(rank:{1 TO 5])")]
#[case::range_of_data(json!({"range": {"rank": {"gte": 1}, "execution": "fielddata"}}), "rank:[1 TO *]")]
#[case::range_of_now(json!({"range": {"at": {"lt": "now"}}}), "no_cache(at:[* TO 1435320000000})")]
#[case::range_of_today(json!({"range": {"at": {"lt": "now/d"}}}), "cache(at:[* TO 1435276800000})")]
#[case::prefix(json!({"prefix": {"kind": "te"}}), "cache(PrefixFilter(kind:te))")]
#[case::regexp(json!({"regexp": {"kind": "te.*"}}), "cache(kind:te.*)")]
#[case::other_index(
    json!({"indices": {"index": "x", "filter": {"match_all": {}}, "no_match_filter": "none"}}),
    "MatchNoDocsFilter"
)]
#[case::everything(json!({"query": {"query_string": {"query": "*:*"}}}), "QueryWrapperFilter(ConstantScore(*:*))")]
#[case::ids(json!({"ids": {"type": "shop", "values": ["1"]}}), "_uid:shop#1")]
#[case::type_of(json!({"type": {"value": "shop"}}), "cache(_type:shop)")]
#[case::limit(json!({"limit": {"value": 2}}), "org.elasticsearch.common.lucene.search.LimitFilter@1")]
#[case::exists(json!({"exists": {"field": "kind"}}), "cache(BooleanFilter(_field_names:kind))")]
#[case::missing(json!({"missing": {"field": "kind"}}), "cache(NotFilter(cache(BooleanFilter(_field_names:kind))))")]
#[case::nothing_exists(json!({"exists": {"field": "none*"}}), "MatchNoDocsFilter")]
#[case::and(json!({"and": [{"term": {"kind": "tea"}}, {"match_all": {}}]}), "+cache(kind:tea) +*:*")]
#[case::or(
    json!({"or": {"filters": [{"term": {"kind": "a"}}, {"term": {"kind": "b"}}], "_cache": true}}),
    "cache(cache(kind:a) cache(kind:b))"
)]
#[case::not(json!({"not": {"term": {"kind": "tea"}}}), "NotFilter(cache(kind:tea))")]
#[case::boolean(
    json!({
        "bool": {
            "must": {"term": {"kind": "a"}},
            "must_not": {"term": {"kind": "b"}},
            "should": {"term": {"kind": "c"}},
        }
    }),
    "BooleanFilter(+cache(kind:a) -cache(kind:b) cache(kind:c))"
)]
#[case::prohibited(json!({"bool": {"must_not": {"term": {"kind": "b"}}}}), "BooleanFilter(-cache(kind:b))")]
#[case::query(json!({"query": {"match": {"kind": "tea"}}}), "QueryWrapperFilter(kind:tea)")]
#[case::cached_query(
    json!({"fquery": {"query": {"match_all": {}}, "_cache": true}}),
    "cache(QueryWrapperFilter(ConstantScore(*:*)))"
)]
#[case::of_the_moment(
    json!({"bool": {"must": {"range": {"at": {"gt": "now-1h"}}}, "_cache": true}}),
    "BooleanFilter(+no_cache(at:{1435316400000 TO *]))"
)]
#[tokio::test]
async fn a_filter_prints_its_class_and_caching(#[case] filter: Value, #[case] expected: &str) {
    let backend = Backend::new();
    let properties = json!({
        "kind": {"type": "string", "index": "not_analyzed"}, "rank": {"type": "integer"}, "at": {"type": "date"},
    });
    ask(
        &backend,
        "PUT",
        "/town",
        json!({"mappings": {"shop": {"properties": properties}}}),
    )
    .await;
    for (query, expected) in [
        (
            json!({"constant_score": {"filter": filter}}),
            format!("ConstantScore({expected})"),
        ),
        (
            json!({"filtered": {"query": {"term": {"kind": "x"}}, "filter": filter}}),
            format!("filtered(kind:x)->{expected}"),
        ),
    ] {
        let body = json!({"query": query}).to_string();
        let answer = backend.post("/town/_validate/query?explain", &body).await;
        assert_eq!(
            answer.body["explanations"][0]["explanation"], expected,
            "{}",
            answer.text
        );
    }
}

#[tokio::test]
async fn types_and_alias_filters_are_part_of_the_printed_query() {
    let backend = shops().await;
    let alias =
        |name: &str, kind: &str| json!({"add": {"index": "town", "alias": name, "filter": {"term": {"kind": kind}}}});
    let actions = json!({"actions": [alias("sweet", "cake"), alias("hot", "tea")]});
    ask(&backend, "POST", "/_aliases", actions).await;
    let non_nested = "org.elasticsearch.index.search.nested.NonNestedDocsFilter@1";
    for (path, expected) in [
        ("/town", format!("ConstantScore(cache({non_nested}))")),
        ("/town/shop", format!("ConstantScore(cache(+_type:shop +{non_nested}))")),
        ("/hot", format!("ConstantScore(+cache({non_nested}) +cache(kind:tea))")),
        (
            "/hot,sweet/shop,visit",
            "ConstantScore(+cache(_type:shop _type:visit) +BooleanFilter(cache(kind:tea) cache(kind:cake)))".to_owned(),
        ),
    ] {
        let answer = backend.post(&format!("{path}/_validate/query?explain"), "").await;
        assert_eq!(
            answer.body["explanations"][0]["explanation"], expected,
            "{}",
            answer.text
        );
    }
}

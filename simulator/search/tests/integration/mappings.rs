//! Mappings of fields and types, their conflicts, and dynamic mapping.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, ask, index_of};

/// An index with a type `shop` and its child type `visit`.
async fn town() -> Backend {
    let backend = Backend::new();
    let mappings = json!({
        "shop": {"properties": {"rank": {"type": "long"}, "name": {"type": "string"}, "door": {"properties": {}}}},
        "visit": {"_parent": {"type": "shop"}},
    });
    ask(&backend, "PUT", "/town", json!({"mappings": mappings})).await;
    backend
}

#[rstest]
#[case(
    "shop",
    json!({"properties": {"rank": {"type": "date"}}}),
    "mapper [rank] of different type, current_type [long], merged_type [date]"
)]
#[case("shop", json!({"_all": {"enabled": false}}), "mapper [_all] enabled is true now encountering false")]
#[case(
    "visit",
    json!({"_parent": {"type": "town"}}),
    "The _parent field's type option can't be changed"
)]
#[case("visit", json!({"properties": {}}), "The _parent field's type option can't be changed")]
#[tokio::test]
async fn mapping_conflicts_are_rejected_or_ignored(
    #[case] type_name: &str,
    #[case] definition: Value,
    #[case] conflict: &str,
) {
    let backend = town().await;
    let mut definition = definition;
    definition["properties"]["fresh"] = json!({"type": "ip"});
    let uri = format!("/town/_mapping/{type_name}");
    let refused = backend.put(&uri, &definition.to_string()).await;
    let expected = format!("MergeMappingException[Merge failed with failures {{[{conflict}]}}]");
    assert_eq!((refused.status, &refused.body["error"]), (400, &json!(expected)));
    let before = ask(&backend, "GET", &uri, Value::Null).await;
    assert!(before["town"]["mappings"][type_name]["properties"]["fresh"].is_null());

    ask(&backend, "PUT", &format!("{uri}?ignore_conflicts=true"), &definition).await;
    let after = ask(&backend, "GET", &uri, Value::Null).await;
    let properties = &after["town"]["mappings"][type_name]["properties"];
    assert_eq!(properties["fresh"], json!({"type": "ip"}), "{after}");
    if type_name == "shop" {
        assert_eq!(properties["rank"], json!({"type": "long"}), "{after}");
    }
}

#[tokio::test]
async fn dynamic_templates_are_merged_by_name_and_other_settings_are_kept() {
    let backend = Backend::new();
    let template = |name: &str, pattern: &str, kind: &str| json!({name: {"match": pattern, "mapping": {"type": kind}}});
    let first = json!({
        "date_detection": false,
        "_routing": {"required": true},
        "dynamic_templates": [template("text", "t_*", "string"), template("number", "n_*", "integer")],
    });
    let numbered = json!({"match": "^n_\\d+$", "match_pattern": "regex", "mapping": {"type": "short"}});
    let second = json!({
        "date_detection": true,
        "numeric_detection": true,
        "_routing": {"required": false},
        "dynamic_templates": [{"number": numbered}, template("flag", "f_*", "boolean")],
    });
    ask(&backend, "PUT", "/town", Value::Null).await;
    for definition in [first, second] {
        ask(&backend, "PUT", "/town/_mapping/shop", definition).await;
    }
    let document = json!({"t_1": 5, "n_12": 5, "n_x": 5, "f_1": "on", "at": "2015-06-22", "size": "5"});
    ask(&backend, "PUT", "/town/shop/1?routing=a", document).await;
    let shown = ask(&backend, "GET", "/town/_mapping/shop", Value::Null).await;
    let shown = &shown["town"]["mappings"]["shop"];
    let kinds = ["t_1", "n_12", "n_x", "f_1", "at", "size"].map(|name| shown["properties"][name]["type"].as_str());
    let expected = ["string", "short", "long", "boolean", "string", "string"].map(Some);
    assert_eq!(kinds, expected, "{shown}");
    let names = shown["dynamic_templates"].as_array().unwrap().iter();
    let names: Vec<&String> = names
        .flat_map(|template| template.as_object().unwrap().keys())
        .collect();
    assert_eq!(names, ["text", "number", "flag"]);
    assert_eq!(shown["date_detection"], false);
    assert!(shown["numeric_detection"].is_null(), "{shown}");
    assert_eq!(shown["_routing"], json!({"required": true}));
}

#[rstest]
#[case(
    json!({"properties": {"x": 5}}),
    "MapperParsingException[Expected map for property [fields] on field [x] but got a class java.lang.String]",
    400
)]
#[case(json!({"properties": "x"}), "ElasticsearchParseException[properties must be a map type]", 400)]
#[case(
    json!({"properties": {"x": {"type": "string", "fields": 5}}}),
    "MapperParsingException[Expected map for property [fields] on field [5] or [fields] but got a class \
     java.lang.Integer]",
    400
)]
#[case(
    json!({"properties": {"x": {"type": "string", "fields": {"a": 5}}}}),
    "MapperParsingException[Illegal field [a], only fields can be specified inside fields]",
    400
)]
#[case(
    json!({"properties": {"x": {"type": "string", "fields": {"a": {}}}}}),
    "MapperParsingException[No type specified for property [a]]",
    400
)]
#[case(
    json!({"properties": {"x": {"type": "string", "ignore_above": "many"}}}),
    "NumberFormatException[For input string: \"many\"]",
    500
)]
#[case(
    json!({"properties": {"x": {"type": "object", "path": "sideways"}}}),
    "MapperParsingException[Wrong value for pathType [sideways] for object [x]]",
    400
)]
#[case(
    json!({"properties": {"x": {"type": "completion", "analyzer": "nope"}}}),
    "ElasticsearchIllegalArgumentException[Can't find default or mapped analyzer with name [nope]]",
    400
)]
#[case(
    json!({"colour": {"dark": [1, "blue", 0.5]}}),
    "MapperParsingException[Root type mapping not empty after parsing! Remaining fields:   [colour : {dark=[1, blue, \
     0.5]}]]",
    400
)]
#[case(
    json!({"dynamic_templates": {}}),
    "ClassCastException[java.util.LinkedHashMap cannot be cast to java.util.List]",
    500
)]
#[case(
    json!({"dynamic_templates": [{}]}),
    "MapperParsingException[A dynamic template must be defined with a name]",
    400
)]
#[case(
    json!({"dynamic_templates": [{"t": {"unmatch": "*", "mapping": {}}}]}),
    "MapperParsingException[template must have match, path_match or match_mapping_type set]",
    400
)]
#[case(
    json!({"dynamic_templates": [{"t": {"match": "*"}}]}),
    "MapperParsingException[template must have mapping set]",
    400
)]
#[case(
    json!({"dynamic_templates": [{"t": {"match": "*", "match_pattern": "wild", "mapping": {}}}]}),
    "ElasticsearchIllegalArgumentException[No matching pattern matched on [wild]]",
    400
)]
#[tokio::test]
async fn invalid_mappings_are_rejected(#[case] definition: Value, #[case] expected: &str, #[case] status: u16) {
    let backend = town().await;
    let answer = backend.put("/town/_mapping/fresh", &definition.to_string()).await;
    assert_eq!(
        (answer.status, &answer.body["error"]),
        (status, &json!(expected)),
        "{definition}"
    );
}

#[rstest]
#[case(
    "/town/_mapping/a,b",
    r#"{"properties":{}}"#,
    "InvalidTypeNameException[mapping type name [a,b] should not include ',' in it]"
)]
#[case(
    "/town/a%23b/1",
    "{}",
    "InvalidTypeNameException[mapping type name [a#b] should not include '#' in it]"
)]
#[case(
    "/town/_mapping/fresh",
    "",
    "ActionRequestValidationException[Validation Failed: 1: mapping source is empty;]"
)]
#[case(
    "/town/_mapping",
    "",
    "ActionRequestValidationException[Validation Failed: 1: mapping type is missing;2: mapping source is empty;]"
)]
#[tokio::test]
async fn a_type_needs_a_name_and_a_definition(#[case] uri: &str, #[case] body: &str, #[case] expected: &str) {
    let backend = town().await;
    let answer = backend.put(uri, body).await;
    assert_eq!((answer.status, &answer.body["error"]), (400, &json!(expected)));
}

#[tokio::test]
async fn the_default_of_dynamic_is_that_of_the_root_object() {
    let backend = Backend::new();
    let properties = json!({
        "open": {"dynamic": true, "properties": {"inner": {"properties": {}}}},
        "closed": {"properties": {"inner": {"properties": {}}}},
    });
    let mappings = json!({"shop": {"dynamic": "strict", "properties": properties}});
    ask(&backend, "PUT", "/town", json!({"mappings": mappings})).await;
    for (document, refused) in [
        (json!({"open": {"a": 1}}), None),
        (json!({"closed": {"a": 1}}), Some("[a] within [closed]")),
        (
            json!({"closed": {"inner": {"a": 1}}}),
            Some("[a] within [closed.inner]"),
        ),
        (json!({"open": {"inner": {"a": 1}}}), Some("[a] within [open.inner]")),
        (json!({"a": 1}), Some("[a] within [shop]")),
        (json!({"closed": {"a": null}}), None),
    ] {
        let answer = backend.put("/town/shop/1", &document.to_string()).await;
        let expected = refused.map(|place| {
            format!(
                "StrictDynamicMappingException[mapping set to strict, dynamic introduction of {place} is not allowed]"
            )
        });
        assert_eq!(answer.body["error"], json!(expected), "{document}");
    }
}

#[tokio::test]
async fn ignore_malformed_does_not_cover_parser_errors() {
    let properties =
        json!({"rank": {"type": "integer", "ignore_malformed": true}, "size": {"type": "short", "null_value": 7}});
    let backend = index_of("town", "shop", properties).await;
    for (id, rank, status) in [
        ("1", json!("first"), 201),
        ("2", json!(true), 400),
        ("3", json!(1e12), 400),
    ] {
        let answer = backend
            .put(&format!("/town/shop/{id}"), &json!({"rank": rank}).to_string())
            .await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    ask(&backend, "PUT", "/town/shop/4?refresh", json!({"size": null})).await;
    ask(&backend, "PUT", "/town/shop/5?refresh", json!({"size": "", "rank": ""})).await;
    let found = ask(
        &backend,
        "GET",
        "/town/_search?q=size:7&fields=size,nothing",
        Value::Null,
    )
    .await;
    assert_eq!(found["hits"]["total"], 2);
    let hits = found["hits"]["hits"].as_array().unwrap();
    let null = hits.iter().find(|hit| hit["_id"] == "4").unwrap();
    assert!(null.get("fields").is_none(), "{found}");
}

#[tokio::test]
async fn a_field_is_searched_by_its_index_name() {
    let properties = json!({
        "title": {"type": "string", "index_name": "heading"},
        "owner": {"path": "just_name", "properties": {"first": {"type": "string", "index_name": "given"}}},
    });
    let backend = index_of("town", "shop", properties).await;
    ask(
        &backend,
        "PUT",
        "/town/shop/1?refresh",
        json!({"title": "tea", "owner": {"first": "ann"}}),
    )
    .await;
    for query in ["title:tea", "heading:tea", "owner.first:ann", "given:ann"] {
        let found = ask(&backend, "GET", &format!("/town/_count?q={query}"), Value::Null).await;
        assert_eq!(found["count"], 1, "{query}");
    }
}

#[tokio::test]
async fn a_dynamic_template_can_map_objects_and_points() {
    let backend = Backend::new();
    let templates = json!([
        {"staff": {"match": "staff", "match_mapping_type": "object", "mapping": {"type": "nested"}}},
        {"places": {"path_match": "*.at", "mapping": {"type": "geo_point"}}},
        {"raw": {"match": "raw_*", "match_mapping_type": "object", "mapping": {"type": "object", "enabled": false}}},
    ]);
    let mappings = json!({"shop": {"dynamic_templates": templates}});
    ask(&backend, "PUT", "/town", json!({"mappings": mappings})).await;
    let staff = json!([{"name": "ann", "age": 3}, {"name": "bob", "age": 4}]);
    let shop = json!({"staff": staff, "map": {"at": {"lat": 1, "lon": 2}}, "raw_log": {"a": 1}, "plain": {"b": 1}});
    ask(&backend, "PUT", "/town/shop/1?refresh", shop).await;
    ask(&backend, "PUT", "/town/shop/2?refresh", json!({"map": {"at": [2, 1]}})).await;
    let shown = ask(&backend, "GET", "/town/_mapping/shop", Value::Null).await;
    let properties = &shown["town"]["mappings"]["shop"]["properties"];
    assert_eq!(properties["staff"]["type"], "nested", "{shown}");
    assert_eq!(properties["staff"]["properties"]["age"]["type"], "long");
    assert_eq!(properties["map"]["properties"]["at"]["type"], "geo_point");
    assert_eq!(properties["raw_log"]["enabled"], false);
    assert_eq!(properties["plain"], json!({"properties": {"b": {"type": "long"}}}));

    let near = json!({"geo_distance": {"distance": "1km", "map.at": {"lat": 1, "lon": 2}}});
    let body = json!({"query": {"filtered": {"filter": near}}});
    assert_eq!(backend.ids("/town/_search?sort=_uid", &body).await, ["1", "2"]);
    let query = |age: u64| json!({"bool": {"must": [{"match": {"staff.name": "ann"}}, {"term": {"staff.age": age}}]}});
    for (age, found) in [(3, 1), (4, 0)] {
        let body = json!({"query": {"nested": {"path": "staff", "query": query(age)}}});
        let answer = ask(&backend, "POST", "/town/_search", body).await;
        assert_eq!(answer["hits"]["total"], found, "{answer}");
    }
}

/// Documents of two types with different mappings of the same fields.
async fn two_types() -> Backend {
    let backend = Backend::new();
    let mappings = json!({
        "shop": {"properties": {"rank": {"type": "long"}, "text": {"type": "string"}}},
        "person": {"properties": {"text": {"type": "string", "index": "not_analyzed"}}},
    });
    ask(&backend, "PUT", "/town", json!({"mappings": mappings})).await;
    let shop = json!({"rank": 7, "text": "red tea"});
    ask(&backend, "PUT", "/town/shop/1?refresh", shop).await;
    let person = json!({"rank": "first", "text": "red tea"});
    ask(&backend, "PUT", "/town/person/2?refresh", person).await;
    backend
}

#[rstest]
// A plain name refers to the first mapped field of the searched types.
#[case("/town", json!({"term": {"rank": 7}}), &["1"])]
#[case("/town/person", json!({"term": {"rank": "first"}}), &["2"])]
#[case("/town/person,shop", json!({"match": {"rank": "first"}}), &["2"])]
#[case("/town", json!({"term": {"text": "red tea"}}), &["2"])]
// A name with a type refers to the field of that type, and matches only its documents.
#[case("/town", json!({"term": {"person.rank": "first"}}), &["2"])]
#[case("/town", json!({"match": {"shop.rank": 7}}), &["1"])]
#[case("/town", json!({"match": {"shop.text": "tea"}}), &["1"])]
#[case("/town", json!({"term": {"shop.text": "red tea"}}), &[])]
#[case("/town", json!({"query_string": {"query": "person.text:\"red tea\""}}), &["2"])]
#[case("/town", json!({"filtered": {"filter": {"term": {"person.rank": "first"}}}}), &["2"])]
#[case("/town", json!({"filtered": {"filter": {"range": {"shop.rank": {"gte": 7}}}}}), &["1"])]
#[case("/town", json!({"filtered": {"filter": {"prefix": {"person.text": "red"}}}}), &["2"])]
#[case("/town", json!({"filtered": {"filter": {"terms": {"shop.text": ["tea", "red tea"]}}}}), &["1"])]
#[tokio::test]
async fn a_field_can_differ_between_types(#[case] path: &str, #[case] query: Value, #[case] expected: &[&str]) {
    let backend = two_types().await;
    let body = json!({"query": query});
    assert_eq!(backend.ids(&format!("{path}/_search?sort=_uid"), &body).await, expected);
}

#[tokio::test]
async fn a_type_has_its_own_mapping_of_a_field() {
    let backend = two_types().await;
    let shown = ask(&backend, "GET", "/town/_mapping/person", Value::Null).await;
    assert_eq!(
        shown["town"]["mappings"]["person"]["properties"]["rank"],
        json!({"type": "string"})
    );
    let refused = backend.put("/town/shop/3", r#"{"rank": "first"}"#).await;
    refused.expect_error(400, "MapperParsingException[failed to parse [rank]]");
    let aggregations = json!({"aggs": {"a": {"terms": {"field": "rank"}}}});
    for (path, key) in [("/town/shop", json!(7)), ("/town/person", json!("first"))] {
        let found = ask(&backend, "POST", &format!("{path}/_search"), &aggregations).await;
        assert_eq!(found["aggregations"]["a"]["buckets"][0]["key"], key, "{found}");
    }
    let explained = ask(
        &backend,
        "GET",
        "/town/_validate/query?explain&q=person.text:tea",
        Value::Null,
    )
    .await;
    assert_eq!(
        explained["explanations"][0]["explanation"],
        "filtered(text:tea)->cache(_type:person)"
    );
}

#[tokio::test]
async fn a_document_is_highlighted_with_the_mapping_of_its_type() {
    let backend = two_types().await;
    let query = json!({"terms": {"text": ["tea", "red tea"]}});
    let body = json!({"query": query, "sort": "_uid", "highlight": {"fields": {"text": {}}}});
    let found = ask(&backend, "POST", "/town/_search", body).await;
    let hits = found["hits"]["hits"].as_array().unwrap();
    let marked: Vec<&Value> = hits.iter().map(|hit| &hit["highlight"]["text"][0]).collect();
    assert_eq!(marked, ["<em>red tea</em>", "red <em>tea</em>"], "{found}");
}

#[rstest]
#[case("/town/shop/1")]
#[case("/town/person/2")]
#[tokio::test]
async fn term_vectors_that_are_not_stored_use_the_first_mapping_of_the_name(#[case] path: &str) {
    let backend = two_types().await;
    let found = ask(&backend, "GET", &format!("{path}/_termvector?fields=text"), Value::Null).await;
    let terms = found["term_vectors"]["text"]["terms"].as_object().unwrap();
    assert_eq!(terms.keys().collect::<Vec<_>>(), ["red", "tea"], "{found}");
}

#[tokio::test]
async fn the_name_of_a_deleted_field_can_be_reused() {
    let backend = two_types().await;
    ask(&backend, "DELETE", "/town/_mapping/shop", Value::Null).await;
    let query = json!({"query": {"term": {"rank": "first"}}});
    assert_eq!(backend.ids("/town/_search", &query).await, ["2"]);
    let shop = json!({"rank": "2015-06-26"});
    ask(&backend, "PUT", "/town/shop/1?refresh", shop).await;
    let query = json!({"query": {"range": {"shop.rank": {"gte": "2015"}}}});
    assert_eq!(backend.ids("/town/_search", &query).await, ["1"]);
}

#[tokio::test]
async fn the_mapping_of_a_type_takes_precedence_over_the_default_mapping() {
    let backend = Backend::new();
    let template =
        |name: &str, index: &str| json!({name: {"match": "t_*", "mapping": {"type": "string", "index": index}}});
    let mappings = json!({
        "_default_": {
            "dynamic_templates": [template("first", "no"), template("other", "no")],
            "properties": {"a": {"type": "string", "index": "not_analyzed", "store": true}, "b": {"type": "long"}},
        },
        "shop": {
            "dynamic_templates": [template("own", "not_analyzed")],
            "properties": {"a": {"type": "string", "index": "analyzed"}, "b": {"type": "date"}},
        },
    });
    ask(&backend, "PUT", "/town", json!({"mappings": mappings})).await;
    ask(
        &backend,
        "PUT",
        "/town/shop/1?refresh",
        json!({"a": "red tea", "b": "2015-06-26", "t_x": "y"}),
    )
    .await;
    let shown = ask(&backend, "GET", "/town/_mapping/shop", Value::Null).await;
    let properties = &shown["town"]["mappings"]["shop"]["properties"];
    assert_eq!(properties["a"], json!({"type": "string", "store": true}));
    assert_eq!(properties["b"]["type"], "date");
    assert_eq!(properties["t_x"]["index"], "not_analyzed");
    for query in ["a:tea", "b:[2015 TO 2016]", "t_x:y"] {
        let found = ask(
            &backend,
            "GET",
            &format!("/town/_count?q={}", query.replace(' ', "%20")),
            Value::Null,
        )
        .await;
        assert_eq!(found["count"], 1, "{query}");
    }
}

#[tokio::test]
async fn mappings_of_nothing_are_missing() {
    let backend = Backend::new();
    backend.put("/i", "").await;
    assert_eq!(backend.get("/i/_mapping").await.body, json!({"i": {"mappings": {}}}));
    assert_eq!(backend.get("/i/_mapping/d").await.body, json!({}));
    assert_eq!(backend.get("/nope*/_mapping").await.body, json!({}));
    let no_index = backend.get("/nope*/_mapping?allow_no_indices=false").await;
    no_index.expect_error(404, "IndexMissingException[[nope*] missing]");
    let no_type = backend.get("/_mapping/d").await;
    no_type.expect_error(404, "TypeMissingException[[_all] type[[d]] missing]");
}

#[tokio::test]
async fn a_new_index_names_the_mapping_of_its_template_that_cannot_be_parsed() {
    let backend = Backend::new();
    let template = json!({"template": "a*", "mappings": {"_default_": {"properties": {"x": {}}}}});
    backend.send_json("PUT", "/_template/a", &template).await;
    let reason = "MapperParsingException[mapping [_default_]]; nested: MapperParsingException[No type specified for";
    backend.send("PUT", "/a", "").await.expect_error(400, reason);
    backend.send("PUT", "/a/t/1", "{}").await.expect_error(400, reason);
}

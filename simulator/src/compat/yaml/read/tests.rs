use rstest::rstest;
use serde_json::json;

use super::*;

#[rstest]
#[case("# nothing", Value::Null)]
#[case("kind: ConfigMap\ndata:\n  n: '5'\n  k: v\n", json!({"data": {"false": "5", "k": "v"}, "kind": "ConfigMap"}))]
#[case("a: |\n  text", json!({"a": "text"}))]
#[case("a: |\n  text\n", json!({"a": "text\n"}))]
#[case("a: |+\n  text", json!({"a": "text"}))]
#[case("a: >-\n  some\n  text", json!({"a": "some text"}))]
#[case("|\n  ?", json!("?"))]
#[case("a: |\n  x\n\nb: z", json!({"a": "x\n", "b": "z"}))]
#[case("a: 1e6", json!({"a": 1e6}))]
#[case("a: 08", json!({"a": 8}))]
#[case("a: !!str 5\nb: \"6\"\nc: !!binary aGk=\nd: !x 7", json!({"a": "5", "b": "6", "c": "hi", "d": "7"}))]
#[case("a: &x {b: 1}\nc: *x", json!({"a": {"b": 1}, "c": {"b": 1}}))]
#[case("a: &x {b: 1, c: 1}\nd:\n  c: 2\n  <<: *x\n  b: 3", json!({"a": {"b": 1, "c": 1}, "d": {"b": 3, "c": 1}}))]
#[case("1: a\n1.5: b\nyes: c", json!({"1": "a", "1.5": "b", "true": "c"}))]
#[case("a: 1\na: 2", json!({"a": 2}))]
#[case("a: 1\n---\nb: 2", json!({"a": 1}))]
#[case("{\"a\": [1, null, \"x\\u003c\"]}", json!({"a": [1, null, "x<"]}))]
fn yaml_is_read(#[case] text: &str, #[case] tree: Value) {
    let read = to_value(text.as_bytes()).unwrap();
    assert_eq!(read.to_string(), tree.to_string());
}

#[rstest]
#[case("a: [b\n", "yaml: line 1: did not find expected ',' or ']'")]
#[case("a: [b", "yaml: line 1: did not find expected ',' or ']'")]
#[case("a: b: c", "yaml: mapping values are not allowed in this context")]
#[case("a:\n\tb: c", "yaml: line 1: found character that cannot start any token")]
#[case("a: *x", "yaml: unknown anchor 'x' referenced")]
#[case("a: &x [*x]", "yaml: anchor 'x' value contains itself")]
#[case("<<: 5", "yaml: map merge requires map or sequence of maps as the value")]
#[case("a: !!int x", "yaml: cannot decode !!str `x` as a !!int")]
#[case("a: .nan", "json: unsupported value: NaN")]
#[case("a: 'b", "yaml: found unexpected end of stream")]
#[case("a: b\n...\nc: d", "yaml: line 2: did not find expected <document start>")]
#[case(" a: b\nc: d", "yaml: line 1: did not find expected <document start>")]
#[case("{}: x", "yaml: invalid map key: map[interface {}]interface {}{}")]
#[case("[a, 1, ~]: x", "yaml: invalid map key: []interface {}{\"a\", 1, interface {}(nil)}")]
#[case("null: z", "Unsupported map key of type: %!s(<nil>), key: <nil>, value: \"z\"")]
#[case("{a: !!b, c: 1}", "yaml: unknown problem parsing YAML content")]
#[case("%TAG ! x:\n---\na: b", "yaml: the directive %TAG is not supported")]
fn malformed_yaml_has_the_recorded_errors(#[case] text: &str, #[case] problem: &str) {
    assert_eq!(to_value(text.as_bytes()).unwrap_err().to_string(), problem);
}

#[test]
fn utf_16_is_rejected() {
    let refused = to_value(b"\xff\xfea\0:\0 \0b\0").unwrap_err();
    assert_eq!(refused.to_string(), "yaml: line 1: did not find expected node content");
}

#[test]
fn another_document_is_ignored() {
    assert_eq!(to_value(b"a: b\n---\nc: d"), Ok(json!({"a": "b"})));
    assert_eq!(to_value(b"a: b\n...\n"), Ok(json!({"a": "b"})));
}

#[test]
fn depth_is_bounded() {
    assert_eq!(
        to_value("[".repeat(100_000).as_bytes()).unwrap_err().to_string(),
        "yaml: exceeded max depth"
    );
}

#[test]
fn the_memory_of_scalars_and_nested_anchors_is_counted() {
    let words = format!("a: &a [{}]\nb: [{}]\n", "0,".repeat(50_000), "*a,".repeat(60));
    let nested = format!("{}[{}]{}", "[&a ".repeat(60), "0,".repeat(50_000), "]".repeat(60));
    for text in [words, nested] {
        assert_eq!(
            to_value(text.as_bytes()).unwrap_err().to_string(),
            "yaml: document contains excessive aliasing"
        );
    }
}

#[test]
fn alias_expansion_is_bounded() {
    let mut text = "a0: &a0 [xxxxxxxxxx]\n".to_owned();
    for level in 1..30 {
        let below = format!("*a{}", level - 1);
        text += &format!("a{level}: &a{level} [{below}, {below}, {below}, {below}]\n");
    }
    assert_eq!(
        to_value(text.as_bytes()).unwrap_err().to_string(),
        "yaml: document contains excessive aliasing"
    );
}

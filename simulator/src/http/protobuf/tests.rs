use rstest::rstest;

use super::*;

fn json_of(body: &[u8]) -> Result<Value, String> {
    to_json(body, &Scheme::builtin())
        .map(|json| serde_json::from_slice(&json).unwrap())
        .map_err(|status| status.message)
}

/// Removes empty values: protobuf omits some zero values that JSON has, and vice versa.
fn without_empty_values(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), without_empty_values(value)))
            .filter(|(name, value)| name != "managedFields" && !is_empty(value))
            .collect(),
        Value::Array(items) => items.iter().map(without_empty_values).collect(),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    [json!(null), json!(0), json!(false), json!(""), json!([]), json!({})].contains(value)
}

#[test]
fn bodies_decode_to_the_same_objects_as_their_json() {
    let mut kinds = Vec::new();
    for line in include_str!("samples.jsonl").lines() {
        let sample: Value = serde_json::from_str(line).unwrap();
        let body = BASE64_STANDARD.decode(sample["protobuf"].as_str().unwrap()).unwrap();
        assert!(is_protobuf(&body));
        let decoded = json_of(&body).unwrap();
        assert_eq!(
            without_empty_values(&decoded),
            without_empty_values(&sample["json"]),
            "{}",
            sample["json"]["kind"]
        );
        kinds.push(decoded["kind"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds.len(), 11, "{kinds:?}");
}

/// Returns a body of this kind with this raw object.
fn body(kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut meta = vec![10, 2, b'v', b'1', 18, u8::try_from(kind.len()).unwrap()];
    meta.extend(kind.as_bytes());
    let mut out = MAGIC.to_vec();
    for (number, bytes) in [(1_u8, meta.as_slice()), (2, raw)] {
        out.extend([number << 3 | 2, u8::try_from(bytes.len()).unwrap()]);
        out.extend(bytes);
    }
    out
}

#[test]
fn a_zero_behind_a_pointer_is_kept() {
    assert_eq!(
        json_of(&body("DeleteOptions", b"\x08\x00")).unwrap(),
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
    );
}

#[test]
fn an_unknown_kind_keeps_its_name_and_unknown_fields_are_skipped() {
    assert_eq!(
        json_of(&body("Widget", b"\x08\x01")).unwrap(),
        json!({"kind": "Widget", "apiVersion": "v1"})
    );
    assert_eq!(
        json_of(&body("ConfigMap", b"\xfa\x3f\x01a")).unwrap(),
        json!({"kind": "ConfigMap", "apiVersion": "v1"})
    );
}

#[rstest]
#[case(body("ConfigMap", b"\x0a\x05"), "it is truncated")]
#[case(body("ConfigMap", b"\x08\x05"), "a field has another type than expected")]
#[case(body("ConfigMap", b"\x12\x06\x0a\x01a\x12\x01\xff"), "a string is not UTF-8")]
#[case([MAGIC, b"\x1a\x04gzip"].concat(), "its content is encoded")]
fn a_malformed_body_is_rejected(#[case] body: Vec<u8>, #[case] why: &str) {
    assert_eq!(
        json_of(&body).unwrap_err(),
        format!("the protobuf body cannot be decoded: {why}")
    );
}

#[test]
fn every_type_with_field_numbers_is_in_the_scheme() {
    let scheme = Scheme::builtin();
    let text = stuntdouble_fixtures::text(&PROTOBUF, "fields.json").unwrap();
    let types: HashMap<String, String> = serde_json::from_str(text).unwrap();
    assert!(types.len() > 100 && types.keys().all(|name| numbers(name).is_some()));
    let pod = scheme.kind("v1", "Pod").unwrap();
    let spec = pod.type_ref().field("spec").unwrap().type_ref.struct_type().unwrap();
    for field in &spec.fields {
        assert!(
            numbers("PodSpec")
                .unwrap()
                .iter()
                .any(|(_, name)| **name == *field.name),
            "{}",
            field.name
        );
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_decoded_or_rejected(raw in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let _ = json_of(&body("Pod", &raw[..raw.len().min(120)]));
        let _ = json_of(&[MAGIC, &raw].concat());
    }
}

//! Decoding and encoding of whole objects.

use std::sync::Arc;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::{FieldType, Resource, Scheme, StructType, Syntax, types::Types};
use crate::{
    api::{Object, Status},
    compat::json_write,
};

fn resource(path: &str) -> Arc<Resource> {
    let (group_version, plural) = path.rsplit_once('/').unwrap_or_default();
    let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
    Scheme::builtin().resource(group, version, plural).unwrap().clone()
}

fn decode(of: &Resource, body: &[u8], syntax: Syntax) -> Result<Object, Status> {
    Scheme::builtin().decode(of, body, syntax)
}

fn refused(path: &str, body: &str) -> String {
    decode(&resource(path), body.as_bytes(), Syntax::Json)
        .unwrap_err()
        .message
}

#[rstest]
#[case::text(r#"{"metadata": {"name": 5}}"#, "[pos 23]: json: expect char '\"' but got char '5'")]
#[case::text_from_list(r#"{"metadata": {"name": []}}"#, "[pos 23]: json: expect char '\"' but got char '['")]
#[case::structure(r#"{"spec": 5}"#, "only encoded map or array can be decoded into a struct")]
#[case::structure_in_list(
    r#"{"spec": {"containers": {"name": "a"}}}"#,
    "only encoded map or array can be decoded into a struct"
)]
#[case::list(
    r#"{"spec": {"containers": "x"}}"#,
    "[pos 25]: only encoded map or array can be decoded into a slice (6)"
)]
#[case::list_from_number(
    r#"{"spec": {"containers": 1}}"#,
    "[pos 25]: only encoded map or array can be decoded into a slice (0)"
)]
#[case::map(
    r#"{"metadata": {"labels": []}}"#,
    "[pos 25]: json: expect char '{' but got char '['"
)]
#[case::map_value(
    r#"{"metadata": {"labels": {"a": 1}}}"#,
    "[pos 31]: json: expect char '\"' but got char '1'"
)]
#[case::null_in_map(
    r#"{"metadata": {"labels": {"a": null}}}"#,
    "[pos 31]: json: expect char '\"' but got char 'n'"
)]
#[case::null_in_list(
    r#"{"spec": {"containers": [{"args": [null]}]}}"#,
    "[pos 36]: json: expect char '\"' but got char 'n'"
)]
#[case::boolean(
    r#"{"spec": {"hostNetwork": "true"}}"#,
    "[pos 26]: json: decode bool: got first char \""
)]
#[case::integer(
    r#"{"spec": {"activeDeadlineSeconds": true}}"#,
    "[pos 36]: json: decNum: got first char 't'"
)]
#[case::integer_from_text(
    r#"{"spec": {"activeDeadlineSeconds": "x"}}"#,
    "[pos 37]: json: decNum: got first char 'x'"
)]
#[case::integer_then_text(
    r#"{"spec": {"activeDeadlineSeconds": "5x"}}"#,
    "[pos 38]: json: expect char ',' but got char 'x'"
)]
#[case::fraction(r#"{"spec": {"activeDeadlineSeconds": 1.5}}"#, "[pos 38]: json: fractional integer")]
#[case::too_long(
    r#"{"spec": {"activeDeadlineSeconds": 123456789012345678901234}}"#,
    "[pos 59]: json: overflow integer after: 1234567890123456789"
)]
#[case::time(
    r#"{"status": {"startTime": 5}}"#,
    "parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"2006\""
)]
#[case::time_text(
    r#"{"status": {"startTime": "x"}}"#,
    "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""
)]
fn a_field_of_another_type_is_rejected(#[case] body: &str, #[case] problem: &str) {
    assert_eq!(
        refused("v1/pods", body),
        format!("Pod in version \"v1\" cannot be handled as a Pod: {problem}")
    );
}

#[test]
fn a_number_too_large_for_its_field_is_rejected() {
    let problem = refused("v1/replicationcontrollers", r#"{"spec": {"replicas": 3000000000}}"#);
    assert_eq!(
        problem,
        "ReplicationController in version \"v1\" cannot be handled as a ReplicationController: [pos 32]: json: \
            overflow 32 bits: "
    );
}

#[rstest]
#[case::quoted_number(r#"{"spec": {"activeDeadlineSeconds": "5"}}"#, r#"{"activeDeadlineSeconds":5}"#)]
#[case::exponent(r#"{"spec": {"activeDeadlineSeconds": 1.5e3}}"#, r#"{"activeDeadlineSeconds":1500}"#)]
#[case::trailing_zero(r#"{"spec": {"activeDeadlineSeconds": 10.0}}"#, r#"{"activeDeadlineSeconds":10}"#)]
#[case::negative(r#"{"spec": {"activeDeadlineSeconds": -3}}"#, r#"{"activeDeadlineSeconds":-3}"#)]
#[case::given_zero_stays_behind_a_pointer(
    r#"{"spec": {"activeDeadlineSeconds": 0}}"#,
    r#"{"activeDeadlineSeconds":0}"#
)]
#[case::zero_goes_where_it_is_by_value(r#"{"spec": {"hostNetwork": false, "nodeName": ""}}"#, "{}")]
#[case::null(r#"{"spec": {"activeDeadlineSeconds": null, "nodeSelector": null}}"#, "{}")]
#[case::unknown(
    r#"{"spec": {"nope": {"a": [1, "}"]}, "nodeName": "n", "NodeName": "m"}}"#,
    r#"{"nodeName":"n"}"#
)]
#[case::twice(r#"{"spec": {"nodeName": "a", "nodeName": "b"}}"#, r#"{"nodeName":"b"}"#)]
#[case::merged(
    r#"{"spec": {"nodeName": "a"}, "spec": {"dnsPolicy": "Default"}}"#,
    r#"{"dnsPolicy":"Default","nodeName":"a"}"#
)]
#[case::sorted(
    r#"{"spec": {"nodeSelector": {"b": "1", "a": "<"}}}"#,
    r#"{"nodeSelector":{"a":"\u003c","b":"1"}}"#
)]
#[case::structure_from_list(
    r#"{"spec": {"imagePullSecrets": [["a", "extra"]]}}"#,
    r#"{"imagePullSecrets":[{"name":"a"}]}"#
)]
#[case::list_from_map(
    r#"{"spec": {"securityContext": {"supplementalGroups": [1]}}}"#,
    r#"{"securityContext":{"supplementalGroups":[1]}}"#
)]
#[case::empty_behind_a_pointer(r#"{"spec": {"securityContext": {}}}"#, r#"{"securityContext":{}}"#)]
#[case::empty_list(r#"{"spec": {"imagePullSecrets": [], "nodeSelector": {}}}"#, "{}")]
fn a_pod_is_decoded_as_by_go(#[case] body: &str, #[case] spec: &str) {
    let pods = resource("v1/pods");
    let decoded = decode(&pods, body.as_bytes(), Syntax::Json).unwrap();
    let encoded = pods.encode(&pods.canonical(decoded));
    let head = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"creationTimestamp":null},"spec":"#;
    let inner = spec.strip_prefix('{').unwrap();
    let wanted = if inner == "}" {
        r#"{"containers":null}"#.to_owned()
    } else {
        in_order(inner)
    };
    assert_eq!(
        String::from_utf8_lossy(&encoded),
        format!("{head}{wanted},\"status\":{{}}}}")
    );
}

/// Spec of a pod whose containers are in their place: first, except for volumes.
fn in_order(fields: &str) -> String {
    format!("{{\"containers\":null,{fields}")
}

#[rstest]
#[case(
    "v1/configmaps",
    r#"{"data": {"b": "2", "a": "1"}}"#,
    r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"creationTimestamp":null},"data":{"a":"1","b":"2"}}"#
)]
#[case(
    "v1/secrets",
    r#"{"data": {"a": "aGk=", "b": null}}"#,
    r#"{"kind":"Secret","apiVersion":"v1","metadata":{"creationTimestamp":null},"data":{"a":"aGk=","b":""}}"#
)]
#[case(
    "v1/endpoints",
    r#"{"subsets": []}"#,
    r#"{"kind":"Endpoints","apiVersion":"v1","metadata":{"creationTimestamp":null},"subsets":[]}"#
)]
#[case(
    "v1/endpoints",
    "{}",
    r#"{"kind":"Endpoints","apiVersion":"v1","metadata":{"creationTimestamp":null},"subsets":null}"#
)]
#[case("v1/services", r#"{"spec": {"ports": [null, {"port": 80}]}}"#,
    r#"{"kind":"Service","apiVersion":"v1","metadata":{"creationTimestamp":null},"spec":{"ports":[{"port":0,"targetPort":0},{"port":80,"targetPort":0}]},"status":{"loadBalancer":{}}}"#)]
#[case(
    "v1/resourcequotas",
    r#"{"spec": {"hard": {"pods": 10, "memory": "1024Mi", "cpu": null}}}"#,
    r#"{"kind":"ResourceQuota","apiVersion":"v1","metadata":{"creationTimestamp":null},"spec":{"hard":{"cpu":"0","memory":"1Gi","pods":"10"}},"status":{}}"#
)]
fn an_object_is_encoded_as_by_go(#[case] path: &str, #[case] body: &str, #[case] written: &str) {
    let kind = resource(path);
    assert_eq!(
        kind.encode(&decode(&kind, body.as_bytes(), Syntax::Json).unwrap()),
        written
    );
}

#[rstest]
#[case::list(r#"{"volumes": []}"#, "volumes", Some(json!([])))]
#[case::map(r#"{"nodeSelector": {}}"#, "nodeSelector", Some(json!({})))]
#[case::null(r#"{"nodeSelector": null}"#, "nodeSelector", None)]
#[case::text(r#"{"nodeName": ""}"#, "nodeName", None)]
fn the_typed_form_keeps_an_empty_list_or_map(#[case] spec: &str, #[case] field: &str, #[case] typed: Option<Value>) {
    let pods = resource("v1/pods");
    let decoded = decode(&pods, format!("{{\"spec\":{spec}}}").as_bytes(), Syntax::Json).unwrap();
    assert_eq!(decoded["spec"].get(field), typed.as_ref());
    assert_eq!(pods.canonical(decoded)["spec"].get(field), None);
}

#[rstest]
#[case::own_fields_first(r#"["x"]"#, json!({"name": "x", "hostPath": {"path": ""}}))]
#[case::then_embedded_ones(r#"["x", ["/a"]]"#, json!({"name": "x", "hostPath": {"path": "/a"}, "emptyDir": {}}))]
#[case::null_is_absent(r#"["x", null]"#, json!({"name": "x", "emptyDir": {}}))]
#[case::empty("[]", json!({"name": ""}))]
fn a_list_in_place_of_an_object_has_the_embedded_fields_last(#[case] volume: &str, #[case] wanted: Value) {
    let body = format!("{{\"spec\":{{\"volumes\":[{volume}]}}}}");
    let decoded = decode(&resource("v1/pods"), body.as_bytes(), Syntax::Json).unwrap();
    assert_eq!(decoded["spec"]["volumes"][0], wanted);
}

#[rstest]
#[case(r#"[[]]"#, "[pos 43]: json: decNum: got first char '['")]
#[case(r#"["x"]"#, "[pos 44]: json: decNum: got first char 'x'")]
fn the_first_value_of_a_probe_in_a_list_is_a_number(#[case] probe: &str, #[case] problem: &str) {
    let body = format!("{{\"spec\":{{\"containers\":[{{\"readinessProbe\":{probe}}}]}}}}");
    let wanted = format!("Pod in version \"v1\" cannot be handled as a Pod: {problem}");
    assert_eq!(refused("v1/pods", &body), wanted);
}

#[rstest]
#[case(
    "v1/pods",
    r#"{"apiVersion": "a/b/c"}"#,
    "the object provided is unrecognized (must be of type Pod): Unexpected GroupVersion string: a/b/c"
)]
#[case(
    "v1/pods",
    r#"{"apiVersion": "v2"}"#,
    "Pod in version \"v2\" cannot be handled as a Pod: no kind \"Pod\" is registered for version \"v2\""
)]
#[case(
    "v1/pods",
    r#"{"kind": "Nope"}"#,
    "Nope in version \"v1\" cannot be handled as a Pod: no kind \"Nope\" is registered for version \"v1\""
)]
#[case(
    "extensions/v1beta1/jobs",
    r#"{"apiVersion": "batch/v1"}"#,
    "the API version in the data (batch/v1) does not match the expected API version (extensions/v1beta1)"
)]
#[case("v1/pods", "[]", r#"the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#)]
fn kind_and_version_are_checked(#[case] path: &str, #[case] body: &str, #[case] message: &str) {
    assert_eq!(refused(path, body), message);
}

#[test]
fn a_tree_is_decoded_with_sorted_names_and_plain_errors() {
    let tree = json!({"kind": "Secret", "metadata": {"name": "c"}, "data": {"a": "w"}, "apiVersion": "v1"});
    let status = Scheme::builtin()
        .decode_value(&resource("v1/configmaps"), tree)
        .unwrap_err();
    assert_eq!(
        (status.code, status.message.as_str()),
        (
            500,
            "[pos 34]: json: error decoding base64 binary 'w': illegal base64 data at input byte 0"
        )
    );
}

#[test]
fn delete_options_may_be_of_any_group() {
    let scheme = Scheme::builtin();
    let options = scheme.kind("v1", "DeleteOptions").unwrap();
    for version in ["v1", "extensions/v1beta1", "batch/v1"] {
        let body = json!({"kind": "DeleteOptions", "apiVersion": version, "gracePeriodSeconds": 5}).to_string();
        assert_eq!(
            scheme.decode_plain(options, body.as_bytes(), Syntax::Json).unwrap()["gracePeriodSeconds"],
            5
        );
    }
    let status = scheme.decode_plain(options, b"{bad", Syntax::Json).unwrap_err();
    assert_eq!(
        status.to_value()["message"],
        "couldn't get version/kind; json parse error: invalid character 'b' looking for beginning of object key string"
    );
    assert!(status.to_value().get("reason").is_none());
}

#[test]
fn fields_can_be_selected_by_other_names() {
    let jobs = resource("batch/v1/jobs");
    assert!(
        jobs.selectable()
            .contains(&("status.successful".to_owned(), "status.succeeded".to_owned()))
    );
    assert_eq!(jobs.unsupported_label("x"), "field label not supported: x");
}

#[test]
fn yaml_and_json_decode_to_the_same_object() {
    let pods = resource("v1/pods");
    let yaml = decode(
        &pods,
        b"metadata:\n  name: a\nspec:\n  containers:\n  - name: c\n    image: nginx\n",
        Syntax::Yaml,
    )
    .unwrap();
    let json = decode(
        &pods,
        br#"{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}"#,
        Syntax::Json,
    )
    .unwrap();
    assert_eq!(yaml, json);
}

/// Pseudorandom source with a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn text(&mut self) -> Value {
        [
            "a",
            "",
            "true",
            "5",
            "<&>",
            "é\n",
            "2015-06-26T12:00:00Z",
            "1Gi",
            "aGk=",
            "Recreate",
        ][self.below(10) as usize]
            .into()
    }

    fn structure(&mut self, types: &Types, of: &StructType) -> Value {
        let mut out = Object::new();
        for field in &of.fields {
            if self.below(3) == 0 {
                out.insert(field.name.to_string(), self.value(types, &field.field_type));
            }
        }
        Value::Object(out)
    }

    /// Returns a value of the type, sometimes of another one.
    fn value(&mut self, types: &Types, of: &FieldType) -> Value {
        match (self.below(60), of) {
            (0, _) => Value::Null,
            (1, _) => self.text(),
            (2, _) => json!([1, {"a": null}]),
            (_, FieldType::String { .. }) => self.text(),
            (_, FieldType::Int(_)) => (self.below(100) as i64 - 50).into(),
            (_, FieldType::Bool) => (self.below(2) == 0).into(),
            (_, FieldType::Bytes) => "aGk=".into(),
            (_, FieldType::Time) => "2015-06-26T12:00:00+02:00".into(),
            (_, FieldType::Quantity) => ["1", "0.5", "1024Mi", "100m"][self.below(4) as usize].into(),
            (_, FieldType::IntOrString) => {
                if self.below(2) == 0 {
                    80.into()
                } else {
                    "http".into()
                }
            }
            (_, FieldType::Raw) => json!({"x": 1}),
            (_, FieldType::Struct(id)) => self.structure(types, types.get(*id)),
            (_, FieldType::List(of)) => (0..self.below(3)).map(|_| self.value(types, of)).collect(),
            (_, FieldType::Map(of)) => Value::Object(
                (0..self.below(3))
                    .map(|n| (format!("k{}", 9 - n), self.value(types, of)))
                    .collect(),
            ),
            (_, FieldType::Pointer(of)) => self.value(types, of),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn forms_are_idempotent(seed: u64) {
        let mut dice = Random(seed);
        let scheme = Scheme::builtin();
        let resources = scheme.resources();
        let resource = &resources[dice.below(resources.len() as u64) as usize];
        let body = json_write::compact(&dice.structure(resource.types(), resource.struct_type()));
        if let Ok(object) = scheme.decode(resource, &body, Syntax::Json) {
            prop_assert_eq!(&resource.typed(object.clone()), &object);
            let canonical = resource.canonical(object.clone());
            prop_assert_eq!(&resource.canonical(canonical.clone()), &canonical);
            prop_assert_eq!(&resource.typed(canonical.clone()), &canonical);
            let encoded = resource.encode(&object);
            prop_assert_eq!(&scheme.decode(resource, &encoded, Syntax::Json).unwrap(), &object);
            let yaml = crate::compat::yaml::from_value(&Value::Object(object.clone()));
            prop_assert_eq!(&scheme.decode(resource, yaml.as_bytes(), Syntax::Yaml).unwrap(), &object);
            let mut defaulted = object;
            resource.default(&mut defaulted);
            let mut again = defaulted.clone();
            resource.default(&mut again);
            prop_assert_eq!(&again, &defaulted);
            prop_assert_eq!(&scheme.decode(resource, &resource.encode(&defaulted), Syntax::Json).unwrap(), &defaulted);
        }
    }

    #[test]
    fn no_bytes_panic_the_decoder(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..30usize) {
        let scheme = Scheme::builtin();
        let resources = scheme.resources();
        let resource = &resources[kind % resources.len()];
        for syntax in [Syntax::Json, Syntax::Yaml] {
            let _ = scheme.decode(resource, &bytes, syntax);
        }
    }

    #[test]
    fn no_yaml_indicators_panic_the_reader(text in r#"([-?:,\[\]{}#&*!|>'"%@\\ \n\tab~<0.]|<<: |- |%TAG|!!int |\\x4|---\n){0,40}"#) {
        let _ = crate::compat::yaml::to_value(text.as_bytes());
    }

    #[test]
    fn no_json_like_text_panics_the_decoder(text in r#"\{("(metadata|spec|kind|data|subsets)": ?[\[\]{}",:0-9a-z.\\-]{0,40},?){0,4}\}?"#, kind in 0..30usize) {
        let scheme = Scheme::builtin();
        let resources = scheme.resources();
        let resource = &resources[kind % resources.len()];
        for syntax in [Syntax::Json, Syntax::Yaml] {
            let _ = scheme.decode(resource, text.as_bytes(), syntax);
        }
    }
}

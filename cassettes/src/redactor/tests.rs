//! Tests: no secret remains, however a body is split.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

const SECRET: &str = "pl4nted/S3cret+value";

/// Redacts a body in pieces that end at these positions.
fn pieces(body: &[u8], cuts: &[usize], headers: &Headers, path: &str) -> Vec<u8> {
    pieces_of_session(&Redactor::new(Redaction::default()), body, cuts, headers, path)
}

fn pieces_of_session(redactor: &Redactor, body: &[u8], cuts: &[usize], headers: &Headers, path: &str) -> Vec<u8> {
    let mut pieces = BodyRedactor::new(redactor, headers, path, false);
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (body.len() + 1)).collect();
    cuts.sort_unstable();
    cuts.push(body.len());
    let (mut out, mut start) = (Vec::new(), 0);
    for cut in cuts {
        out.extend(pieces.push(redactor, &body[start..cut]));
        start = cut;
    }
    out.extend(pieces.finish(redactor));
    out
}

fn every(body: &[u8], size: usize, headers: &Headers, path: &str) -> String {
    let cuts: Vec<usize> = (1..).map(|n| n * size).take_while(|cut| *cut < body.len()).collect();
    String::from_utf8(pieces(body, &cuts, headers, path)).expect("text")
}

fn typed(media_type: &str) -> Headers {
    Headers(vec![("Content-Type".into(), media_type.into())])
}

fn code() -> String {
    STANDARD.encode(SECRET)
}

/// Documents with a secret at a position of a rule.
pub(super) fn planted() -> Vec<Value> {
    let (code, applied) = (code(), json!({"kind": "Secret", "data": {"a": code()}}).to_string());
    let pem = format!("-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----\n");
    vec![
        json!({"kind": "Secret", "data": {"a": code}, "stringData": {"b": SECRET}}),
        json!({"data": {"a": code}, "stringData": {"b": SECRET}, "kind": "Secret"}),
        json!({"kind": "SecretList", "items": [{"data": {"a": code}}, {"data": {"b": code}}]}),
        json!({"items": [{"data": {"a": code}}, {"metadata": {}, "data": {"b": code}}], "kind": "SecretList"}),
        json!({"kind": "List", "items": [{"data": {"a": code}, "kind": "Secret"}]}),
        json!({"kind": "PodList", "items": [{"items": [{"data": {"a": code}}], "kind": "SecretList"}]}),
        json!({"type": "ADDED", "object": {"data": {"a": code}, "kind": "Secret"}}),
        json!({"metadata": {"annotations": {"applied": applied}}}),
        json!({"spec": {"env": [{"name": "DB_PASSWORD", "value": SECRET}]}}),
        json!({"spec": {"env": [{"value": SECRET, "name": "DB_PASSWORD"}]}}),
        json!({"args": ["run", "--token", SECRET, format!("--password={SECRET}"), format!("sh -c 'x --api-key {SECRET}'")]}),
        json!({"credentials": {"any": {"where": [SECRET]}}}),
        json!({"users": [{"user": {"client-key-data": code, "token": SECRET}}]}),
        json!({"auths": {"registry.example.com": {"auth": code}}}),
        json!({"kind": "ConfigMap", "data": {"app.env": format!("A=1\nDB_PASS={SECRET}\n")}}),
        json!({"kind": "ConfigMap", "data": {"app.yaml": format!("db:\n  password: {SECRET}\n  deep:\n    secretKey: |\n      {SECRET}\n")}}),
        json!({"kind": "ConfigMap", "data": {"app.properties": format!("db.password = {SECRET}\nx = y\n")}}),
        json!({"kind": "ConfigMap", "data": {"app.json": json!({"secret": SECRET}).to_string()}}),
        json!({"message": format!("https://user:{}@example.com", SECRET.replace('/', "_"))}),
        json!({"file": pem, "encoded": STANDARD.encode(&pem)}),
        json!({"text": format!("Authorization: Bearer {SECRET}")}),
    ]
}

pub(super) fn is_clean(text: &str) -> bool {
    let spelled = [
        SECRET.to_owned(),
        SECRET.replace('/', "_"),
        code(),
        STANDARD.encode(format!("-{SECRET}"))[4..].into(),
    ];
    spelled
        .iter()
        .all(|secret| !text.contains(secret.trim_end_matches('=')))
}

#[test]
fn a_planted_secret_is_redacted_in_json_and_yaml_of_any_layout() {
    for (n, document) in planted().iter().enumerate() {
        for text in [
            document.to_string(),
            format!("{document:#}"),
            format!("{document}\n{document}\n"),
        ] {
            for size in [1, 2, 3, 7, 64, text.len()] {
                let out = every(text.as_bytes(), size, &Headers::default(), "/");
                assert!(is_clean(&out), "document {n} in pieces of {size}: {out}");
                assert_eq!(out, every(text.as_bytes(), text.len(), &Headers::default(), "/"));
                assert!(
                    serde_json::Deserializer::from_str(&out)
                        .into_iter::<Value>()
                        .all(|value| value.is_ok())
                );
            }
        }
        let yaml = serde_saphyr::to_string(document).expect("YAML");
        let out = every(yaml.as_bytes(), 5, &typed("application/yaml"), "/");
        assert!(is_clean(&out), "document {n}: {out}");
        let back: Value = serde_saphyr::from_str(&out).unwrap_or_else(|error| panic!("{error}\n{out}"));
        assert_eq!(shape(&back), shape(document), "{out}");
    }
}

#[rstest]
#[case::json("application/json")]
#[case::plain("text/plain")]
#[case::yaml("application/yaml")]
#[case::untyped("")]
fn no_secret_remains_wherever_a_body_ends(#[case] media_type: &str) {
    for (n, document) in planted().iter().enumerate() {
        let yaml = serde_saphyr::to_string(document).expect("YAML");
        let texts = match media_type {
            "application/yaml" => vec![yaml],
            _ if yaml.starts_with("kind:") => vec![document.to_string(), format!("{document:#}\n"), yaml],
            _ => vec![document.to_string(), format!("{document:#}\n")],
        };
        for text in &texts {
            for length in 0..text.len() {
                let out = every(&text.as_bytes()[..length], 1 << 10, &typed(media_type), "/");
                assert!(is_clean(&out), "document {n}, {length} bytes: {out}");
            }
        }
    }
}

/// JSON with a different amount of whitespace in each object and list.
fn spaced(value: &Value, space: &mut usize) -> String {
    *space += 1;
    let begin = " ".repeat(*space);
    match value {
        Value::Object(map) => {
            let field = |(key, value): (&String, &Value)| format!("{}:{}", json!(key), spaced(value, space));
            format!("{{{begin}{}}}", map.iter().map(field).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| spaced(item, space)).collect();
            format!("[{begin}{}]", items.join(","))
        }
        other => other.to_string(),
    }
}

/// A value with all strings replaced.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), shape(value))).collect(),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::String(_) => "text".into(),
        other => other.clone(),
    }
}

#[rstest]
#[case::escaped_kind(r#"{"kind":"\u0053ecret","data":{"a":"CODE"}}"#)]
#[case::escaped_key(r#"{"kind":"Secret","d\u0061ta":{"a":"CODE"}}"#)]
#[case::duplicate_data(r#"{"kind":"Secret","data":{},"data":{"a":"CODE"}}"#)]
#[case::case_of_keys(r#"{"Kind":"Secret","DATA":{"a":"CODE"}}"#)]
#[case::number(r#"{"password":123456789012}"#)]
#[case::truncated(r#"{"kind":"Secret","data":{"a":"CODE"#)]
#[case::error(r#"{"kind":"Secret" "data":{"a":"CODE"}}"#)]
fn oddly_spelled_secrets_are_redacted(#[case] text: &str) {
    let text = text.replace("CODE", &code());
    for size in [1, 3, 1000] {
        let out = every(
            text.as_bytes(),
            size,
            &Headers::default(),
            "/api/v1/namespaces/a/secrets/b",
        );
        assert!(is_clean(&out) && !out.contains("123456789012"), "{out}");
    }
}

#[test]
fn an_unparseable_body_on_a_path_of_secrets_is_replaced_with_its_length_and_hash() {
    let path = "/api/v1/namespaces/a/secrets/b";
    let out = every(b"\x01 raw s3cret", 3, &Headers::default(), path);
    assert!(out.starts_with("[12 bytes, sha256 ") && out.ends_with(']'), "{out}");
    let out = every(br#"{"a":1,x"s3cret"}"#, 3, &Headers::default(), path);
    assert!(out.starts_with(r#"{"a":1,[10 bytes, sha256 "#), "{out}");
}

#[rstest]
#[case(r#"{"spec":{"volumes":[{"name":"v","secret":{"secretName":"default-token-x8f2a","defaultMode":420}}]}}"#)]
#[case(r#"{"secrets":[{"name":"default-token-x8f2a"}],"imagePullSecrets":[{"name":"registry-1"}]}"#)]
#[case(r#"{"valueFrom":{"secretKeyRef":{"name":"db-1-Secret","key":"password"}}}"#)]
#[case(r#"{"hard":{"secrets":"10"},"automountServiceAccountToken":false}"#)]
#[case(r#"{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}}"#)]
#[case(r#"{"swagger":"2.0","definitions":{"v1.Secret":{"properties":{"token":{"type":"string","description":"A token."}}}},"paths":{"/api/v1/secrets":{"get":{"operationId":"x"}}}}"#)]
#[case(r#"{"kind":"ConfigMap","data":{"a":"b"}}"#)]
#[case(r#"{"data":{"a":"dGVzdA=="},"kind":"ConfigMap","metadata":{"name":"x"}}"#)]
#[case(r#"{"value":5,"x":{"value":"y"},"status":"Failure","code":404,"reason":"NotFound"}"#)]
#[case(r#"{"image":"quay.io/token-service:v1","startTime":"2026-11-21T11:45:16Z"}"#)]
fn a_text_that_only_mentions_secrets_is_kept(#[case] text: &str) {
    for size in [1, 4, 1000] {
        assert_eq!(every(text.as_bytes(), size, &Headers::default(), "/"), text);
    }
}

#[test]
fn the_data_of_a_secret_in_plain_text_is_redacted() {
    let text = format!(
        "$ kubectl get secret -o yaml\napiVersion: v1\ndata:\n  a: {}\nkind: Secret\n",
        code()
    );
    for size in 1..text.len() {
        let out = every(text.as_bytes(), size, &typed("text/plain"), "/x");
        assert!(is_clean(&out), "in pieces of {size}: {out}");
    }
}

#[test]
fn a_known_secret_is_found_across_pieces_of_a_text() {
    let redactor = Redactor::new(Redaction::default());
    redactor.headers(&Headers(vec![("Authorization".into(), format!("Bearer {SECRET}"))]));
    for size in 1..40 {
        let text = format!("{{\"message\":\"no user has {SECRET}\"}} and a line with {SECRET} in it\n\u{0}{SECRET}");
        let mut pieces = BodyRedactor::new(&redactor, &Headers::default(), "/", false);
        let mut out = Vec::new();
        text.as_bytes()
            .chunks(size)
            .for_each(|piece| out.extend(pieces.push(&redactor, piece)));
        out.extend(pieces.finish(&redactor));
        let out = String::from_utf8(out).expect("text");
        assert!(is_clean(&out), "{out}");
        assert_eq!((out.len(), out.matches("redacted-1").count()), (text.len(), 3), "{out}");
    }
}

/// Any JSON, with some keys that matter.
fn document() -> impl Strategy<Value = Value> {
    let key = "(kind|data|stringData|items|name|value|secret|token|object|[a-z]{1,3})";
    let text = prop_oneof![
        Just(Value::from("Secret")),
        Just(Value::from("SecretList")),
        Just(Value::from("DB_TOKEN")),
        any::<String>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(Value::Null),
    ];
    text.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..5).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

const KINDS: [&str; 4] = ["List", "PodList", "SecretList", "ConfigMapList"];

proptest! {
    #[test]
    fn no_planted_secret_survives_any_splitting(which in 0..21_usize, around in document(), cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        let text = json!({"a": around, "planted": planted()[which]}).to_string();
        let out = String::from_utf8(pieces(text.as_bytes(), &cuts, &Headers::default(), "/")).expect("text");
        prop_assert!(is_clean(&out), "{}", out);
    }

    #[test]
    fn json_keeps_its_syntax_however_it_is_split(document in document(), cuts in prop::collection::vec(any::<usize>(), 0..12), pretty: bool) {
        let document = json!([document]);
        let text = if pretty { format!("{document:#}") } else { document.to_string() };
        let out = pieces(text.as_bytes(), &cuts, &Headers::default(), "/");
        let back: Value = serde_json::from_slice(&out).expect("JSON");
        let whole = pieces(text.as_bytes(), &[], &Headers::default(), "/");
        prop_assert_eq!(shape(&back), shape(&serde_json::from_slice(&whole).expect("JSON")));
        let keys = |value: &Value| shape(value).to_string();
        // A secret number is replaced with a string.
        prop_assert_eq!(keys(&back).matches("\":").count(), keys(&document).matches("\":").count());
    }

    // With a different amount of whitespace in each object and list, no cache applies.
    #[test]
    fn repeated_parts_are_redacted_as_without_caches(
        which in prop::collection::vec((0..25_usize, 0..4_usize), 2..12),
        kind in prop::sample::select(KINDS.to_vec()),
        then in prop::sample::select(KINDS.to_vec()),
        kind_first: bool,
    ) {
        let secret_or_not = json!({"data": {"some-key": code()}, "metadata": {"name": "some-name"}});
        let plain = json!({"spec": {"containers": [{"name": "some-name", "image": "example.com/image"}]}});
        let named = |name: &str| json!({"env": [{"name": name, "value": SECRET}, {"value": SECRET, "name": name}]});
        let mut documents = planted();
        documents.extend([secret_or_not, plain, named("LOG_LEVEL"), named("DB_PASSWORD")]);
        let placed = |(n, place): &(usize, usize)| {
            let document = &documents[*n];
            match place {
                0 => document.clone(),
                1 => json!({"object": document}),
                2 => json!({"secret": document, "config": document}),
                _ => json!([document, document]),
            }
        };
        let items: Vec<Value> = which.iter().chain(&which).map(placed).collect();
        let list = |kind: &str| match kind_first {
            true => json!({"kind": kind, "items": items}),
            false => json!({"items": items, "kind": kind}),
        };
        // In one session: the second list has the items of the first.
        let read = |texts: [String; 2]| -> Vec<Value> {
            let redactor = Redactor::new(Redaction::default());
            let read = |text: &String| pieces_of_session(&redactor, text.as_bytes(), &[], &Headers::default(), "/");
            texts.iter().map(|text| serde_json::from_slice(&read(text)).expect("JSON")).collect()
        };
        let lists = [list(kind), list(then)];
        let mut space = 0;
        prop_assert_eq!(read(lists.each_ref().map(Value::to_string)), read(lists.each_ref().map(|list| spaced(list, &mut space))));
    }

    #[test]
    fn other_bytes_are_unaltered(bytes in prop::collection::vec(any::<u8>(), 0..300), cuts in prop::collection::vec(any::<usize>(), 0..6)) {
        pieces(&bytes, &cuts, &Headers::default(), "/");
        pieces(&bytes, &cuts, &typed("application/yaml"), "/api/v1/secrets");
    }
}

#[test]
fn unaltered_bytes_are_not_copied() {
    let redactor = Redactor::new(Redaction::default());
    let item =
        |n: usize| format!(r#"{{"metadata":{{"name":"pod-{n:0120}"}},"spec":{{"image":"example.com/image:1.0"}}}}"#);
    let items: Vec<String> = (0..500).map(item).collect();
    let list = format!(r#"{{"kind":"PodList","items":[{}]}}"#, items.join(","));
    for size in [list.len(), 40_000, 39_999] {
        let mut body = BodyRedactor::new(&redactor, &Headers::default(), "/", false);
        let (mut all, mut copied) = (Vec::new(), 0);
        for piece in list.as_bytes().chunks(size) {
            let mut out = Vec::new();
            let rest = body.push_into(&redactor, piece, &mut out);
            copied += out.len();
            all.extend(out);
            all.extend_from_slice(rest);
        }
        all.extend(body.finish(&redactor));
        assert!(all == list.as_bytes(), "pieces of {size}");
        assert!(copied < 2_000, "{copied} bytes in pieces of {size}");
    }
}

#[rstest]
#[case("add", "/data/a", json!(STANDARD.encode("short")), json!({"a": STANDARD.encode("short")}))]
#[case("add", "/data", json!({"a": code()}), json!({"a": code()}))]
#[case("replace", "/stringData/a", json!("short"), json!({"a": STANDARD.encode("short")}))]
fn a_json_patch_of_a_secret_has_the_placeholders_of_the_secret(
    #[case] operation: &str,
    #[case] path: &str,
    #[case] value: Value,
    #[case] data: Value,
) {
    let redactor = Redactor::new(Redaction::default());
    let redacted = |body: Value| -> Value {
        let body = pieces_of_session(
            &redactor,
            body.to_string().as_bytes(),
            &[],
            &Headers::default(),
            "/secrets/x",
        );
        serde_json::from_slice(&body).expect("JSON")
    };
    let patch = redacted(json!([{"op": operation, "path": path, "value": value}]));
    let secret = redacted(json!({"kind": "Secret", "data": data}));
    let (patched, stored) = (&patch[0]["value"], &secret["data"]);
    match path {
        "/data" => assert_eq!(patched, stored),
        "/data/a" => assert_eq!(*patched, stored["a"]),
        _ => assert_eq!(json!({"a": STANDARD.encode(patched.as_str().expect("text"))}), *stored),
    }
}

#[rstest]
#[case::event(r#"{"type":"ADDED","object":{"kind":"ConfigMap","data":{"color":"dark green"}"#)]
#[case::list(r#"{"kind":"ConfigMapList","items":[{"metadata":{},"data":{"color":"dark green"}"#)]
fn data_of_another_kind_is_not_secret_if_the_client_leaves(#[case] cut: &str) {
    let redactor = Redactor::new(Redaction::default());
    let redacted = |body: &str, path: &str| {
        let body = pieces_of_session(&redactor, body.as_bytes(), &[], &Headers::default(), path);
        String::from_utf8(body).expect("text")
    };
    assert_eq!(redacted(cut, "/api/v1/watch/configmaps"), cut);
    let object = r#"{"kind":"ConfigMap","data":{"color":"dark green"}}"#;
    assert_eq!(redacted(object, "/api/v1/namespaces/a/configmaps/a"), object);
}

use rstest::rstest;
use serde_json::json;

use super::{strategic::tests::Type, *};
use crate::scheme::Scheme;

#[rstest]
#[case(PatchError::Malformed("x".to_owned()), 400, "BadRequest")]
#[case(PatchError::Inapplicable("x".to_owned()), 422, "Invalid")]
fn a_client_error_is_4xx_as_documented_and_500_as_recorded(
    #[case] error: PatchError,
    #[case] code: u16,
    #[case] reason: &str,
) {
    let documented = error.status(Profile::Documented);
    assert_eq!(
        (documented.code, documented.reason.as_str(), documented.message.as_str()),
        (code, reason, "x")
    );
    let recorded = error.status(Profile::Kubernetes12).to_value();
    assert_eq!(
        recorded,
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "x", "code": 500})
    );
}

#[test]
fn a_panic_has_the_recorded_response() {
    let status = PatchError::Crash.status(Profile::Kubernetes12).to_value();
    let message = "an error on the server has prevented the request from succeeding";
    let expected = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": "InternalError", "details": {}, "code": 500});
    assert_eq!(status, expected);
}

#[test]
fn results_are_objects_under_the_documented_profile() {
    let original = Object::from_iter([("a".to_owned(), json!(1))]);
    let with = |language, patch: &str, profile| apply(language, &original, patch.as_bytes(), Type::Thing, profile);
    assert_eq!(with(Language::Merge, "[{}]", Profile::Kubernetes12), Ok("[{}]".into()));
    assert!(matches!(
        with(Language::Merge, "[]", Profile::Documented),
        Err(PatchError::Malformed(_))
    ));
    let whole = r#"[{"op": "replace", "path": "", "value": []}]"#;
    assert!(matches!(
        with(Language::Json, whole, Profile::Documented),
        Err(PatchError::Inapplicable(_))
    ));
    assert_eq!(
        with(Language::Strategic, "{}", Profile::Documented),
        Ok(r#"{"a":1}"#.into())
    );
}

#[derive(serde::Deserialize)]
struct Recorded {
    language: String,
    document: Object,
    patch: String,
    /// Response of the server, defaults included.
    answer: Option<Value>,
    refusal: Option<String>,
}

/// Whether the result of a patch is consistent with the server's response. The response may contain more, such as
/// defaults, but nothing that the patch removed.
fn answers(answer: &Value, patched: &Value, before: Option<&Value>) -> bool {
    match (answer, patched) {
        (Value::Object(answer), Value::Object(patched)) => {
            let before = |name: &str| before.and_then(|b| b.get(name));
            let volatile = |name: &str| matches!(name, "resourceVersion" | "generation" | "$patch");
            patched
                .iter()
                .all(|(k, v)| volatile(k) || v.is_null() || answer.get(k).is_some_and(|a| answers(a, v, before(k))))
                && answer
                    .iter()
                    .all(|(k, v)| volatile(k) || patched.contains_key(k) || before(k) != Some(v))
        }
        (Value::Array(answer), Value::Array(patched)) => {
            answer.len() == patched.len() && answer.iter().zip(patched).all(|(a, p)| answers(a, p, None))
        }
        (answer, patched) => answer == patched,
    }
}

#[test]
fn patches_have_the_recorded_results() {
    let recorded: Vec<Recorded> =
        serde_json::from_str(stuntdouble_fixtures::text(&stuntdouble_fixtures::PATCHES, "recorded.json").unwrap())
            .unwrap();
    assert!(recorded.len() > 40);
    for Recorded {
        language,
        document,
        patch,
        answer,
        refusal,
    } in recorded
    {
        let language = [Language::Json, Language::Merge, Language::Strategic]
            .into_iter()
            .find(|l| format!("{l:?}").to_lowercase() == language)
            .unwrap();
        let word = |name: &str| document.get(name).and_then(Value::as_str).unwrap();
        let scheme = Scheme::builtin();
        let schema = scheme.kind(word("apiVersion"), word("kind")).unwrap().type_ref();
        let patched = apply(language, &document, patch.as_bytes(), schema, Profile::Kubernetes12);
        assert_eq!(patched.as_ref().err().map(ToString::to_string), refusal, "{patch}");
        if let Some(answer) = answer {
            let patched: Value = serde_json::from_slice(&patched.unwrap()).unwrap();
            assert!(
                answers(&answer, &patched, Some(&document.clone().into())),
                "{patch}\nmakes {patched}\nnot   {answer}"
            );
        }
    }
}

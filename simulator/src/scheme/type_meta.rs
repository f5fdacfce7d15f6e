//! Kind and version of a body.
//!
//! - Guarantee: a body whose kind and version were read has passed [`json_scan::check`] as a whole.
//! - Source of the semantics: Kubernetes v1.2, which reads kind and version with Go's `encoding/json` before anything
//!   else.

use crate::compat::{json_cursor::JsonCursor, json_scan};

/// Kind and version of a body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TypeMeta {
    pub api_version: String,
    pub kind: String,
}

const GO_TYPE: &str = r#"value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

fn mismatch(first: u8, of: &str) -> String {
    let name = match first {
        b'{' => "object",
        b'[' => "array",
        b'"' => "string",
        b't' | b'f' => "bool",
        _ => "number",
    };
    format!("json: cannot unmarshal {name} into Go {of}")
}

/// Reads kind and version of `body`, empty if absent. Their names are case-insensitive.
pub(super) fn read(body: &[u8]) -> Result<TypeMeta, String> {
    json_scan::check(body)?;
    let mut cursor = JsonCursor::lenient(body);
    let mut found = TypeMeta::default();
    let mut problem = None;
    match cursor.peek()? {
        b'n' => return Ok(found),
        b'{' => {}
        other => return Err(mismatch(other, GO_TYPE)),
    }
    cursor.entries(|cursor, key| {
        let (slot, name) = if key.eq_ignore_ascii_case("apiVersion") {
            (&mut found.api_version, "apiVersion")
        } else if key.eq_ignore_ascii_case("kind") {
            (&mut found.kind, "kind")
        } else {
            return cursor.skip();
        };
        match cursor.peek()? {
            b'"' => *slot = cursor.text()?,
            first => {
                if first != b'n' {
                    problem.get_or_insert_with(|| mismatch(first, &format!("struct field .{name} of type string")));
                }
                cursor.skip()?;
            }
        }
        Ok(())
    })?;
    problem.map_or(Ok(found), Err)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("null", "", "")]
    #[case("{}", "", "")]
    #[case(r#"{"kind": "Pod", "apiVersion": "v1", "spec": {"kind": 5}}"#, "v1", "Pod")]
    #[case(r#"{"Kind": "Pod", "APIVERSION": "v1"}"#, "v1", "Pod")]
    #[case(r#"{"kind": "Pod", "kind": "Service"}"#, "", "Service")]
    #[case(r#"{"kind": "Pod", "kind": null}"#, "", "Pod")]
    #[case(r#"{"kind": "\ud800x\ud83d\ude00", "other": "\udc00"}"#, "", "\u{fffd}x\u{1f600}")]
    fn kind_and_version_are_read(#[case] body: &str, #[case] api_version: &str, #[case] kind: &str) {
        assert_eq!(
            read(body.as_bytes()),
            Ok(TypeMeta {
                api_version: api_version.into(),
                kind: kind.into()
            })
        );
    }

    #[rstest]
    #[case("[]", r#"json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#)]
    #[case(
        r#"{"kind": 5}"#,
        "json: cannot unmarshal number into Go struct field .kind of type string"
    )]
    #[case(
        r#"{"kind": [], "apiVersion": true}"#,
        "json: cannot unmarshal array into Go struct field .kind of type string"
    )]
    #[case(r#"{"kind": 5"#, "unexpected end of JSON input")]
    fn bodies_without_kind_and_version_are_rejected(#[case] body: &str, #[case] problem: &str) {
        assert_eq!(read(body.as_bytes()), Err(problem.to_owned()));
    }
}

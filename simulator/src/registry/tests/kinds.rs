use serde_json::Value;

use super::Rig;
use crate::{
    profile::Profile,
    registry::{ListOptions, RequestBody, RequestInfo},
    scheme::{Kinds, Syntax},
};

#[tokio::test]
async fn a_create_that_ends_after_its_kind_was_removed_leaves_no_object() {
    let rig = Rig::of(Profile::Documented).await;
    let kinds = Kinds::default().file(
        "widget.json",
        r#"{"kind": "Widget", "group": "example.com", "version": "v1", "plural": "widgets", "namespaced": true,
            "verbs": ["create", "list"], "fields": {"metadata": "ObjectMeta?"}}"#,
    );
    let request = || RequestInfo {
        resource: rig.0.scheme().resource("example.com", "v1", "widgets").unwrap().clone(),
        namespace: Some("ns".to_owned()),
        name: None,
        subresource: None,
    };
    rig.0.add_kinds(&kinds).unwrap();
    let late = request();
    rig.0.remove_kind("example.com", "widgets").await.unwrap();
    let body = RequestBody {
        bytes: r#"{"metadata": {"name": "late"}}"#.into(),
        syntax: Syntax::Json,
    };
    assert_eq!(rig.0.create(&late, &body).await.unwrap_err().code, 404);
    rig.0.add_kinds(&kinds).unwrap();
    let list = rig.0.list(&request(), &ListOptions::default()).await.unwrap();
    let list: Value = serde_json::from_slice(&list.body).unwrap();
    assert_eq!(list["items"], Value::Array(Vec::new()));
}

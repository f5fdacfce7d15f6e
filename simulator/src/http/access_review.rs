//! `SelfSubjectAccessReview`, with which newer clients query their permissions.
//!
//! The API has no authorization: everything is allowed.
//! Source: `authorization.k8s.io` of newer Kubernetes.

use http::{Response, request::Parts};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::{
    body::Body,
    negotiation::{Format, OBJECTS, check_accept},
    query::Query,
    respond::{self, ErrorResponse},
    service::Service,
};
use crate::{api::Status, compat::yaml, registry::RequestBody, scheme::Syntax};

impl Service {
    /// Responds to a review with the same review, allowed.
    pub(super) async fn access_review(
        &self,
        version: &str,
        parts: &Parts,
        body: Incoming,
    ) -> Result<Response<Body>, ErrorResponse> {
        check_accept(&parts.headers, OBJECTS)?;
        let review = allowed(version, &self.object(parts, body).await?)?;
        let format = Format::negotiate(&parts.headers, Query::of(parts), OBJECTS)?;
        Ok(respond::object(
            self.profile.created_code(),
            review.to_string().into(),
            format,
        ))
    }
}

fn allowed(version: &str, body: &RequestBody) -> Result<Value, Status> {
    const KIND: &str = "SelfSubjectAccessReview";
    let review = match body.syntax {
        Syntax::Json => serde_json::from_slice(&body.bytes).ok(),
        Syntax::Yaml => yaml::to_value(&body.bytes).ok(),
    };
    let review = review
        .filter(|review: &Value| review["kind"].as_str().is_none_or(|kind| kind == KIND))
        .ok_or_else(|| Status::bad_request(format!("the body is not a {KIND}")))?;
    Ok(json!({
        "kind": KIND,
        "apiVersion": format!("authorization.k8s.io/{version}"),
        "metadata": {"creationTimestamp": null},
        "spec": review.get("spec").cloned().unwrap_or_else(|| json!({})),
        "status": {"allowed": true, "reason": "the API has no authorization"},
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(text: &'static str, syntax: Syntax) -> Result<Value, u16> {
        let body = RequestBody {
            bytes: text.into(),
            syntax,
        };
        allowed("v1", &body).map_err(|status| status.code)
    }

    #[test]
    fn everything_is_allowed() {
        let spec = json!({"resourceAttributes": {"verb": "delete", "resource": "pods"}});
        let allowed = review(
            r#"{
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": {"verb": "delete", "resource": "pods"}}
            }"#,
            Syntax::Json,
        )
        .unwrap();
        assert_eq!((&allowed["status"]["allowed"], &allowed["spec"]), (&json!(true), &spec));
        assert_eq!(allowed["apiVersion"], "authorization.k8s.io/v1");
        assert!(review("spec: {}", Syntax::Yaml).is_ok());
    }

    #[test]
    fn another_body_is_rejected() {
        assert_eq!(review("{", Syntax::Json), Err(400));
        assert_eq!(review(r#"{"kind": "Pod"}"#, Syntax::Json), Err(400));
    }
}

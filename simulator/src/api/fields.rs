//! Field selectors.
//!
//! A [`Selector`] consists of terms separated by commas, `name=value`, `name==value` or `name!=value`, all of which
//! must hold. Blanks are significant, names and values may be empty, and an absent field counts as empty.
//!
//! - Guarantees: no text causes a panic; terms are sorted by their text, which is the order in which unsupported
//!   names are reported.
//! - Limits: there is no escaping; a value cannot contain a comma, nor an operator twice.
//! - Source: `fields` of Kubernetes v1.2, and its functions that convert field labels.
//!
//! The names of each kind, and the error of other names, are data of the kind (`select` in `fixtures/kinds`). In v1.2
//! they are:
//!
//! - Pod: metadata.name, metadata.namespace, spec.nodeName (also as spec.host), spec.restartPolicy, status.phase;
//!   metadata.labels, metadata.annotations and status.podIP are accepted and always empty.
//! - Node: metadata.name, spec.unschedulable (`true`, `false`).
//! - ReplicationController: metadata.name, metadata.namespace, status.replicas.
//! - Event: metadata.name, metadata.namespace, involvedObject.{kind, namespace, name, uid, apiVersion, resourceVersion,
//!   fieldPath}, reason, source (the component), type.
//! - Namespace: metadata.name, status.phase.
//! - PersistentVolume: metadata.name.
//! - Secret: metadata.name, metadata.namespace, type.
//! - Job, in both groups: metadata.name, metadata.namespace, status.successful (the value of status.succeeded).
//! - Endpoints, ResourceQuota, PersistentVolumeClaim, Service, ServiceAccount, ConfigMap, DaemonSet, Deployment,
//!   Ingress: metadata.name, metadata.namespace.
//! - PodTemplate, LimitRange, ReplicaSet, HorizontalPodAutoscaler: none.
//!
//! The error of another name is always 400 `BadRequest`, with the text:
//! - of Pod to Job above: `field label not supported: NAME`;
//! - of Endpoints to ConfigMap: `field label "NAME" not supported for "ConfigMap"`, whatever the kind;
//! - of DaemonSet, Deployment and Ingress: `field label "NAME" not supported for "Ingress"`, whatever the kind;
//! - of PodTemplate, LimitRange, ReplicaSet, and HorizontalPodAutoscaler in extensions: `No field label conversion
//!   function found for version VERSION and kind KIND`, where VERSION is `v1` or `extensions/v1beta1`;
//! - of HorizontalPodAutoscaler in autoscaling: `No field label conversion function found for version:
//!   autoscaling/v1`.
//!
//! A malformed selector is rejected before that (`invalid selector: ...`): 500 without a reason as recorded, 400
//! `BadRequest` as documented. So is a malformed label selector, which is parsed first.

use std::{fmt, str::FromStr};

use super::labels::Set;

/// Term: a field and the value that it must or must not have.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    name: String,
    value: String,
    equal: bool,
}

/// Conditions on an object's fields, all of which must hold. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector(Vec<Term>);

/// Splits `text` at `operator`, if it occurs exactly once.
fn sides<'a>(text: &'a str, operator: &str) -> Option<(&'a str, &'a str)> {
    text.split_once(operator).filter(|(_, right)| !right.contains(operator))
}

impl Selector {
    /// Parses a selector. The error is the recorded server's text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts: Vec<&str> = text.split(',').filter(|part| !part.is_empty()).collect();
        parts.sort_unstable();
        let term = |part: &str| {
            let (equal, (name, value)) = sides(part, "!=")
                .map(|sides| (false, sides))
                .or_else(|| {
                    sides(part, "==")
                        .or_else(|| sides(part, "="))
                        .map(|sides| (true, sides))
                })
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            Ok(Term {
                name: name.to_owned(),
                value: value.to_owned(),
                equal,
            })
        };
        parts.into_iter().map(term).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the selector selects every object.
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Names of the fields in the terms, in the order in which they are checked.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|term| term.name.as_str())
    }

    /// Value that the selector requires of the field `name`, if any.
    pub(crate) fn required(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|term| term.equal && term.name == name)
            .map(|term| term.value.as_str())
    }

    /// Whether an object with these fields is selected.
    pub(crate) fn matches(&self, fields: &impl Set) -> bool {
        self.0
            .iter()
            .all(|term| (fields.value(&term.name).unwrap_or_default() == term.value) == term.equal)
    }
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Term { name, value, equal }) in self.0.iter().enumerate() {
            write!(
                f,
                "{}{name}{}{value}",
                if index == 0 { "" } else { "," },
                if *equal { "=" } else { "!=" }
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", true)]
    #[case("metadata.name=p1", true)]
    #[case("metadata.name==p1", true)]
    #[case("metadata.name!=p1", false)]
    #[case("metadata.name!=p2", true)]
    #[case("spec.nodeName=", true)]
    #[case("spec.nodeName!=", false)]
    #[case("metadata.name=p1,status.phase=Running", true)]
    #[case("metadata.name=p1,status.phase!=Running", false)]
    #[case(",metadata.name=p1,", true)]
    #[case("metadata.name= p1", false)]
    #[case("metadata.name===p1", false)]
    fn a_selector_matches_by_its_terms(#[case] text: &str, #[case] expected: bool) {
        let fields = BTreeMap::from(
            [("metadata.name", "p1"), ("status.phase", "Running")].map(|(k, v)| (k.to_owned(), v.to_owned())),
        );
        assert_eq!(Selector::parse(text).unwrap().matches(&fields), expected);
    }

    #[rstest]
    #[case(
        "metadata.name",
        "invalid selector: 'metadata.name'; can't understand 'metadata.name'"
    )]
    #[case(
        "metadata.name in (p1)",
        "invalid selector: 'metadata.name in (p1)'; can't understand 'metadata.name in (p1)'"
    )]
    #[case("b,a", "invalid selector: 'b,a'; can't understand 'a'")]
    #[case("a=b=c", "invalid selector: 'a=b=c'; can't understand 'a=b=c'")]
    #[case("a=1,b==2==3", "invalid selector: 'a=1,b==2==3'; can't understand 'b==2==3'")]
    fn invalid_selectors_have_the_recorded_errors(#[case] text: &str, #[case] error: &str) {
        assert_eq!(Selector::parse(text), Err(error.to_owned()));
    }

    #[test]
    fn names_are_checked_in_the_order_of_the_terms_texts() {
        let selector = Selector::parse("z=1,=x,a!=2").unwrap();
        assert_eq!(selector.labels().collect::<Vec<_>>(), ["", "a", "z"]);
        assert_eq!((selector.required("z"), selector.required("a")), (Some("1"), None));
    }

    proptest! {
        #[test]
        fn text_round_trips(text in "[ab.]{0,3}(=|!=)[cd.]{0,3}(,[ab.]{0,3}(=|!=)[cd.]{0,3}){0,3}") {
            let selector = Selector::parse(&text).unwrap();
            let again = Selector::parse(&selector.to_string()).unwrap();
            prop_assert_eq!(again.to_string(), selector.to_string());
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,30}") {
            let _ = Selector::parse(&text);
        }
    }
}

//! Persistent volume claims.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use super::{changed, created, lines, metadata};

fn claim(change: Value) -> Value {
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    json!({"metadata": metadata(), "spec": changed(spec, change)})
}

#[rstest]
#[case(json!({}), &[])]
#[case(json!({"accessModes": [], "resources": null}), &[
    "spec.accessModes: Required value: at least 1 accessMode is required",
    "spec.resources[storage]: Required value",
])]
#[case(json!({"accessModes": ["x"]}),
    &["spec.accessModes: Unsupported value: \"x\": supported values: ReadOnlyMany, ReadWriteMany, ReadWriteOnce"])]
fn a_claim(#[case] change: Value, #[case] want: &[&str]) {
    assert_eq!(created("PersistentVolumeClaim", &claim(change)), want);
}

#[rstest]
#[case(json!({"volumeName": "v"}), json!({"volumeName": "v", "resources": {"requests": {"storage": "1024Mi"}}}), true)]
#[case(json!({"volumeName": "v"}), json!({"volumeName": "v", "resources": {"requests": {"storage": "2Gi"}}}), false)]
#[case(json!({"volumeName": "v"}), json!({}), false)]
#[case(json!({}), json!({"volumeName": "v", "accessModes": ["ReadOnlyMany"]}), true)]
fn a_bound_claim_is_immutable(#[case] old: Value, #[case] new: Value, #[case] valid: bool) {
    let (old, new) = (claim(old), claim(new));
    let got = lines(&update(
        "PersistentVolumeClaim",
        "",
        new.as_object().unwrap(),
        old.as_object().unwrap(),
    ));
    let want = "spec: Forbidden: spec is immutable once a claim has been bound to a volume";
    assert_eq!(got, if valid { vec![] } else { vec![want] });
}

#[test]
fn the_status_of_a_claim() {
    let old = claim(json!({}));
    let new = changed(
        old.clone(),
        json!({"spec": {"accessModes": null}, "status": {"capacity": {"storage": "-5"}}}),
    );
    let want = [
        "Spec.accessModes: Required value",
        "status.capacity[storage]: Invalid value: -5: must be a valid resource quantity",
    ];
    assert_eq!(
        lines(&update_status(
            "PersistentVolumeClaim",
            "",
            new.as_object().unwrap(),
            old.as_object().unwrap()
        )),
        want
    );
}

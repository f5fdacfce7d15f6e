//! The suite against a cluster whose controllers write to the objects of the trials. That must not fail a trial.

use std::sync::Arc;

use rstest::rstest;
use stuntdouble_simulator::{Addons, Clock, Simulator};
use stuntdouble_suite::{
    catalog::{Catalog, Profile},
    target::{Credentials, Target},
    trial::{Event, Runner, Selection, Verdict},
};

/// Returns the verdicts of the selected trials on a server that the suite did not start, by case id.
async fn verdicts(base: &str, filters: &[&str]) -> Vec<(String, Verdict)> {
    let target = Target::at(base, &Credentials::default()).unwrap();
    let runner = Runner {
        jobs: 4,
        ..Runner::new(Arc::new(target), "settle")
    };
    let selection = Selection {
        filters: filters.iter().map(|&filter| filter.to_owned()).collect(),
        ..Selection::default()
    };
    let trials = selection.of(&Catalog::embedded().unwrap(), Profile::Documented);
    let mut verdicts = Vec::new();
    let report = |event| {
        if let Event::Ended(outcome) = event {
            verdicts.push((outcome.trial.case.id.clone(), outcome.verdict));
        }
    };
    runner.run(trials, Profile::Documented, report).await;
    verdicts
}

/// Controllers add tokens to accounts, correct statuses, and set the revision of deployments.
#[rstest]
#[case::accounts(
    &[
        "core/v1/serviceaccounts/list/complete",
        "core/v1/serviceaccounts/read/present",
        "core/v1/serviceaccounts/list/watch-removal",
    ],
    true
)]
#[case::statuses(
    &["core/v1/replicationcontrollers/replace-status/", "core/v1/resourcequotas/read/after-status"],
    false
)]
#[case::generations(
    &["extensions/v1beta1/deployments/replace/generation", "extensions/v1beta1/replicasets/patch/no-change"],
    false
)]
#[case::tokens_of_pods(&["core/v1/pods/create/every-field", "core/v1/pods/replace/defaults"], false)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_of_controllers_fail_no_trial(#[case] filters: &[&str], #[case] settles: bool) {
    let cluster = Simulator::builder().addons(Addons::none()).start().await.unwrap();
    let verdicts = verdicts(&cluster.url(), filters).await;
    assert!(verdicts.len() >= filters.len(), "{verdicts:?}");
    for (id, verdict) in verdicts {
        match verdict {
            Verdict::Passed => {}
            Verdict::Skipped(reason) if !settles => assert!(reason.contains("own controllers"), "{id}: {reason}"),
            other => panic!("{id}: {other:?}"),
        }
    }
}

/// Pods without a node are deleted every 30 s from the start of the cluster on: at once if the clock is frozen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletions_by_controllers_fail_no_trial() {
    let start = "2016-03-16T12:00:00Z".parse().unwrap();
    let cluster = Simulator::builder().clock(Clock::frozen(start)).start().await.unwrap();
    let verdicts = verdicts(&cluster.url(), &["watch-field-selector-node"]).await;
    assert!(verdicts.len() >= 2, "{verdicts:?}");
    for (id, verdict) in verdicts {
        let aside = matches!(&verdict, Verdict::Skipped(reason) if reason.contains("own controllers"));
        assert!(aside || matches!(verdict, Verdict::Passed), "{id}: {verdict:?}");
    }
}

//! The suite against a full cluster that it did not start, while controllers, kubelets and add-ons write to it.

use crate::left::left;
use crate::run::{failures, run};
use rstest::rstest;
use stuntdouble_simulator::Simulator;
use stuntdouble_suite::{
    catalog::Profile,
    trial::{Partition, Selection},
};

/// Maximum number of trials that may be skipped because controllers wrote to their objects: trials of a status that
/// controllers set, of service accounts that get tokens, and of pods that get an account.
const MAX_DISTURBED: usize = 20;
/// Number of consecutive runs. Each runs one of `PARTS` parts of all trials.
const RUNS: usize = 3;
const PARTS: usize = 18;

#[rstest]
#[case::documented(stuntdouble_simulator::Profile::Documented, Profile::Documented)]
#[case::kubernetes_1_2(stuntdouble_simulator::Profile::Kubernetes12, Profile::Kubernetes12)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_runs_have_no_failure_and_leave_nothing_behind(
    #[case] of: stuntdouble_simulator::Profile,
    #[case] profile: Profile,
) {
    let cluster = Simulator::builder().profile(of).start().await.unwrap();
    let url = cluster.url();
    let mut disturbed = Vec::new();
    for part in 1..=RUNS {
        let selection = Selection {
            partition: Some(Partition { part, of: PARTS }),
            ..Selection::default()
        };
        let summary = run(&url, &format!("run{part}"), profile, &selection, 32).await;
        assert_eq!(failures(&summary), Vec::<String>::new());
        assert_eq!(summary.left, Vec::<String>::new());
        let aside = summary.set_aside().into_iter();
        let by_controllers = aside.filter(|((_, reason), _)| reason.contains("own controllers"));
        disturbed.extend(by_controllers.flat_map(|(_, ids)| ids));
    }
    assert!(disturbed.len() <= MAX_DISTURBED, "{disturbed:?}");
    let mut left = left(&url).await;
    // Events about pods are written by the cluster and expire.
    left.retain(|object| !object.starts_with("/api/v1/events "));
    assert_eq!(left, Vec::<String>::new());
}

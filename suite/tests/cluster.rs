//! The suite against a living cluster, as a server that somebody else runs: its controllers, kubelets and add-ons act
//! meanwhile.

#![expect(clippy::unwrap_used, reason = "a test may panic, also in what its tests share")]

use left::left;
use rstest::rstest;
use run::{failures, run};
use stuntdouble_simulator::Simulator;
use stuntdouble_suite::{
    catalog::Profile,
    trial::{Partition, Selection},
};

mod left;
mod run;

/// How many trials may be disturbed by controllers so often that they are not judged: those of a status that they put
/// right, of accounts that get tokens, and of pods that get an account.
const DISTURBED: usize = 20;
/// Number of runs in a row, and of the parts of all trials, of which each run plays one.
const RUNS: usize = 3;
const PARTS: usize = 9;

#[rstest]
#[case::documented(stuntdouble_simulator::Profile::Documented, Profile::Documented)]
#[case::kubernetes_1_2(stuntdouble_simulator::Profile::Kubernetes12, Profile::Kubernetes12)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_runs_fail_no_trial_and_leave_nothing(
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
    assert!(disturbed.len() <= DISTURBED, "{disturbed:?}");
    let mut left = left(&url).await;
    // The cluster's own record of pods, which expires.
    left.retain(|object| !object.starts_with("/api/v1/events "));
    assert_eq!(left, Vec::<String>::new());
}

//! Records a run against the simulator, stops the simulator, and runs the suite against the replay.

use std::{collections::BTreeMap, sync::Arc};

use rstest::rstest;
use stuntdouble_cassettes::{Recorder, RecorderOptions};
use stuntdouble_suite::{
    catalog::{Catalog, Need, Profile},
    report::Summary,
    target::{Credentials, Target},
    trial::{Runner, Selection, Verdict},
};

/// Runs the selected trials. The simulator of the target is stopped when this returns.
async fn run(target: Target, profile: Profile, selection: &Selection) -> Summary {
    let runner = Runner {
        jobs: 32,
        ..Runner::new(Arc::new(target), "kept")
    };
    let trials = selection.of(&Catalog::embedded().unwrap(), profile);
    let mut summary = Summary::default();
    runner.run(trials, profile, |event| summary.handle(&event)).await;
    summary
}

fn failed(summary: &Summary) -> Vec<String> {
    summary
        .failures()
        .map(|outcome| format!("{}: {:?}", outcome.trial.case.id, outcome.verdict.failure()))
        .collect()
}

/// Selects every case of every operation once, for alternating kinds.
///
/// A recording does not depend on the kind, except for that of secrets, which has its own test. Log queries are left
/// out because they bypass the recorder.
fn every_case(profile: Profile) -> Selection {
    let mut kinds: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for trial in Selection::default().of(&Catalog::embedded().unwrap(), profile) {
        let case = trial.case;
        if case.data.log_query.is_none() && case.kind.plural != "secrets" {
            let key = (case.operation.id.clone(), case.data.id.clone());
            kinds.entry(key).or_default().push(case.id);
        }
    }
    let ids = kinds
        .into_values()
        .enumerate()
        .map(|(turn, ids)| ids[turn % ids.len()].clone());
    Selection {
        only: Some(ids.collect()),
        ..Selection::default()
    }
}

/// Every case of secrets, whose values are redacted.
fn secrets(profile: Profile) -> Selection {
    let trials = Selection::default().of(&Catalog::embedded().unwrap(), profile);
    let ids = trials
        .into_iter()
        .filter(|trial| trial.case.kind.plural == "secrets")
        .map(|trial| trial.case.id);
    Selection {
        only: Some(ids.collect()),
        ..Selection::default()
    }
}

/// A recording does not depend on the profile: each selection runs under one.
#[rstest]
#[case::every_case(every_case, Profile::Kubernetes12)]
#[case::secrets(secrets, Profile::Documented)]
#[tokio::test(flavor = "multi_thread")]
async fn the_suite_passes_against_a_cassette_of_a_run(
    #[case] select: fn(Profile) -> Selection,
    #[case] profile: Profile,
) {
    let folder = tempfile::tempdir().unwrap();
    let cassette = folder.path().join("run.yaml");
    let selection = select(profile);
    let trials = selection.of(&Catalog::embedded().unwrap(), profile).len();
    let simulator = Target::simulator(profile).await.unwrap();
    let mut options = RecorderOptions::new(simulator.base());
    options.profile = Some(profile.to_string());
    let recorder = Recorder::start(options, &cassette).await.unwrap();
    let live = run(simulator.via(&recorder.url()), profile, &selection).await;
    assert_eq!(failed(&live), Vec::<String>::new());
    assert_eq!(recorder.failure(), None);
    recorder.stop().await;

    let replay = Target::cassette(&cassette).unwrap();
    assert_eq!(replay.profile(), Some(profile));
    let replayed = run(replay, profile, &selection).await;
    assert_eq!(failed(&replayed), Vec::<String>::new());
    // Requests to the secure listener, or to another simulator, bypassed the recorder.
    let skipped = replayed
        .outcomes
        .values()
        .filter(|outcome| matches!(outcome.verdict, Verdict::Skipped(_)));
    for outcome in skipped {
        let case = &outcome.trial.case.data;
        let separate = [Need::LogSearch, Need::LivingCluster, Need::Processes];
        let bypasses_recorder =
            case.cluster_wide || case.credential.is_some() || case.needs.iter().any(|need| separate.contains(need));
        assert!(bypasses_recorder, "{}", outcome.trial.case.id);
    }
    assert!(
        replayed.total().passed * 10 > trials * 8,
        "{} of {trials}",
        replayed.total().passed
    );
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_recorded_as_one_cassette_per_trial(
    #[values(Profile::Documented, Profile::Kubernetes12)] profile: Profile,
) {
    let folder = tempfile::tempdir().unwrap();
    let filters = [
        "authentication/",
        "core/v1/namespaces/delete-collection",
        "core/v1/pods/attach",
        "core/v1/proxy/services-path-get",
        "search/answers/",
        "secrets/create",
        "configmaps/watch-one",
    ];
    let selection = Selection {
        filters: filters.map(str::to_owned).to_vec(),
        ..Selection::default()
    };
    let simulator =
        Target::simulator(profile)
            .await
            .unwrap()
            .recorded_in(folder.path(), profile, Credentials::default());
    let live = run(simulator, profile, &selection).await;
    assert_eq!(failed(&live), Vec::<String>::new());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), live.total().trials);

    let replayed = run(Target::cassette(folder.path()).unwrap(), profile, &selection).await;
    assert_eq!(failed(&replayed), Vec::<String>::new());
    assert_eq!(
        (replayed.total().passed, replayed.total().skipped),
        (live.total().trials, 0)
    );
}

#[tokio::test]
async fn a_cassette_without_a_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        Target::cassette(folder.path())
            .unwrap_err()
            .to_string()
            .contains("there is no trial on it")
    );
    assert!(Target::cassette(&folder.path().join("none.yaml")).is_err());
}

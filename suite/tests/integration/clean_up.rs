//! `stuntdouble conformance` killed during the run, then `--clean-up`: nothing of the run is left on the server.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use crate::left::{get, left};
use crate::server::{PROGRAM, client};
use rstest::rstest;
use stuntdouble_simulator::Simulator;

#[rstest]
#[case::in_a_namespace("namespaces")]
#[case::with_a_volume("persistentvolumes")]
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_killed_run_after_a_clean_up(#[case] there: &str) {
    let server = Simulator::builder().bare(true).start().await.unwrap();
    let url = server.url();
    let filters = [
        "core/v1/persistentvolumes/",
        "core/v1/nodes/",
        "core/v1/configmaps/",
        "core/v1/services/create",
    ];
    let mut run = Command::new(PROGRAM)
        .args([
            "conformance",
            "--allow-cluster-wide",
            "--run",
            "killed",
            "--jobs",
            "4",
            "--target",
            &url,
        ])
        .args(filters)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let of_run = format!("/api/v1/{there}?labelSelector=stuntdouble-run%3Dkilled");
    while get(&url, &of_run).await["items"].as_array().is_none_or(Vec::is_empty) {
        assert!(
            run.try_wait().unwrap().is_none(),
            "the run ended before it created {there}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    run.kill().unwrap();
    run.wait().unwrap();
    assert_ne!(left(&url).await, Vec::<String>::new());

    let clean_up = |run: &str| {
        let arguments = ["conformance", "--target", &url, "--clean-up", run];
        Command::new(PROGRAM).args(arguments).output().unwrap()
    };
    let before = left(&url).await;
    assert!(clean_up("another").status.success());
    assert_eq!(left(&url).await, before, "--clean-up removed objects of another run");
    let output = clean_up("killed");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(left(&url).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pod_that_probes_for_containers_has_the_label_of_the_run() {
    let server = Simulator::builder().start().await.unwrap();
    let url = server.url();
    let run = Command::new(PROGRAM)
        .args([
            "conformance",
            "--run",
            "tries",
            "--target",
            &url,
            "behaviour/pods/create/succeeds",
        ])
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let history =
        format!("{url}/api/v1/watch/namespaces/default/pods?labelSelector=stuntdouble-run%3Dtries&timeoutSeconds=1");
    let history = client().get(history).send().await.unwrap().text().await.unwrap();
    assert!(history.contains("\"name\":\"sd-process-"), "{history}");
    let pods = get(&url, "/api/v1/pods?labelSelector=stuntdouble-run%3Dtries").await;
    assert_eq!(pods["items"], serde_json::json!([]));
}

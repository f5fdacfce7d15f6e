//! A full cluster: time until pods run, and resources used when idle.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::{
    Bench,
    client::{Client, Outcome},
    objects::{PODS, count},
    results::{Bar, Row},
    server::Server,
    statistics::median,
};

const SECTION: &str = "Living cluster";
const CONTROLLERS: &str = "/api/v1/namespaces/default/replicationcontrollers";
const REPLICAS: usize = 500;
/// Time limit until the pods run.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Pods, nodes, and the target in seconds.
const SIZES: [(usize, usize, Option<f64>); 4] = [
    (100, 2, None),
    (1_000, 10, Some(5.0)),
    (3_000, 30, None),
    (10_000, 100, Some(60.0)),
];

pub(crate) async fn measure(bench: &mut Bench) -> Outcome {
    let most = bench.size(1_000, 10_000);
    for (pods, nodes, bar) in SIZES.into_iter().filter(|size| size.0 <= most) {
        let rounds = if pods > 1_000 { 1 } else { bench.rounds().min(3) };
        let (mut times, mut resident, mut idle) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let server = bench.serve(&["--addons", "none", "--nodes", &nodes.to_string()])?;
            times.push(run(&server, pods).await?);
            resident.push(server.resident()?);
            idle.push(idle_share(&server, bench.size(10, 30)).await?);
        }
        let add = |name: &str, values: &[f64], unit: &str| Row::new(SECTION, name, median(values), unit).at(pods);
        let row = add("until so many pods run, 100 a node", &times, "s");
        bench.add(match bar {
            Some(bar) => row.bar(Bar::AtMost(bar)),
            None => row,
        });
        bench.add(add("resident memory then", &resident, "MB").bar_if(pods == 10_000, Bar::AtMost(500.0)));
        let row = add("processor when settled", &idle, "% of a core");
        bench.add(row.bar_if(pods == 1_000, Bar::AtMost(2.0)));
    }
    Ok(())
}

/// Creates replication controllers for this many pods, and waits until all run. Returns the seconds.
async fn run(server: &Server, pods: usize) -> Outcome<f64> {
    let mut client = Client::connect(&server.address).await?;
    let begun = Instant::now();
    for first in (0..pods).step_by(REPLICAS) {
        let replicas = REPLICAS.min(pods - first);
        let controller = format!(
            "{{\"metadata\":{{\"name\":\"web-{first}\"}},\"spec\":{{\"replicas\":{replicas},\
             \"selector\":{{\"part\":\"{first}\"}},\"template\":{{\"metadata\":{{\"labels\":{{\"part\":\"{first}\"}}}},\
             \"spec\":{{\"containers\":[{{\"name\":\"main\",\"image\":\"nginx\"}}]}}}}}}}}"
        );
        client.ask("POST", CONTROLLERS, &controller).await?;
    }
    let running = format!("{PODS}?fieldSelector=status.phase%3DRunning");
    let waiting = format!("{PODS}?fieldSelector=status.phase%21%3DRunning");
    while begun.elapsed() < TIMEOUT {
        if count(&mut client, &waiting).await? == 0 && count(&mut client, &running).await? == pods {
            return Ok(begun.elapsed().as_secs_f64());
        }
        sleep(Duration::from_millis(100)).await;
    }
    let left = count(&mut client, &running).await?;
    Err(format!("{left} of {pods} pods run after {} s", TIMEOUT.as_secs()).into())
}

/// Returns the use of a core in percent over some seconds, after the cluster has settled.
async fn idle_share(server: &Server, seconds: usize) -> Outcome<f64> {
    sleep(Duration::from_secs(10)).await;
    let (before, begun) = (server.processor()?, Instant::now());
    sleep(Duration::from_secs(seconds as u64)).await;
    Ok((server.processor()? - before) / begun.elapsed().as_secs_f64() * 100.0)
}

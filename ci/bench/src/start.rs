//! Start-up, memory, and copies of a cluster.

use crate::{
    Bench,
    client::Outcome,
    objects,
    results::{Bar, Row},
    server::Server,
    statistics::median,
};

const START: &str = "Start-up";
const MEMORY: &str = "Memory";
const FORKS: &str = "Copies of a cluster";

pub(crate) async fn measure(bench: &mut Bench) -> Outcome {
    starts(bench)?;
    let most = bench.size(10_000, 100_000);
    data_directory(bench, most).await?;
    memory(bench).await?;
    forks(bench)
}

fn starts(bench: &mut Bench) -> Outcome {
    let rounds = 3 * bench.rounds();
    let (mut ours, mut hyper, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(bench.serve(&["--bare"])?.ready.as_secs_f64() * 1e3);
        hyper.push(Server::own(&["bare"])?.ready.as_secs_f64() * 1e3);
        whole.push(bench.serve(&[])?.ready.as_secs_f64() * 1e3);
    }
    let row = Row::beside(START, "`serve --bare`, process start to ready", &ours, &hyper, "ms");
    bench.add(row.bar(Bar::AtMost(10.0)));
    bench.add(Row::new(
        START,
        "`serve` with nodes, controllers and add-ons",
        median(&whole),
        "ms",
    ));
    Ok(())
}

/// Measures starts with a data directory that has objects.
async fn data_directory(bench: &mut Bench, most: usize) -> Outcome {
    for objects in [1_000, 10_000, 100_000].into_iter().filter(|objects| *objects <= most) {
        let directory = bench.folder.path().join(format!("objects-{objects}"));
        let path = directory.display().to_string();
        let server = bench.serve(&["--bare", "--data-dir", &path, "--durability", "interval"])?;
        objects::fill(&server.address, objects).await?;
        server.end()?;
        let mut times = Vec::new();
        for _ in 0..bench.rounds() {
            let server = bench.serve(&["--bare", "--data-dir", &path])?;
            times.push(server.ready.as_secs_f64() * 1e3);
            server.end()?;
        }
        let row = Row::new(
            START,
            "`serve --bare --data-dir` with so many pods",
            median(&times),
            "ms",
        )
        .at(objects);
        bench.add(row.bar_if(objects == 100_000, Bar::AtMost(1000.0)));
        std::fs::remove_dir_all(directory)?;
    }
    Ok(())
}

async fn memory(bench: &mut Bench) -> Outcome {
    let hyper = Server::own(&["bare"])?.resident()?;
    for objects in [0, 1_000, 10_000, 100_000] {
        let server = bench.serve(&["--bare"])?;
        objects::fill(&server.address, objects).await?;
        let resident = server.resident()?;
        let row = Row::beside(
            MEMORY,
            "resident, `serve --bare` with so many pods",
            &[resident],
            &[hyper],
            "MB",
        );
        bench.add(row.at(objects).bar_if(objects == 100_000, Bar::AtMost(300.0)));
    }
    Ok(())
}

fn forks(bench: &mut Bench) -> Outcome {
    for count in [10, 100, 1000] {
        let output = std::process::Command::new(std::env::current_exe()?)
            .args(["forks", &count.to_string()])
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        let figures: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [milliseconds, megabytes] = figures[..] else {
            return Err(format!("no figures: {}", String::from_utf8_lossy(&output.stderr)).into());
        };
        let time = Row::new(FORKS, "`Simulator::fork`, all together", milliseconds, "ms").at(count);
        bench.add(time.bar_if(count == 1000, Bar::AtMost(100.0)));
        let memory = Row::new(FORKS, "resident memory of all copies", megabytes, "MB").at(count);
        bench.add(memory.bar_if(count == 1000, Bar::AtMost(100.0)));
    }
    Ok(())
}

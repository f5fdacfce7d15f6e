//! Copies of a cluster, in a process of their own so that their memory can be measured.

use std::time::Instant;

use stuntdouble_simulator::Simulator;

use crate::client::Outcome;

/// Prints the milliseconds and the megabytes of `count` copies.
pub(crate) async fn measure(count: usize) -> Outcome {
    let simulator = Simulator::builder().bare(true).start().await?;
    let before = resident()?;
    let begun = Instant::now();
    let mut copies = Vec::with_capacity(count);
    for _ in 0..count {
        copies.push(simulator.fork().await?);
    }
    let took = begun.elapsed();
    println!("{} {}", took.as_secs_f64() * 1e3, (resident()? - before).max(0.0));
    Ok(())
}

fn resident() -> Outcome<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1)).ok_or("no VmRSS")?;
    Ok(number.parse::<f64>()? / 1024.0)
}

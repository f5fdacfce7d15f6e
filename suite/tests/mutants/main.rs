//! Tests that every deliberate fault (mutant) is caught.
//!
//! - A mutant of `fixtures/mutants` must fail the trials that it names, and they must pass without it.
//! - A mutant made by an operator of `fixtures/mutants/operators` must fail a trial of its operation or kind.
//!
//! A proxy in front of the simulator alters some of the traffic, one proxy per mutant, and has a test of its own. The
//! trials first run through a proxy that alters nothing. A failed setup does not count as caught.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may panic, and so may its helpers"
)]

mod alter;
mod answer;
mod effects;
mod memory;
mod mutant;
mod operator;
mod proxy;
mod request;
mod socket;
mod spdy;
mod stream;
mod undo;
mod when;

use std::{process::ExitCode, sync::Arc};

use futures::StreamExt;
use libtest_mimic::{Arguments, Failed, Trial as Test};
use mimalloc::MiMalloc;
use stuntdouble_simulator::Simulator;
use stuntdouble_suite::{
    catalog::{After, Catalog, Need, Profile},
    report::{Style, explain},
    target::{Credentials, Target},
    trial::{Outcome, Run, Selection, Trial, Verdict},
};
use tokio::{runtime::Runtime, sync::OnceCell};

use crate::{mutant::Mutant, operator::TargetedMutant, proxy::Proxy};

/// The allocator of the program. The tests spend less time in it than in that of the system.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Number of mutants tested concurrently. Most of the time they wait for timeouts.
const JOBS: usize = 48;
/// Maximum number of seconds that a trial waits for a state. The simulator reaches it at once, a mutant never.
const MAX_WAIT: u64 = 20;
/// Maximum number of catching trials shown for a mutant that names none, and number of trials run concurrently to find
/// one.
const MAX_SHOWN: usize = 5;

struct Bench {
    runtime: Runtime,
    trials: Vec<Trial>,
    targets: [OnceCell<Target>; 2],
    living: [OnceCell<FullCluster>; 2],
}

/// A simulator of a full cluster, used as a server that the suite did not start.
struct FullCluster {
    target: Target,
    /// The run that the log lines are loaded for.
    run: Run,
    _running: Simulator,
}

impl FullCluster {
    async fn start(profile: Profile) -> Result<Self, Failed> {
        let rule = match profile {
            Profile::Documented => stuntdouble_simulator::Profile::Documented,
            Profile::Kubernetes12 => stuntdouble_simulator::Profile::Kubernetes12,
        };
        let running = Simulator::builder().profile(rule).seed(7).start().await?;
        let target = Target::at(&running.url(), &Credentials::default())?.loading_logs();
        // Probe the features of the target without the mutant.
        target.with_living_cluster().await?;
        target.runs_processes(&serde_json::json!({})).await?;
        target.has_controllers().await?;
        Ok(Self {
            target,
            run: Run::new("living"),
            _running: running,
        })
    }
}

impl Bench {
    fn new(catalog: &Catalog) -> Result<Self, Box<dyn std::error::Error>> {
        let trials = Profile::ALL
            .into_iter()
            .flat_map(|profile| Selection::default().of(catalog, profile))
            .map(with_short_waits)
            .collect();
        Ok(Self {
            runtime: Runtime::new()?,
            trials,
            targets: Default::default(),
            living: Default::default(),
        })
    }

    fn trial(&self, id: &str, profile: Profile) -> Result<&Trial, Failed> {
        let found = self
            .trials
            .iter()
            .find(|trial| trial.case.id == id && trial.profile == profile);
        found.ok_or_else(|| Failed::from(format!("no trial {id} under the profile {profile}")))
    }

    async fn simulator(&self, profile: Profile) -> Result<&Target, Failed> {
        let target = &self.targets[usize::from(profile == Profile::Kubernetes12)];
        Ok(target.get_or_try_init(|| Target::simulator(profile)).await?)
    }

    async fn living(&self, profile: Profile) -> Result<&FullCluster, Failed> {
        let living = &self.living[usize::from(profile == Profile::Kubernetes12)];
        living.get_or_try_init(|| FullCluster::start(profile)).await
    }

    /// Runs a trial through a proxy that alters traffic as the mutant says, or nothing unless `altered`. `name` is the
    /// name of the run.
    async fn outcome(&self, trial: &Trial, mutant: &Mutant, altered: bool, name: String) -> Result<Outcome, Failed> {
        let altered = altered.then(|| mutant.clone());
        let living;
        let (server, run) = if mutant.living {
            living = self.living(mutant.profile).await?;
            // The log lines belong to one run.
            let run = trial.case.data.needs.contains(&Need::LogLines).then_some(&living.run);
            (living.target.clone(), run)
        } else if mutant.alone {
            (Target::simulator(mutant.profile).await?, None)
        } else {
            (self.server_of(trial).await?, None)
        };
        // Probe the kinds of the target without the mutant.
        server.absent(&trial.case.kind, &trial.case.data.needs).await?;
        let proxy = Proxy::before(server.base(), altered).await?;
        let target = server.via(&proxy.url());
        let own = Run::new(name);
        Ok(trial.run(&target, run.unwrap_or(&own)).await)
    }

    /// Returns the server that a trial needs: the simulator, or one with a full cluster or log search.
    async fn server_of(&self, trial: &Trial) -> Result<Target, Failed> {
        let simulator = self.simulator(trial.profile).await?;
        let needs = |need| trial.case.data.needs.contains(&need);
        let other = if needs(Need::LivingCluster) || needs(Need::Processes) {
            simulator.with_living_cluster().await?
        } else if needs(Need::LogSearch) {
            simulator.with_log_search().await?
        } else {
            None
        };
        Ok(other.unwrap_or_else(|| simulator.clone()))
    }

    /// Returns the ids of up to `limit` trials that catch a mutant and pass without it, running `jobs` of them
    /// concurrently.
    async fn catching(&self, targeted: &TargetedMutant, limit: usize, jobs: usize) -> Vec<String> {
        let mutant = &targeted.mutant;
        let tried = targeted.trials.iter().enumerate().map(async |(number, trial)| {
            let name = format!("s{}x{number}", mutant.number);
            let outcome = self.outcome(trial, mutant, true, name.clone()).await.ok()?;
            if outcome.verdict.failure().is_none_or(|failure| failure.broken) {
                return None;
            }
            let without = self.outcome(trial, mutant, false, format!("{name}w")).await.ok()?;
            matches!(without.verdict, Verdict::Passed).then(|| trial.case.id.clone())
        });
        let caught = futures::stream::iter(tried)
            .buffered(jobs)
            .filter_map(std::future::ready);
        caught.take(limit).collect().await
    }

    /// Returns the id of a trial that catches a mutant. None is a failure.
    fn some_catches(&self, targeted: &TargetedMutant, jobs: usize) -> Result<String, Failed> {
        let caught = self.runtime.block_on(self.catching(targeted, 1, jobs)).pop();
        let missed = || {
            format!(
                "none of {} trials catches the mutant: {}",
                targeted.trials.len(),
                targeted.mutant.fault
            )
        };
        caught.ok_or_else(|| missed().into())
    }

    fn catches(&self, mutant: &Mutant) -> Result<(), Failed> {
        self.runtime.block_on(async {
            if mutant.caught_by.is_empty() {
                let targeted = operator::about(mutant.clone(), &self.trials);
                let caught = self.catching(&targeted, MAX_SHOWN, JOBS).await;
                return Err(format!(
                    "the mutant names no trial in caught-by; these catch it: {}",
                    caught.join(", ")
                )
                .into());
            }
            for (number, id) in mutant.caught_by.iter().enumerate() {
                let trial = self.trial(id, mutant.profile)?;
                for (to_be_caught, run) in [(false, "w"), (true, "b")] {
                    let name = format!("{run}{}x{number}", mutant.number);
                    let outcome = self.outcome(trial, mutant, to_be_caught, name).await?;
                    match &outcome.verdict {
                        Verdict::Failed(failure) if !to_be_caught => {
                            return Err(format!(
                                "{id} fails without the mutant:\n{}",
                                explain(&outcome, failure, Style::default())
                            )
                            .into());
                        }
                        Verdict::Failed(failure) if failure.broken => {
                            return Err(format!("the setup of {id} fails with the mutant: {}", mutant.fault).into());
                        }
                        Verdict::Failed(_) => {}
                        Verdict::Passed if !to_be_caught => {}
                        verdict => {
                            let reason = verdict.reason().unwrap_or_else(|| "it passed".to_owned());
                            return Err(format!("{id} does not catch the mutant: {} ({reason})", mutant.fault).into());
                        }
                    }
                }
            }
            Ok(())
        })
    }
}

/// Limits how long a trial waits for a state after the response.
fn with_short_waits(mut trial: Trial) -> Trial {
    let is_long = |after: &After| matches!(after, After::Contains(state) if state.within > MAX_WAIT);
    if trial.case.data.after.iter().any(is_long) {
        for after in &mut Arc::make_mut(&mut trial.case.data).after {
            if let After::Contains(state) = after {
                state.within = state.within.min(MAX_WAIT);
            }
        }
    }
    trial
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(JOBS);
    let tests = match tests() {
        Ok(tests) => tests,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    libtest_mimic::run(&arguments, tests).exit_code()
}

fn tests() -> Result<Vec<Test>, Box<dyn std::error::Error>> {
    let catalog = Catalog::embedded()?;
    let bench = Arc::new(Bench::new(&catalog)?);
    let mut tests = Vec::new();
    let own = Arc::clone(&bench);
    tests.push(Test::test("proxy/undoes-what-changes-meanwhile", move || {
        own.runtime.block_on(undo::undoes_what_changes_meanwhile())
    }));
    for mutant in mutant::all()? {
        let bench = Arc::clone(&bench);
        tests.push(Test::test(mutant.id.clone(), move || bench.catches(&mutant)));
    }
    for targeted in operator::all(&catalog)? {
        let bench = Arc::clone(&bench);
        let name = format!("operators/{}", targeted.mutant.id);
        tests.push(Test::test(name, move || bench.some_catches(&targeted, 1).map(drop)));
    }
    for targeted in operator::of_file(&bench.trials)? {
        let bench = Arc::clone(&bench);
        let name = format!("file/{}", targeted.mutant.id);
        tests.push(Test::test(name, move || {
            let trial = bench.some_catches(&targeted, MAX_SHOWN)?;
            println!("{} is caught by {trial}", targeted.mutant.id);
            Ok(())
        }));
    }
    Ok(tests)
}

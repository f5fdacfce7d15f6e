//! Every deliberate fault of `fixtures/mutants` is caught by the trials that it names, and they pass without it; every
//! fault that an operator of `fixtures/mutants/operators` makes is caught by a trial of the operation or of its kind.
//!
//! A proxy before the simulator alters some of the traffic, one proxy for each mutant. The trials are first played
//! through a proxy that alters nothing. A failed set-up does not count as caught.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test cannot do without fails it"
)]

mod alter;
mod mutant;
mod operator;
mod proxy;
mod stream;

use std::{collections::BTreeSet, process::ExitCode, sync::Arc};

use futures::StreamExt;
use libtest_mimic::{Arguments, Failed, Trial as Test};
use stuntdouble_suite::{
    catalog::{Catalog, Need, Profile},
    report::{Style, explain},
    target::Target,
    trial::{Run, Selection, Trial, Verdict},
};
use tokio::{runtime::Runtime, sync::OnceCell};

use crate::{mutant::Mutant, operator::Bent, proxy::Proxy};

/// How many mutants are tried at once. Most of the time they wait for what does not come.
const JOBS: usize = 32;

struct Bench {
    runtime: Runtime,
    trials: Vec<Trial>,
    targets: [OnceCell<Target>; 2],
}

impl Bench {
    fn new(catalog: &Catalog) -> Result<Self, Box<dyn std::error::Error>> {
        let trials = Profile::ALL
            .into_iter()
            .flat_map(|profile| Selection::default().of(catalog, profile))
            .collect();
        Ok(Self {
            runtime: Runtime::new()?,
            trials,
            targets: [OnceCell::new(), OnceCell::new()],
        })
    }

    fn trial(&self, id: &str, profile: Profile) -> Result<&Trial, Failed> {
        let found = self
            .trials
            .iter()
            .find(|trial| trial.case.id == id && trial.profile == profile);
        found.ok_or_else(|| Failed::from(format!("there is no trial {id} under {profile}")))
    }

    async fn simulator(&self, profile: Profile) -> Result<&Target, Failed> {
        let target = &self.targets[usize::from(profile == Profile::Kubernetes12)];
        Ok(target.get_or_try_init(|| Target::simulator(profile)).await?)
    }

    /// The server that a trial is played on: the simulator, or one beside it that has what the trial needs.
    async fn server_of(&self, trial: &Trial) -> Result<Target, Failed> {
        let simulator = self.simulator(trial.profile).await?;
        let needs = |need| trial.case.data.needs.contains(&need);
        let beside = if needs(Need::LivingCluster) || needs(Need::Processes) {
            simulator.with_living_cluster().await?
        } else if needs(Need::LogSearch) {
            simulator.with_log_search().await?
        } else {
            None
        };
        Ok(beside.unwrap_or_else(|| simulator.clone()))
    }

    /// Whether some trial catches a fault of an operation.
    fn some_catches(&self, bent: &Bent) -> Result<(), Failed> {
        self.runtime.block_on(async {
            let simulator = self.simulator(bent.mutant.profile).await?;
            let proxy = Proxy::before(simulator.base(), Some(bent.mutant.clone())).await?;
            let target = simulator.clone().via(&proxy.url());
            let run = Run::new(format!("o{}", bent.mutant.number));
            for trial in &bent.trials {
                let outcome = trial.play(&target, &run).await;
                if outcome.verdict.failure().is_some_and(|failure| !failure.broken) {
                    return Ok(());
                }
            }
            Err(format!("none of {} trials catches it: {}", bent.trials.len(), bent.mutant.fault).into())
        })
    }

    /// Ids of the trials of the operations and kinds that a mutant is about and that catch it.
    async fn catching(&self, mutant: &Mutant) -> Result<Vec<String>, Failed> {
        let simulator = self.simulator(mutant.profile).await?;
        let of_profile = || self.trials.iter().filter(|trial| trial.profile == mutant.profile);
        let about = |trial: &&Trial| mutant.when.is_about(&operator::pattern(&trial.case.operation.path));
        let kinds: BTreeSet<(&str, &str)> = of_profile().filter(about).map(operator::kind).collect();
        let run = Run::new(format!("s{}", mutant.number));
        let played = of_profile().filter(|trial| operator::plays(trial) && kinds.contains(&operator::kind(trial)));
        let played = futures::stream::iter(played).map(async |trial| {
            let proxy = Proxy::before(simulator.base(), Some(mutant.clone())).await.ok()?;
            let outcome = trial.play(&simulator.clone().via(&proxy.url()), &run).await;
            let caught = outcome.verdict.failure().is_some_and(|failure| !failure.broken);
            caught.then(|| trial.case.id.clone())
        });
        Ok(played
            .buffer_unordered(JOBS)
            .filter_map(std::future::ready)
            .collect()
            .await)
    }

    fn catches(&self, mutant: &Mutant) -> Result<(), Failed> {
        self.runtime.block_on(async {
            if mutant.caught_by.is_empty() {
                let caught = self.catching(mutant).await?;
                return Err(format!("it names no trial that catches it; these do: {}", caught.join(", ")).into());
            }
            for (number, id) in mutant.caught_by.iter().enumerate() {
                let trial = self.trial(id, mutant.profile)?;
                let server = self.server_of(trial).await?;
                for (altered, run) in [(None, "w"), (Some(mutant.clone()), "b")] {
                    let to_be_caught = altered.is_some();
                    let proxy = Proxy::before(server.base(), altered).await?;
                    let target = server.clone().via(&proxy.url());
                    let run = Run::new(format!("{run}{}x{number}", mutant.number));
                    let outcome = trial.play(&target, &run).await;
                    match &outcome.verdict {
                        Verdict::Failed(failure) if !to_be_caught => {
                            return Err(format!(
                                "{id} fails without it:\n{}",
                                explain(&outcome, failure, Style::default())
                            )
                            .into());
                        }
                        Verdict::Failed(failure) if failure.broken => {
                            return Err(format!("{id} cannot be set up: {}", mutant.fault).into());
                        }
                        Verdict::Failed(_) => {}
                        Verdict::Passed if !to_be_caught => {}
                        verdict => {
                            let reason = verdict.reason().unwrap_or_else(|| "it passes".to_owned());
                            return Err(format!("{id} does not catch it: {} ({reason})", mutant.fault).into());
                        }
                    }
                }
            }
            Ok(())
        })
    }
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
    for mutant in mutant::all()? {
        let bench = Arc::clone(&bench);
        tests.push(Test::test(mutant.id.clone(), move || bench.catches(&mutant)));
    }
    for bent in operator::all(&catalog)? {
        let bench = Arc::clone(&bench);
        let name = format!("operators/{}", bent.mutant.id);
        tests.push(Test::test(name, move || bench.some_catches(&bent)));
    }
    Ok(tests)
}

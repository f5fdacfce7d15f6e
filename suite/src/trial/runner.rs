//! Runs trials concurrently and reports their results as they end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use tokio::sync::Semaphore;

use super::run::Run;
use super::{Expectations, Failure, Outcome, Trial, Verdict};
use crate::catalog::{Level, Profile};
use crate::target::Target;

/// Number of concurrent trials that start pods on a server that the suite did not start. With more, the pods of several
/// runs would fill the nodes, and trials with a part of their pods would wait for one another.
const MAX_POD_TRIALS: usize = 4;

/// An event of a run. All reports are built from these events.
#[derive(Debug, Clone)]
pub enum Event {
    /// The run begins.
    Started {
        /// Target.
        target: String,
        /// Profile.
        profile: Profile,
        /// Number of trials.
        trials: usize,
        /// Name of the run.
        run: String,
    },
    /// A trial has ended.
    Ended(Box<Outcome>),
    /// The run has ended.
    Finished {
        /// Duration.
        took: Duration,
        /// The run was interrupted: not all trials were run.
        interrupted: bool,
        /// Paths of objects that could not be removed.
        left: Vec<String>,
        /// Stale entries of the expectations file, and why they are stale.
        stale: Vec<String>,
    },
}

/// Configuration and runner of trials.
#[derive(Debug)]
pub struct Runner {
    /// Target.
    pub target: Arc<Target>,
    /// Name of the run: a few lower-case letters and digits.
    pub run: String,
    /// Number of concurrent trials.
    pub jobs: usize,
    /// Maximum number of repetitions of a failed trial.
    pub retries: usize,
    /// Whether trials that affect the whole cluster run against a target that the suite did not start.
    pub allow_cluster_wide: bool,
    /// The least binding level. Less binding mismatches are dropped.
    pub level: Level,
    /// Known failures.
    pub expectations: Expectations,
    /// Stop flag. When it is set, no further trial starts; running trials end and clean up.
    pub stop: Arc<AtomicBool>,
}

impl Runner {
    /// Creates a runner with one concurrent trial, no repetitions, all levels and no known failures.
    pub fn new(target: Arc<Target>, run: impl Into<String>) -> Self {
        Self {
            target,
            run: run.into(),
            jobs: 1,
            retries: 0,
            allow_cluster_wide: false,
            level: Level::May,
            expectations: Expectations::default(),
            stop: Arc::default(),
        }
    }

    /// Runs the trials. Calls `report` for every event as it happens. Trials end in no particular order.
    pub async fn run(&self, trials: Vec<Trial>, profile: Profile, mut report: impl FnMut(Event)) {
        let began = Instant::now();
        report(Event::Started {
            target: self.target.description(),
            profile,
            trials: trials.len(),
            run: self.run.clone(),
        });
        let run = Arc::new(Run::new(self.run.clone()));
        // Trials that affect the whole cluster would disturb the others.
        let (alone, together): (Vec<Trial>, Vec<Trial>) =
            trials.into_iter().partition(|trial| trial.case.data.cluster_wide);
        let mut tally = self.expectations.tally();
        let (with_pods, without_pods): (Vec<Trial>, Vec<Trial>) = together
            .into_iter()
            .partition(|trial| !self.target.is_own() && trial.case.data.needs_full_cluster());
        let jobs = self.jobs.max(1);
        let permits = Semaphore::new(jobs);
        let concurrent = |trials: Vec<Trial>, limit: usize| {
            stream::iter(trials)
                .map(|trial| self.run_shared(trial, &run, &permits))
                .buffer_unordered(limit)
        };
        let mut running = stream::select(concurrent(with_pods, MAX_POD_TRIALS), concurrent(without_pods, jobs));
        while let Some(outcome) = running.next().await {
            tally.count(&outcome);
            report(Event::Ended(Box::new(outcome)));
        }
        drop(running);
        for trial in alone {
            let outcome = self.run_alone(trial, &run).await;
            tally.count(&outcome);
            report(Event::Ended(Box::new(outcome)));
        }
        // A server that the suite started is stopped at the end of the run.
        let is_kept = !self.target.is_own();
        let mut left = if is_kept {
            run.clean_up(&self.target).await
        } else {
            Vec::new()
        };
        if is_kept && self.target.has_loaded_logs() {
            let stem = super::logs::stem(&self.target, &self.run);
            let removed = super::logs::remove(&self.target, &stem).await;
            left.extend(removed.err().map(|error| format!("log indices of {stem}: {error}")));
        }
        report(Event::Finished {
            took: began.elapsed(),
            interrupted: self.stop.load(Ordering::Relaxed),
            left,
            stale: tally.stale(),
        });
    }

    async fn run_shared(&self, trial: Trial, run: &Arc<Run>, permits: &Semaphore) -> Outcome {
        // The semaphore is never closed.
        let _permit = permits.acquire().await.ok();
        if let Some(verdict) = self.verdict_without_run(&trial) {
            return outcome(trial, verdict);
        }
        let mut flaky = false;
        for attempt in 0..=self.retries {
            let (target, run, attempted) = (Arc::clone(&self.target), Arc::clone(run), trial.clone());
            // Each trial has a separate task, so that trials use every processor.
            let mut result = match tokio::spawn(async move { attempted.run(&target, &run).await }).await {
                Ok(result) => self.with_expectations(result),
                Err(error) => outcome(
                    trial.clone(),
                    Verdict::Failed(Failure::broken("the trial", error.to_string())),
                ),
            };
            if matches!(result.verdict, Verdict::Failed(_)) && attempt < self.retries && !self.stopped() {
                flaky = true;
                continue;
            }
            result.flaky = flaky && result.verdict == Verdict::Passed;
            return result;
        }
        outcome(trial, Verdict::Skipped("it was not run".to_owned()))
    }

    async fn run_alone(&self, trial: Trial, run: &Run) -> Outcome {
        if let Some(verdict) = self.verdict_without_run(&trial) {
            return outcome(trial, verdict);
        }
        match self.target.fresh().await {
            Ok(Some(own)) => {
                // No clean-up is needed, because that server stops here.
                let own_run = Run::new(self.run.clone());
                self.with_expectations(trial.run(&own, &own_run).await)
            }
            Ok(None) if self.allow_cluster_wide => self.with_expectations(trial.run(&self.target, run).await),
            Ok(None) => {
                let reason = "it affects the whole cluster; pass --allow-cluster-wide to run it";
                outcome(trial, Verdict::Skipped(reason.to_owned()))
            }
            Err(error) => outcome(trial, Verdict::Failed(Failure::broken("the target", error.to_string()))),
        }
    }

    /// Returns the verdict of a trial that must not run.
    fn verdict_without_run(&self, trial: &Trial) -> Option<Verdict> {
        if self.stopped() {
            return Some(Verdict::Skipped("the run was interrupted".to_owned()));
        }
        trial.case.pending().map(|reason| Verdict::Pending(reason.to_owned()))
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn with_expectations(&self, mut outcome: Outcome) -> Outcome {
        if let Verdict::Failed(failure) = &mut outcome.verdict {
            failure.mismatches.retain(|mismatch| mismatch.level <= self.level);
            if failure.mismatches.is_empty() {
                outcome.verdict = Verdict::Passed;
            }
        }
        outcome.verdict = self.expectations.apply(&outcome.trial.case.id, outcome.verdict);
        outcome
    }
}

fn outcome(trial: Trial, verdict: Verdict) -> Outcome {
    Outcome {
        trial,
        verdict,
        took: Duration::ZERO,
        flaky: false,
    }
}

//! Runs trials side by side and reports their results as they come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt;

use super::run::Run;
use super::{Expectations, Failure, Outcome, Trial, Verdict};
use crate::catalog::{Level, Profile};
use crate::target::Target;

/// An event of a run. All reports are made of these.
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
        /// The run was interrupted, so that not all trials were played.
        interrupted: bool,
        /// Paths of what could not be removed.
        left: Vec<String>,
        /// Entries of the expectations file that are of no use, and why.
        stale: Vec<String>,
    },
}

/// How trials are run.
#[derive(Debug)]
pub struct Runner {
    /// Target.
    pub target: Arc<Target>,
    /// Name of the run: a few lower-case letters and digits.
    pub run: String,
    /// Number of trials at once.
    pub jobs: usize,
    /// How often a failed trial is played again.
    pub retries: usize,
    /// Trials that touch the whole cluster are played on a target that the suite did not start.
    pub allow_cluster_wide: bool,
    /// The least binding level: mismatches of a less binding one are dropped.
    pub level: Level,
    /// Known failures.
    pub expectations: Expectations,
    /// Set to stop: no further trial begins, and those that run end and clean up.
    pub stop: Arc<AtomicBool>,
}

impl Runner {
    /// Runs trials one by one and once, of every level, without known failures.
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

    /// Runs the trials. `report` gets every event as it happens; trials end in no particular order.
    pub async fn run(&self, trials: Vec<Trial>, profile: Profile, mut report: impl FnMut(Event)) {
        let began = Instant::now();
        report(Event::Started {
            target: self.target.description(),
            profile,
            trials: trials.len(),
            run: self.run.clone(),
        });
        let run = Arc::new(Run::new(self.run.clone()));
        // Trials that touch the whole cluster would disturb the others.
        let (alone, together): (Vec<Trial>, Vec<Trial>) =
            trials.into_iter().partition(|trial| trial.case.data.cluster_wide);
        let mut use_of = self.expectations.tally();
        let mut running = futures::stream::iter(together)
            .map(|trial| self.one(trial, &run))
            .buffer_unordered(self.jobs.max(1));
        while let Some(outcome) = running.next().await {
            use_of.count(&outcome);
            report(Event::Ended(Box::new(outcome)));
        }
        drop(running);
        for trial in alone {
            let outcome = self.alone(trial, &run).await;
            use_of.count(&outcome);
            report(Event::Ended(Box::new(outcome)));
        }
        // A server that the suite started ends with the run.
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
            stale: use_of.stale(),
        });
    }

    async fn one(&self, trial: Trial, run: &Arc<Run>) -> Outcome {
        if let Some(verdict) = self.not_played(&trial) {
            return outcome(trial, verdict);
        }
        let mut flaky = false;
        for attempt in 0..=self.retries {
            let (target, run, played) = (Arc::clone(&self.target), Arc::clone(run), trial.clone());
            // A task of its own, so that trials use every processor.
            let mut result = match tokio::spawn(async move { played.play(&target, &run).await }).await {
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
        outcome(trial, Verdict::Skipped("it was not played".to_owned()))
    }

    async fn alone(&self, trial: Trial, run: &Run) -> Outcome {
        if let Some(verdict) = self.not_played(&trial) {
            return outcome(trial, verdict);
        }
        match self.target.fresh().await {
            Ok(Some(own)) => {
                // Nothing is cleaned up: that server ends here.
                let own_run = Run::new(self.run.clone());
                self.with_expectations(trial.play(&own, &own_run).await)
            }
            Ok(None) if self.allow_cluster_wide => self.with_expectations(trial.play(&self.target, run).await),
            Ok(None) => {
                let reason = "it touches the whole cluster; --allow-cluster-wide plays it";
                outcome(trial, Verdict::Skipped(reason.to_owned()))
            }
            Err(error) => outcome(trial, Verdict::Failed(Failure::broken("the target", error.to_string()))),
        }
    }

    /// The verdict of a trial that is not played.
    fn not_played(&self, trial: &Trial) -> Option<Verdict> {
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

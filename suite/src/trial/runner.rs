//! Many trials at once, told of as they end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures::StreamExt;

use super::{Expectations, Failure, Outcome, Trial, Verdict};
use crate::target::Target;

/// What happens in a run, in its order. Everything that is reported is made of these.
#[derive(Debug, Clone)]
pub enum Event {
    /// The run begins.
    Started {
        /// What is judged.
        target: String,
        /// By which rule it judges.
        profile: crate::catalog::Profile,
        /// How many trials it has.
        trials: usize,
    },
    /// A trial has ended.
    Ended(Box<Outcome>),
    /// The run has ended.
    Finished {
        /// How long it took.
        took: Duration,
        /// Whether it was interrupted, so that not all trials were played.
        interrupted: bool,
    },
}

/// How trials are run.
#[derive(Debug)]
pub struct Runner {
    /// The target.
    pub target: Arc<Target>,
    /// What sets the names of this run apart from others': a few lower-case letters and digits.
    pub run: String,
    /// How many trials are played at once.
    pub jobs: usize,
    /// Whether trials that touch the whole cluster are played on a target that is not the suite's own.
    pub allow_cluster_wide: bool,
    /// What is known to fail.
    pub expectations: Expectations,
    /// Set when no further trial is to begin. Those that have begun end, and remove their environments.
    pub stop: Arc<AtomicBool>,
}

impl Runner {
    /// Runs the trials. `tell` hears of everything as it happens; trials end in no particular order.
    pub async fn run(&self, trials: Vec<Trial>, profile: crate::catalog::Profile, mut tell: impl FnMut(Event)) {
        let began = Instant::now();
        tell(Event::Started {
            target: self.target.description(),
            profile,
            trials: trials.len(),
        });
        // What touches the whole cluster would fell the environments of the others.
        let (alone, together): (Vec<Trial>, Vec<Trial>) =
            trials.into_iter().partition(|trial| trial.case.data.cluster_wide);
        let mut running = futures::stream::iter(together)
            .map(|trial| self.one(trial))
            .buffer_unordered(self.jobs.max(1));
        while let Some(outcome) = running.next().await {
            tell(Event::Ended(Box::new(outcome)));
        }
        for trial in alone {
            let outcome = self.alone(trial).await;
            tell(Event::Ended(Box::new(outcome)));
        }
        if self.target.has_loaded_logs() {
            // What does not go stays behind: the verdicts stand all the same.
            drop(super::logs::remove(&self.target, &super::logs::stem(&self.target, &self.run)).await);
        }
        tell(Event::Finished {
            took: began.elapsed(),
            interrupted: self.stop.load(Ordering::Relaxed),
        });
    }

    async fn one(&self, trial: Trial) -> Outcome {
        if let Some(outcome) = self.stopped(&trial) {
            return outcome;
        }
        if let Some(reason) = trial.case.pending() {
            let verdict = Verdict::Pending(reason.to_owned());
            return Outcome {
                trial,
                verdict,
                took: Duration::ZERO,
            };
        }
        let (target, run, played) = (Arc::clone(&self.target), self.run.clone(), trial.clone());
        // A task of its own, so that trials run on every processor.
        match tokio::spawn(async move { played.play(&target, &run).await }).await {
            Ok(outcome) => self.with_expectations(outcome),
            Err(error) => {
                let verdict = Verdict::Failed(Failure::broken("the trial", error.to_string()));
                Outcome {
                    trial,
                    verdict,
                    took: Duration::ZERO,
                }
            }
        }
    }

    async fn alone(&self, trial: Trial) -> Outcome {
        if let Some(outcome) = self.stopped(&trial) {
            return outcome;
        }
        let without = |trial, verdict| Outcome {
            trial,
            verdict,
            took: Duration::ZERO,
        };
        match self.target.another().await {
            Ok(Some(own)) => self.with_expectations(trial.play(&own, &self.run).await),
            Ok(None) if self.allow_cluster_wide => self.with_expectations(trial.play(&self.target, &self.run).await),
            Ok(None) => without(
                trial,
                Verdict::Skipped("it touches the whole cluster; --allow-cluster-wide plays it".to_owned()),
            ),
            Err(error) => without(trial, Verdict::Failed(Failure::broken("the target", error.to_string()))),
        }
    }

    /// What comes of a trial that does not begin.
    fn stopped(&self, trial: &Trial) -> Option<Outcome> {
        let verdict = || Verdict::Skipped("the run was interrupted".to_owned());
        let stop = self.stop.load(Ordering::Relaxed);
        stop.then(|| Outcome {
            trial: trial.clone(),
            verdict: verdict(),
            took: Duration::ZERO,
        })
    }

    fn with_expectations(&self, mut outcome: Outcome) -> Outcome {
        outcome.verdict = self.expectations.apply(&outcome.trial.case.id, outcome.verdict);
        outcome
    }
}

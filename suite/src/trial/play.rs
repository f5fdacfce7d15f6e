//! One trial, from the making of its environment to its removal.

use std::time::{Duration, Instant};

use super::environment::{Environment, EnvironmentError};
use super::{Failure, Outcome, Trial, Verdict, build_request, logs, socket, verify, watch};
use crate::catalog::Need;
use crate::check::Answer;
use crate::target::Target;

/// How long a trial may take, its environment included.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the removal of its environment may take.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a request is asked again that somebody else's write overtook.
const CONFLICT_RETRIES: usize = 5;

/// How often a trial is played whose watch begins at a version that the target has history_expired. On a busy target history
/// is short: a hundred changes of a kind, with the recorded server.
const HISTORY_EXPIRED: usize = 5;

/// What came of one play.
enum Attempt {
    Passed,
    Failed(Failure),
    HistoryExpired(Failure),
}

impl Trial {
    /// Plays the trial on a target, whether it is pending or not. `run` sets the names of its environment apart from others'.
    pub async fn play(&self, target: &Target, run: &str) -> Outcome {
        let began = Instant::now();
        let (id, data) = (&self.case.id, &self.case.data);
        let outcome = |verdict| Outcome {
            trial: self.clone(),
            verdict,
            took: began.elapsed(),
        };
        if let Some(reason) = target.pointer_presence(id, &data.needs, data.credential) {
            return outcome(Verdict::Skipped(reason));
        }
        let broken = |error: &dyn std::fmt::Display| Verdict::Failed(Failure::broken("the target", error.to_string()));
        let beside = match data.needs.contains(&Need::LogSearch).then_some(target) {
            Some(target) => match target.with_log_search().await {
                Ok(Some(target)) => Some(target),
                Ok(None) => return outcome(Verdict::Skipped("the target has no log search add-on".to_owned())),
                Err(error) => return outcome(broken(&error)),
            },
            None => None,
        };
        let target = beside.as_ref().unwrap_or(target);
        let mut stem = format!("sd-{run}-{}", self.number);
        if data.log_query.is_some() {
            stem = logs::stem(target, run);
            let loaded = if target.is_recorded() {
                Ok(())
            } else {
                target.load_logs_once(logs::load(target, &stem)).await
            };
            if let Err(error) = loaded {
                return outcome(broken(&error));
            }
        }
        let stage = match target.stage(id, stem, data.credential).await {
            Ok(stage) => stage,
            Err(error) => return outcome(broken(&error)),
        };
        let mut attempt = 0;
        let verdict = loop {
            let stem = format!("{}{}", stage.stem(), "x".repeat(attempt));
            let environment = Environment::named(stage.target(), &self.case, stem);
            let played = tokio::time::timeout(TRIAL_TIMEOUT, self.judged(&environment)).await;
            // What does not go in time stays behind: the verdict stands all the same.
            drop(tokio::time::timeout(CLEANUP_TIMEOUT, environment.remove()).await);
            attempt += 1;
            break match played {
                Ok(Ok(Attempt::Passed)) => Verdict::Passed,
                Ok(Ok(Attempt::HistoryExpired(_))) if attempt < HISTORY_EXPIRED => continue,
                Ok(Ok(Attempt::Failed(failure) | Attempt::HistoryExpired(failure))) => Verdict::Failed(failure),
                Ok(Err(error)) => Verdict::Failed(Failure::broken("the trial", error.to_string())),
                Err(_) => Verdict::Failed(Failure::broken(
                    "the trial",
                    format!("it had not ended after {} s", TRIAL_TIMEOUT.as_secs()),
                )),
            };
        };
        match stage.end().await {
            Some(trouble) if verdict == Verdict::Passed => {
                outcome(Verdict::Failed(Failure::broken("the recording", trouble)))
            }
            _ => outcome(verdict),
        }
    }

    async fn judged(&self, environment: &Environment<'_>) -> Result<Attempt, EnvironmentError> {
        let case = &self.case;
        if let Some(query) = &case.data.log_query {
            return Ok(logs::ask(environment.target(), environment.stem(), query)
                .await?
                .map_or(Attempt::Passed, Attempt::Failed));
        }
        environment.make().await?;
        for action in &case.data.before {
            environment.act(action).await?;
        }
        let mut attempt = 0;
        let (request, mismatches, answer, history_expired) = loop {
            let request = build_request::request(environment, case).await?;
            if let Some(wanted) = &case.data.socket {
                let (found, answer) = socket::talk(environment, case, self.profile, wanted, &request).await?;
                break (request, found, answer, false);
            }
            if case.data.expect.events.is_some() {
                let watched = watch::watch(environment, case, self.profile, &request).await?;
                break (request, watched.found, watched.answer, watched.history_expired);
            }
            let answer = environment.target().send(&request).await?;
            attempt += 1;
            let to_be_taken = verify::expected_status(case, self.profile)? < 400;
            let of_what_is_there = case
                .data
                .body
                .as_ref()
                .is_some_and(|body| body.current.is_some() || body.resource);
            if answer.status == 409 && to_be_taken && of_what_is_there && attempt < CONFLICT_RETRIES {
                continue;
            }
            let mismatches = verify::answer(environment, case, self.profile, &answer)?;
            if request.method != http::Method::GET
                && request.method != http::Method::DELETE
                && (200..300).contains(&answer.status)
            {
                self.remember(environment, &answer);
            }
            break (request, mismatches, answer, false);
        };
        let answered = Some(format!(
            "{} {}",
            answer.status,
            answer.content_type.as_deref().unwrap_or("(no content type)")
        ));
        if !mismatches.is_empty() {
            let failure = Failure {
                mismatches,
                curl: Some(request.curl(environment.target().base())),
                answered,
            };
            return Ok(if history_expired {
                Attempt::HistoryExpired(failure)
            } else {
                Attempt::Failed(failure)
            });
        }
        for after in &case.data.after {
            if let Some((mismatch, reading)) = verify::afterwards(environment, after).await? {
                let asked = request.curl(environment.target().base());
                return Ok(Attempt::Failed(Failure {
                    mismatches: vec![mismatch],
                    curl: Some(format!("{asked}\n{reading}")),
                    answered,
                }));
            }
        }
        Ok(Attempt::Passed)
    }

    /// Takes note of an object that a write answered with, in whichever media type.
    fn remember(&self, environment: &Environment<'_>, answer: &Answer) {
        let media = answer.content_type.as_deref().and_then(crate::request::Media::of);
        if let Some(object) = media.and_then(|media| crate::request::decode(&answer.text(), media).ok()) {
            environment.remember(&object);
        }
    }
}

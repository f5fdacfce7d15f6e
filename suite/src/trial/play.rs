//! One trial, from the making of its world to its removal.

use std::time::{Duration, Instant};

use super::world::{World, WorldError};
use super::{Failure, Outcome, Trial, Verdict, ask, logs, socket, verify, watch};
use crate::catalog::Need;
use crate::check::Answer;
use crate::target::Target;

/// How long a trial may take, its world included.
const WHOLE: Duration = Duration::from_secs(60);
/// How long the removal of its world may take.
const REMOVAL: Duration = Duration::from_secs(30);
/// How often a request is asked again that somebody else's write overtook.
const OVERTAKEN: usize = 5;

/// How often a trial is played whose watch begins at a version that the target has forgotten. On a busy target history
/// is short: a hundred changes of a kind, with the recorded server.
const FORGOTTEN: usize = 5;

/// What came of one play.
enum Played {
    Fine,
    Failed(Failure),
    Forgotten(Failure),
}

impl Trial {
    /// Plays the trial on a target, whether it is pending or not. `run` sets the names of its world apart from others'.
    pub async fn play(&self, target: &Target, run: &str) -> Outcome {
        let began = Instant::now();
        let (id, case) = (&self.row.id, &self.row.case);
        let outcome = |verdict| Outcome {
            trial: self.clone(),
            verdict,
            took: began.elapsed(),
        };
        if let Some(reason) = target.lacks(id, &case.needs, case.credential) {
            return outcome(Verdict::Skipped(reason));
        }
        let broken = |error: &dyn std::fmt::Display| Verdict::Failed(Failure::broken("the target", error.to_string()));
        let beside = match case.needs.contains(&Need::LogSearch).then_some(target) {
            Some(target) => match target.with_log_search().await {
                Ok(Some(target)) => Some(target),
                Ok(None) => return outcome(Verdict::Skipped("the target has no log search add-on".to_owned())),
                Err(error) => return outcome(broken(&error)),
            },
            None => None,
        };
        let target = beside.as_ref().unwrap_or(target);
        let mut stem = format!("sd-{run}-{}", self.number);
        if case.log_query.is_some() {
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
        let stage = match target.stage(id, stem, case.credential).await {
            Ok(stage) => stage,
            Err(error) => return outcome(broken(&error)),
        };
        let mut attempt = 0;
        let verdict = loop {
            let stem = format!("{}{}", stage.stem(), "x".repeat(attempt));
            let world = World::named(stage.target(), &self.row, stem);
            let played = tokio::time::timeout(WHOLE, self.judged(&world)).await;
            // What does not go in time stays behind: the verdict stands all the same.
            drop(tokio::time::timeout(REMOVAL, world.remove()).await);
            attempt += 1;
            break match played {
                Ok(Ok(Played::Fine)) => Verdict::Passed,
                Ok(Ok(Played::Forgotten(_))) if attempt < FORGOTTEN => continue,
                Ok(Ok(Played::Failed(failure) | Played::Forgotten(failure))) => Verdict::Failed(failure),
                Ok(Err(error)) => Verdict::Failed(Failure::broken("the trial", error.to_string())),
                Err(_) => Verdict::Failed(Failure::broken(
                    "the trial",
                    format!("it had not ended after {} s", WHOLE.as_secs()),
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

    async fn judged(&self, world: &World<'_>) -> Result<Played, WorldError> {
        let row = &self.row;
        if let Some(query) = &row.case.log_query {
            return Ok(logs::ask(world.target(), world.stem(), query)
                .await?
                .map_or(Played::Fine, Played::Failed));
        }
        world.make().await?;
        for action in &row.case.before {
            world.act(action).await?;
        }
        let mut attempt = 0;
        let (request, mismatches, answer, forgotten) = loop {
            let request = ask::request(world, row).await?;
            if let Some(wanted) = &row.case.socket {
                let (found, answer) = socket::talk(world, row, self.profile, wanted, &request).await?;
                break (request, found, answer, false);
            }
            if row.case.expect.events.is_some() {
                let watched = watch::watch(world, row, self.profile, &request).await?;
                break (request, watched.found, watched.answer, watched.forgotten);
            }
            let answer = world.target().send(&request).await?;
            attempt += 1;
            let to_be_taken = verify::expected_status(row, self.profile)? < 400;
            let of_what_is_there = row
                .case
                .body
                .as_ref()
                .is_some_and(|body| body.current.is_some() || body.resource);
            if answer.status == 409 && to_be_taken && of_what_is_there && attempt < OVERTAKEN {
                continue;
            }
            let mismatches = verify::answer(world, row, self.profile, &answer)?;
            if request.method != http::Method::GET
                && request.method != http::Method::DELETE
                && (200..300).contains(&answer.status)
            {
                self.note(world, &answer);
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
                curl: Some(request.curl(world.target().base())),
                answered,
            };
            return Ok(if forgotten {
                Played::Forgotten(failure)
            } else {
                Played::Failed(failure)
            });
        }
        for after in &row.case.after {
            if let Some((mismatch, reading)) = verify::afterwards(world, after).await? {
                let asked = request.curl(world.target().base());
                return Ok(Played::Failed(Failure {
                    mismatches: vec![mismatch],
                    curl: Some(format!("{asked}\n{reading}")),
                    answered,
                }));
            }
        }
        Ok(Played::Fine)
    }

    /// Takes note of an object that a write answered with, in whichever media type.
    fn note(&self, world: &World<'_>, answer: &Answer) {
        let media = answer.content_type.as_deref().and_then(crate::request::Media::of);
        if let Some(object) = media.and_then(|media| crate::request::decode(&answer.text(), media).ok()) {
            world.note(&object);
        }
    }
}

//! One trial: set-up, request, checks, clean-up.

use std::time::{Duration, Instant};

use serde_json::json;

use super::environment::{Environment, namespaces_needed};
use super::environment_error::EnvironmentError;
use super::run::{LABEL, Run};
use super::{
    Failure, Outcome, Trial, Verdict, act, admission, afterwards, beginning, build_request, contract, logs, race,
    socket, verify, watch,
};
use crate::catalog::{CaseData, Need};
use crate::check::{Answer, Mismatch};
use crate::request::Request;
use crate::target::Target;

/// Time limit of a trial, including its set-up.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum number of attempts of a request that conflicts with another client's write.
const MAX_CONFLICT_ATTEMPTS: usize = 5;
/// Maximum number of attempts of a trial whose watch starts at a version that the target no longer keeps, or falls
/// behind. A busy target has a short history: v1.2 keeps 100 changes of a kind.
const MAX_EXPIRED_ATTEMPTS: usize = 5;
/// Maximum number of attempts of a trial whose objects the target's own controllers write to.
const MAX_DISTURBED_ATTEMPTS: usize = 3;

/// Result of one attempt.
enum Attempt {
    Passed,
    Failed(Failure),
    HistoryExpired(Failure),
    /// The attempt failed, and the target's own controllers wrote to its objects meanwhile.
    Disturbed,
}

impl Trial {
    /// Runs the trial against a target, even if it is pending.
    pub async fn run(&self, target: &Target, run: &Run) -> Outcome {
        let began = Instant::now();
        let verdict = self.verdict(target, run).await;
        Outcome {
            trial: self.clone(),
            verdict: verdict.without_secrets(target),
            took: began.elapsed(),
            flaky: false,
        }
    }

    async fn verdict(&self, target: &Target, run: &Run) -> Verdict {
        let (id, data) = (&self.case.id, &self.case.data);
        if let Some(reason) = target.missing_need(id, &data.needs, data.credential) {
            return Verdict::Skipped(reason);
        }
        let broken = |error: &dyn std::fmt::Display| Verdict::Failed(Failure::broken("set-up", error.to_string()));
        let other = match required_target(target, data, run).await {
            Ok(Ok(other)) => other,
            Ok(Err(missing)) => return Verdict::Skipped(missing),
            Err(error) => return broken(&error),
        };
        let target = other.as_ref().unwrap_or(target);
        match target.absent(&self.case.kind, &data.needs).await {
            Ok(Some(kind)) => return Verdict::Absent(kind),
            Ok(None) => {}
            Err(error) => return broken(&error),
        }
        if data.needs.contains(&Need::LogLines) && !target.is_recorded() {
            let stem = logs::stem(target, run.name());
            if let Err(error) = target.load_logs_once(logs::load(target, &stem)).await {
                return broken(&error);
            }
        }
        let mut attempt = 0;
        loop {
            attempt += 1;
            break match self.attempt(target, run, attempt - 1).await {
                Ok(Attempt::Passed) => Verdict::Passed,
                Ok(Attempt::HistoryExpired(_)) if attempt < MAX_EXPIRED_ATTEMPTS => continue,
                Ok(Attempt::Disturbed) if attempt < MAX_DISTURBED_ATTEMPTS => continue,
                Ok(Attempt::Disturbed) => {
                    let reason = "the target's own controllers wrote to its objects while it ran";
                    Verdict::Skipped(reason.to_owned())
                }
                Ok(Attempt::Failed(failure) | Attempt::HistoryExpired(failure)) => Verdict::Failed(failure),
                Err(error) => broken(&error),
            };
        }
    }

    /// Runs the trial once, in a new environment.
    async fn attempt(&self, target: &Target, run: &Run, number: usize) -> Result<Attempt, EnvironmentError> {
        let needed = if target.is_recorded() {
            0
        } else {
            namespaces_needed(&self.case)
        };
        let lease = run.lease(target, needed).await?;
        // A log query uses the index names under which the run has loaded the lines.
        let stem = match self.case.data.log_query {
            Some(_) => logs::stem(target, run.name()),
            None => run.stem(self.number, number),
        };
        let credential = self.case.data.credential;
        let session = target
            .session(&self.case.id, stem, lease.names().to_vec(), credential)
            .await?;
        let (stem, namespaces) = (session.stem().to_owned(), session.namespaces().to_vec());
        let controlled = self.case.kind.controlled && session.target().has_controllers().await?;
        let target = match controlled || self.case.data.needs_full_cluster() {
            // The audit would report writes of the cluster's own components as contradictions.
            true => session.target().clone(),
            false => session.target().clone().audited(&format!("{stem}-")),
        };
        let environment =
            Environment::new(&target, run, &self.case, stem, namespaces).with_wait_for_controllers(number > 0);
        let result = tokio::time::timeout(TRIAL_TIMEOUT, self.run_checks(&environment)).await;
        let is_clean = environment.remove().await;
        drop(environment);
        let error = session.end().await;
        if is_clean {
            lease.release();
        }
        match (result, error) {
            (Ok(Ok(Attempt::Passed)), Some(error)) => Ok(Attempt::Failed(Failure::broken("the recording", error))),
            (Ok(result), _) => result,
            (Err(_), _) => {
                let reason = format!("it did not end within {} s", TRIAL_TIMEOUT.as_secs());
                Ok(Attempt::Failed(Failure::broken("the trial", reason)))
            }
        }
    }

    /// Runs the trial. Returns [`Attempt::Disturbed`] if it fails and the target's own controllers wrote to its
    /// objects.
    async fn run_checks(&self, environment: &Environment<'_>) -> Result<Attempt, EnvironmentError> {
        let result = self.result(environment).await;
        // The write met another version of the object, or none.
        let conflicted = matches!(result, Err(EnvironmentError::Refused { status: 404 | 409, .. }));
        let failed = matches!(result, Ok(Attempt::Failed(_) | Attempt::HistoryExpired(_)));
        if (conflicted || failed) && environment.is_disturbed(conflicted).await? {
            return Ok(Attempt::Disturbed);
        }
        result
    }

    async fn result(&self, environment: &Environment<'_>) -> Result<Attempt, EnvironmentError> {
        let data = &self.case.data;
        if let Some(query) = &data.log_query {
            let failure = logs::query(environment.target(), environment.stem(), query).await?;
            return Ok(failure.map_or(Attempt::Passed, Attempt::Failed));
        }
        environment.set_up().await?;
        if let Some(writers) = data.contract {
            let failure = contract::check_contract(environment, self.profile, writers).await?;
            return Ok(failure.map_or(Attempt::Passed, Attempt::Failed));
        }
        for action in &data.before {
            environment.act(action).await?;
        }
        let (request, mut mismatches, answer, expired) = self.send_request(environment).await?;
        let mut curl = match &data.socket {
            Some(wanted) => environment.target().curl_upgrade(&request, wanted),
            None => environment.target().curl(&request),
        };
        if mismatches.is_empty() {
            for (after, level) in afterwards::checks(environment, &request, &answer) {
                if let Some((mismatch, reading)) = afterwards::check(environment, &after).await? {
                    mismatches.push(mismatch.at(level));
                    curl = format!("{curl}\n{reading}");
                    break;
                }
            }
        }
        if mismatches.is_empty()
            && let Some((mismatch, reading)) = afterwards::check_collection(environment, &request).await?
        {
            mismatches.push(mismatch);
            curl = format!("{curl}\n{reading}");
        }
        mismatches.extend(environment.violations());
        if mismatches.is_empty() {
            mismatches.extend(environment.target().violations());
        }
        if mismatches.is_empty() {
            return Ok(Attempt::Passed);
        }
        let failure = Failure {
            mismatches,
            steps: environment.steps(),
            curl: Some(curl),
            answered: Some(answered(&answer)),
            broken: false,
        };
        Ok(if expired {
            Attempt::HistoryExpired(failure)
        } else {
            Attempt::Failed(failure)
        })
    }

    /// Sends the request of the case. Returns it with its mismatches, its response, and whether the start version is
    /// too old.
    async fn send_request(
        &self,
        environment: &Environment<'_>,
    ) -> Result<(Request, Vec<Mismatch>, Answer, bool), EnvironmentError> {
        let data = &self.case.data;
        let mut attempt = 0;
        loop {
            let request = build_request::request(environment, &self.case).await?;
            if let Some(wanted) = data.socket.as_ref().filter(|_| data.expect.events.is_none()) {
                let (found, answer) = socket::exchange(environment, self.profile, wanted, &request).await?;
                return Ok((request, found, answer, false));
            }
            if data.expect.events.is_some() {
                let watched = watch::watch(environment, self.profile, &request).await?;
                return Ok((request, watched.found, watched.answer, watched.history_expired));
            }
            if let Some(begins) = &data.expect.begins {
                let (found, answer) = beginning::begins(environment, self.profile, begins, &request).await?;
                return Ok((request, found, answer, false));
            }
            if let Some(writers) = data.race {
                let (found, answer) = race::race(environment, &request, writers).await?;
                return Ok((request, found, answer, false));
            }
            if let Some(clients) = data.patches {
                let (found, answer) = race::patches(environment, &request, clients).await?;
                return Ok((request, found, answer, false));
            }
            let answer = match environment.target().send(&request).await {
                Err(error) if error.is_of_answer() => {
                    let mismatch = Mismatch::new("response", "a complete response", error.to_string());
                    return Ok((request, vec![mismatch], Answer::default(), false));
                }
                answer => answer?,
            };
            attempt += 1;
            let succeeds = !verify::expected_status(&self.case, self.profile)?.is_error();
            let reads_first = data
                .body
                .as_ref()
                .is_some_and(|body| body.current.is_some() || body.resource);
            let (attempts, pause) = act::NOT_READY_RETRIES;
            let is_accepted = data.eventually && !succeeds && (200..300).contains(&answer.status);
            let is_early = is_accepted || (succeeds || data.eventually) && act::is_not_ready(&answer);
            if is_early && attempt < attempts {
                if is_accepted {
                    environment.undo(&request, &answer).await?;
                }
                tokio::time::sleep(pause).await;
                continue;
            }
            if answer.status == 409 && succeeds && reads_first && attempt < MAX_CONFLICT_ATTEMPTS {
                continue;
            }
            let mismatches = verify::answer(environment, self.profile, &request, &answer)?;
            let writes = request.method != http::Method::GET && request.method != http::Method::DELETE;
            if writes && (200..300).contains(&answer.status) {
                remember(environment, &request, &answer);
            }
            return Ok((request, mismatches, answer, false));
        }
    }
}

/// Returns the other target that provides what the case needs, or `None` if this one does. The inner error is the
/// reason why there is none.
async fn required_target(
    target: &Target,
    data: &CaseData,
    run: &Run,
) -> Result<Result<Option<Target>, String>, EnvironmentError> {
    let missing = |what: &str| Ok(Err(what.to_owned()));
    let mut found = None;
    if data.needs_full_cluster() {
        found = target.with_living_cluster().await?;
        match &found {
            None => return missing("the target has no ready node, or no running controllers"),
            Some(living)
                if data.needs.contains(&Need::Processes)
                    && !living.runs_processes(&json!({LABEL: run.name()})).await? =>
            {
                return missing("the containers of the target run no processes");
            }
            Some(living) if data.needs.contains(&Need::Kubelets) && !living.reaches_kubelets().await? => {
                return missing("the proxy of the target cannot reach a kubelet");
            }
            Some(_) => {}
        }
    }
    // A full cluster that the suite starts has the add-on.
    let own = found.as_ref().is_some_and(Target::is_own);
    if data.needs.contains(&Need::LogSearch) && !own {
        found = target.with_log_search().await?;
        if found.is_none() {
            return missing("the target has no log search add-on");
        }
    }
    if data.needs.contains(&Need::Admission) && !admission::is_enforced(target, run).await? {
        return missing("the target does not enforce limit ranges");
    }
    if let Some(service) = &data.add_on
        && !found.as_ref().unwrap_or(target).has_add_on(service).await?
    {
        return Ok(Err(format!("the target has no add-on {service}")));
    }
    Ok(Ok(found))
}

/// Returns the status and media type of a response.
fn answered(answer: &Answer) -> String {
    if answer.status == 0 {
        return "(no complete response)".to_owned();
    }
    let media = answer.content_type.as_deref().unwrap_or("(no content type)");
    format!("{} {media}", answer.status)
}

/// Remembers the object that a write returned, in JSON or YAML.
fn remember(environment: &Environment<'_>, request: &Request, answer: &Answer) {
    let media = answer.content_type.as_deref().and_then(crate::request::Media::of);
    if let Some(mut object) = media.and_then(|media| crate::request::decode(&answer.text(), media).ok()) {
        // The response to a status replacement has the self link of the status.
        if let Some(path) = request.path.strip_suffix("/status")
            && let Some(link) = object.pointer_mut("/metadata/selfLink")
        {
            *link = path.into();
        }
        let sent = request
            .body
            .as_deref()
            .and_then(|body| serde_json::from_slice(body).ok());
        environment.returned(&object, &sent.unwrap_or_default());
        let name = object.pointer("/metadata/name").and_then(serde_json::Value::as_str);
        if let Some(name) = name.filter(|name| request.method == http::Method::POST && !name.is_empty()) {
            environment.created(format!("{}/{name}", request.path));
        }
    }
}

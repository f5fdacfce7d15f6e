//! Progress of a session: the replayed interactions, and the next one for a request.

use super::aliases::Aliases;
use super::changes::{Changes, concerns};
use super::index::{Candidate, RequestIndex, Unplayed};
use super::state::State;
use crate::interaction::{Interaction, Request, is_of_length, is_placeholder};
use crate::matcher::{ParsedRequest, RequestMatch};
use parking_lot::Mutex;
use regex::Regex;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// Maximum number of explanations that are kept.
const MAX_MISSES: usize = 1000;

/// Maximum number of requests in an explanation.
const MAX_NEAREST: usize = 3;

/// Maximum number of differences of each.
const MAX_DIFFERENCES: usize = 4;

/// Maximum length of a URL in an explanation.
const MAX_URL_LENGTH: usize = 300;

/// A session that is being replayed.
///
/// The time to answer a request does not depend on the length of the session.
pub(super) struct Playback {
    interactions: Vec<Arc<Interaction>>,
    index: RequestIndex,
    /// UUIDs in responses, with the position of the first. Clients received them and do not generate others for them.
    answered: HashMap<String, usize>,
    progress: Mutex<Progress>,
    /// Time of the last response.
    last_request: watch::Sender<Instant>,
}

struct Progress {
    unplayed: Unplayed,
    changes: Changes,
    aliases: Aliases,
    misses: Vec<String>,
}

/// The interaction for a request.
#[derive(Clone)]
pub(super) struct SelectedInteraction {
    pub(super) position: usize,
    pub(super) interaction: Arc<Interaction>,
    /// Whether it was replayed before.
    pub(super) again: bool,
}

/// The position up to which all changes were replayed, for streams that wait for them.
#[derive(Debug)]
pub(super) struct Causes(usize);

impl Playback {
    pub(super) fn new(interactions: Vec<Interaction>) -> Self {
        let index = RequestIndex::new(interactions.iter().map(|each| ParsedRequest::new(&each.request)));
        let progress = Progress {
            unplayed: index.unplayed(),
            changes: Changes::default(),
            aliases: Aliases::default(),
            misses: Vec::new(),
        };
        let mut answered = HashMap::new();
        for (position, response) in interactions
            .iter()
            .enumerate()
            .filter_map(|(position, each)| Some((position, each.response()?)))
        {
            for uuid in uuids(&response.payload.bytes()) {
                answered.entry(uuid).or_insert(position);
            }
        }
        Self {
            answered,
            interactions: interactions.into_iter().map(Arc::new).collect(),
            index,
            progress: Mutex::new(progress),
            last_request: watch::channel(Instant::now()).0,
        }
    }

    /// Selects the interaction for a request.
    ///
    /// # Errors
    /// An explanation if there is none.
    pub(super) fn select(&self, request: &Request) -> Result<SelectedInteraction, String> {
        let mut progress = self.progress.lock();
        let parsed = ParsedRequest::new(&as_recorded(request, &progress.aliases));
        let aliases = &progress.aliases;
        let same = |there: &str, here: &str| is_redacted(there, here, aliases);
        let admits = |group: usize, found: &RequestMatch| {
            let next = progress.unplayed.after(group, None);
            let position = next.or(self.index.positions(group).last().copied()).unwrap_or_default();
            aliases.admit(&found.values) && !found.values.iter().any(|(there, _)| self.was_answered(there, position))
        };
        let found = self.index.find(
            &parsed,
            &progress.unplayed,
            |recorded| recorded.other_headers(&parsed, same),
            admits,
        );
        let selected = match self.next(&parsed, &found, &progress) {
            Ok(Some(selected)) => selected,
            Ok(None) => return Err(self.miss(&mut progress, self.explain(&parsed, request))),
            Err(why) => return Err(self.miss(&mut progress, why)),
        };
        let (position, candidate) = selected;
        if let Some(candidate) = found.into_iter().nth(candidate) {
            progress.aliases.learn(candidate.values);
        }
        self.play(&mut progress, position)
            .ok_or_else(|| format!("{} {} has no position in the session", request.method, request.url))
    }

    /// Whether a value was in a response before the request at a position.
    fn was_answered(&self, value: &str, position: usize) -> bool {
        self.answered
            .get(&value.to_ascii_lowercase())
            .is_some_and(|first| *first < position)
    }

    /// The next interaction of a group: the first that was not replayed and is not stale. If there is none, the last
    /// one again if the request is safe.
    fn next(
        &self,
        request: &ParsedRequest,
        found: &[Candidate],
        progress: &Progress,
    ) -> Result<Option<(usize, usize)>, String> {
        let each = || found.iter().map(|candidate| candidate.group).enumerate();
        let unplayed = |after: Option<usize>| {
            let positions = each().filter_map(|(n, group)| Some((progress.unplayed.after(group, after)?, n)));
            positions.min()
        };
        let last = each()
            .filter_map(|(n, group)| Some((*self.index.positions(group).last()?, n)))
            .max();
        if !request.reads() {
            let next = unplayed(None);
            if let (None, Some((last, _))) = (next, last) {
                let count: usize = each().map(|(_, group)| self.index.positions(group).len()).sum();
                return Err(format!(
                    "{} {} was recorded {count} times (last as {}), and was requested once more",
                    request.method,
                    request.path,
                    self.id(last)
                ));
            }
            return Ok(next);
        }
        let recorded = each().find_map(|(_, group)| self.index.request(*self.index.positions(group).first()?));
        let Some(recorded) = recorded else {
            return Ok(None);
        };
        let change = progress.changes.last(&recorded.path);
        let fresh = |(position, _): &(usize, usize)| change.is_none_or(|change| *position > change);
        let next = unplayed(change).or(last.filter(fresh)).or_else(|| unplayed(None));
        match (next, change) {
            (None, Some(change)) => Err(format!(
                "{} {} was recorded only before interaction {}, which changed it and has been replayed",
                request.method,
                request.path,
                self.id(change)
            )),
            (next, _) => Ok(next),
        }
    }

    fn play(&self, progress: &mut Progress, position: usize) -> Option<SelectedInteraction> {
        let interaction = self.interactions.get(position)?.clone();
        let again = self.index.play(position, &mut progress.unplayed);
        if !again
            && self.is_change(position)
            && let Some(request) = self.index.request(position)
        {
            progress.changes.note(&request.path, position);
        }
        self.last_request.send_replace(Instant::now());
        Some(SelectedInteraction {
            position,
            interaction,
            again,
        })
    }

    /// Whether an interaction changed something.
    fn is_change(&self, position: usize) -> bool {
        let succeeded = |each: &Arc<Interaction>| {
            each.response()
                .is_some_and(|response| (200..300).contains(&response.status))
        };
        let request = self.index.request(position);
        request.is_some_and(|request| !request.reads()) && self.interactions.get(position).is_some_and(succeeded)
    }

    fn id(&self, position: usize) -> u64 {
        self.interactions.get(position).map_or(0, |interaction| interaction.id)
    }

    fn miss(&self, progress: &mut Progress, why: String) -> String {
        if progress.misses.len() < MAX_MISSES {
            progress.misses.push(why.clone());
        }
        self.last_request.send_replace(Instant::now());
        why
    }

    fn explain(&self, parsed: &ParsedRequest, request: &Request) -> String {
        let mut text = format!("{} {} was not recorded.", request.method, shown(&request.url));
        for (differences, position) in self.index.nearest(parsed).into_iter().take(MAX_NEAREST) {
            let Some(interaction) = self.interactions.get(position) else {
                continue;
            };
            let (method, url) = (&interaction.request.method, shown(&interaction.request.url));
            text.push_str(&format!("\nNear is {} ({method} {url}):", interaction.id));
            for difference in differences.iter().take(MAX_DIFFERENCES) {
                text.push_str(&format!("\n  {difference}"));
            }
        }
        text
    }

    /// Converts a recorded text to the live one.
    pub(super) fn live<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.progress.lock().aliases.live(text)
    }

    /// Converts a recorded body or message to the live one. One that begins with an object is JSON: v1.2 sends watches
    /// without a media type.
    pub(super) fn live_body<'t>(&self, text: &'t str, is_json: bool) -> Cow<'t, str> {
        match is_json || text.starts_with('{') {
            true => self.progress.lock().aliases.live_json(text),
            false => self.live(text),
        }
    }

    /// Whether recorded texts need no conversion.
    pub(super) fn is_verbatim(&self) -> bool {
        self.progress.lock().aliases.is_empty()
    }

    pub(super) fn misses(&self) -> Vec<String> {
        self.progress.lock().misses.clone()
    }

    /// The interactions that were replayed, or those that were not.
    fn played(&self, played: bool) -> Vec<&Arc<Interaction>> {
        let unplayed = &self.progress.lock().unplayed;
        let is = |position: &usize| self.index.is_played(*position, unplayed) == played;
        let positions = (0..self.interactions.len()).filter(is);
        positions
            .filter_map(|position| self.interactions.get(position))
            .collect()
    }

    /// Numbers of the interactions that were not replayed.
    pub(super) fn unplayed(&self) -> Vec<u64> {
        self.played(false)
            .into_iter()
            .map(|interaction| interaction.id)
            .collect()
    }

    /// The state that the replayed interactions imply.
    pub(super) fn state(&self) -> State {
        State::of(self.played(true).into_iter().map(AsRef::as_ref))
    }

    /// The changes that a stream waits for.
    pub(super) fn causes(&self, stream: &SelectedInteraction) -> Causes {
        Causes(stream.position + 1)
    }

    /// Waits until all changes before a frame were replayed, or there was no request for a while.
    pub(super) async fn wait_for_causes(
        &self,
        stream: &SelectedInteraction,
        at: Duration,
        causes: &mut Causes,
        hold: Duration,
    ) {
        let mut requests = self.last_request.subscribe();
        loop {
            let last = *requests.borrow_and_update();
            if self.are_causes_replayed(stream, at, causes) {
                return;
            }
            match timeout_at(last + hold, requests.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }

    fn are_causes_replayed(&self, stream: &SelectedInteraction, at: Duration, causes: &mut Causes) -> bool {
        let path = stream.interaction.request.path();
        let Some(until) = stream.interaction.started.checked_add(at).ok() else {
            return true;
        };
        let progress = self.progress.lock();
        while let Some(other) = self.interactions.get(causes.0).filter(|other| other.started <= until) {
            let is_cause = self.is_change(causes.0) && concerns(other.request.path(), path);
            if is_cause && !self.index.is_played(causes.0, &progress.unplayed) {
                return false;
            }
            causes.0 += 1;
        }
        true
    }
}

/// The UUIDs in a body.
fn uuids(body: &[u8]) -> Vec<String> {
    static FORM: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b").ok());
    let text = String::from_utf8_lossy(body);
    FORM.iter()
        .flat_map(|form| form.find_iter(&text))
        .map(|found| found.as_str().to_ascii_lowercase())
        .collect()
}

/// Whether two credentials are equal, or the recorded one was redacted and can be bound to the live one.
fn is_redacted(recorded: &str, live: &str, aliases: &Aliases) -> bool {
    let secret = |text: &str| text.rsplit(' ').next().unwrap_or_default().to_owned();
    let scheme = |text: &str| {
        text.rsplit_once(' ')
            .map_or(String::new(), |(scheme, _)| scheme.to_owned())
    };
    let (there, here) = (secret(recorded), secret(live));
    is_placeholder(&there)
        && is_of_length(&there, here.len())
        && scheme(recorded) == scheme(live)
        && aliases.can_match(&there, &here)
}

fn as_recorded(request: &Request, aliases: &Aliases) -> Request {
    if aliases.is_empty() {
        return request.clone();
    }
    let body = request.body.as_ref().map(|body| match std::str::from_utf8(body) {
        Ok(text) => aliases.recorded(text).into_owned().into(),
        Err(_) => body.clone(),
    });
    Request {
        url: aliases.recorded(&request.url).into_owned(),
        body,
        ..request.clone()
    }
}

/// Formats a URL for an explanation.
fn shown(url: &str) -> Cow<'_, str> {
    match url.char_indices().nth(MAX_URL_LENGTH) {
        Some((end, _)) => format!("{}...", url.get(..end).unwrap_or_default()).into(),
        None => url.into(),
    }
}

#[cfg(test)]
mod tests;

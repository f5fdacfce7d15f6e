//! Progress of a session: which interactions have been replayed, and which is next for a request.

use super::Speed;
use super::aliases::Aliases;
use super::state::State;
use crate::interaction::{Interaction, Request};
use crate::matcher::{Ask, Fit, Match};
use parking_lot::Mutex;
use regex::Regex;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

/// How many explanations of misses are kept.
const MISSES: usize = 1000;

/// How many of the nearest requests an explanation names, and how many differences of each.
const NEAREST: usize = 3;
const DIFFERENCES: usize = 4;

/// The interactions of a session, and its progress.
pub(super) struct Script {
    interactions: Vec<Arc<Interaction>>,
    asks: Vec<Ask>,
    /// The places of the requests of a method and path.
    places: HashMap<(String, String), Vec<usize>>,
    /// The UUIDs in answers, with the place of the first. Clients were given them, and make no others up.
    answered: HashMap<String, usize>,
    progress: Mutex<Progress>,
    moved: watch::Sender<Instant>,
}

/// A recorded request that fits: how well, its place, and the volatile values to bind.
type Fitting = ((Fit, usize), usize, Vec<(String, String)>);

struct Progress {
    played: Vec<bool>,
    /// The changes that were replayed, in the order of the recording.
    changes: Vec<usize>,
    aliases: Aliases,
    misses: Vec<String>,
}

/// The interaction that answers a request.
#[derive(Clone)]
pub(super) struct Taken {
    pub(super) place: usize,
    pub(super) interaction: Arc<Interaction>,
    /// Whether it had been replayed before.
    pub(super) again: bool,
}

impl Script {
    pub(super) fn new(interactions: Vec<Interaction>) -> Self {
        let asks: Vec<Ask> = interactions.iter().map(|each| Ask::new(&each.request)).collect();
        let mut places: HashMap<(String, String), Vec<usize>> = HashMap::new();
        for (place, ask) in asks.iter().enumerate() {
            places
                .entry((ask.method.clone(), ask.path.clone()))
                .or_default()
                .push(place);
        }
        let progress = Progress {
            played: vec![false; asks.len()],
            changes: Vec::new(),
            aliases: Aliases::default(),
            misses: Vec::new(),
        };
        let mut answered = HashMap::new();
        for (place, answer) in interactions
            .iter()
            .enumerate()
            .filter_map(|(place, each)| Some((place, each.answer()?)))
        {
            for uuid in uuids(&answer.payload.bytes()) {
                answered.entry(uuid).or_insert(place);
            }
        }
        Self {
            answered,
            interactions: interactions.into_iter().map(Arc::new).collect(),
            asks,
            places,
            progress: Mutex::new(progress),
            moved: watch::channel(Instant::now()).0,
        }
    }

    /// Takes the interaction that answers a request, or explains why there is none.
    pub(super) fn take(&self, request: &Request) -> Result<Taken, String> {
        let mut progress = self.progress.lock();
        let ask = Ask::new(&as_recorded(request, &progress.aliases));
        let own = self
            .places
            .get(&(ask.method.clone(), ask.path.clone()))
            .map_or(&[][..], Vec::as_slice);
        let mut found = self.fitting(&ask, own.iter().copied(), &progress);
        if found.is_empty() {
            found = self.fitting(&ask, 0..self.asks.len(), &progress);
        }
        let best = found.iter().map(|(rank, ..)| *rank).min();
        found.retain(|(rank, ..)| Some(*rank) == best);
        let group: Vec<usize> = found.iter().map(|(_, place, _)| *place).collect();
        let chosen = match self.next(&ask, &group, &progress) {
            Ok(Some(chosen)) => chosen,
            Ok(None) => return Err(self.miss(&mut progress, self.explain(&ask, request))),
            Err(why) => return Err(self.miss(&mut progress, why)),
        };
        if let Some((_, _, pairs)) = found.into_iter().find(|(_, place, _)| *place == chosen) {
            progress.aliases.learn(pairs);
        }
        self.play(&mut progress, chosen)
            .ok_or_else(|| format!("{} {} has no place in the session", request.method, request.url))
    }

    /// The recorded requests that fit, each with its rank and the volatile values to bind.
    fn fitting(&self, ask: &Ask, places: impl Iterator<Item = usize>, progress: &Progress) -> Vec<Fitting> {
        let mut found = Vec::new();
        for place in places {
            let Some(recorded) = self.asks.get(place).filter(|recorded| recorded.method == ask.method) else {
                continue;
            };
            if let Match::Fits(fit, pairs) = recorded.matches(ask)
                && progress.aliases.admit(&pairs)
                && !pairs.iter().any(|(there, _)| self.was_answered(there, place))
            {
                let same = |there: &str, here: &str| redacted(there, here, &progress.aliases);
                found.push(((fit, recorded.other_headers(ask, same)), place, pairs));
            }
        }
        found
    }

    /// Whether a value was in an answer before the request at a place.
    fn was_answered(&self, value: &str, place: usize) -> bool {
        self.answered
            .get(&value.to_ascii_lowercase())
            .is_some_and(|first| *first < place)
    }

    /// Which of equal requests comes next: the first that has not been replayed and that no change has made stale; of
    /// what only reads, else the last one again.
    fn next(&self, ask: &Ask, group: &[usize], progress: &Progress) -> Result<Option<usize>, String> {
        let unplayed = |place: &&usize| progress.played.get(**place) == Some(&false);
        if !ask.reads() {
            if let (None, Some(last)) = (group.iter().find(unplayed), group.last()) {
                let id = self.id(*last);
                return Err(format!(
                    "{} {} was recorded {} times (last as {id}), and is asked once more",
                    ask.method,
                    ask.path,
                    group.len()
                ));
            }
            return Ok(group.iter().find(unplayed).copied());
        }
        let Some(recorded) = group.first().and_then(|place| self.asks.get(*place)) else {
            return Ok(None);
        };
        let touches = |change: &&usize| self.asks.get(**change).is_some_and(|change| change.touches(recorded));
        let change = progress.changes.iter().rev().find(touches).copied();
        let fresh = |place: &&usize| change.is_none_or(|change| **place > change);
        let next = group
            .iter()
            .find(|place| unplayed(place) && fresh(place))
            .or_else(|| group.iter().rfind(fresh))
            .or_else(|| group.iter().find(unplayed))
            .copied();
        match (next, change) {
            (None, Some(change)) => Err(format!(
                "{} {} was recorded only before interaction {}, which changed it and has been replayed",
                ask.method,
                ask.path,
                self.id(change)
            )),
            (next, _) => Ok(next),
        }
    }

    fn play(&self, progress: &mut Progress, place: usize) -> Option<Taken> {
        let interaction = self.interactions.get(place)?.clone();
        let played = progress.played.get_mut(place)?;
        let again = std::mem::replace(played, true);
        if !again && self.changes(place) {
            let at = progress.changes.partition_point(|other| *other < place);
            progress.changes.insert(at, place);
        }
        self.moved.send_replace(Instant::now());
        Some(Taken {
            place,
            interaction,
            again,
        })
    }

    /// Whether an interaction changed something.
    fn changes(&self, place: usize) -> bool {
        let succeeded =
            |each: &Arc<Interaction>| each.answer().is_some_and(|answer| (200..300).contains(&answer.status));
        self.asks.get(place).is_some_and(|ask| !ask.reads()) && self.interactions.get(place).is_some_and(succeeded)
    }

    fn id(&self, place: usize) -> u64 {
        self.interactions.get(place).map_or(0, |interaction| interaction.id)
    }

    fn miss(&self, progress: &mut Progress, why: String) -> String {
        if progress.misses.len() < MISSES {
            progress.misses.push(why.clone());
        }
        self.moved.send_replace(Instant::now());
        why
    }

    fn explain(&self, ask: &Ask, request: &Request) -> String {
        let shared = |path: &str| {
            let pairs = path.split('/').zip(ask.path.split('/'));
            pairs.take_while(|(one, two)| one == two).count()
        };
        let mut nearest: Vec<(bool, usize, usize, Vec<String>, usize)> = Vec::new();
        for (place, recorded) in self.asks.iter().enumerate() {
            if let Match::Differs(differences) = recorded.matches(ask) {
                let far = usize::MAX - shared(&recorded.path);
                nearest.push((
                    recorded.method != ask.method,
                    differences.len(),
                    far,
                    differences,
                    place,
                ));
            }
        }
        nearest.sort();
        let mut text = format!("{} {} was not recorded.", request.method, request.url);
        for (_, _, _, differences, place) in nearest.into_iter().take(NEAREST) {
            let Some(interaction) = self.interactions.get(place) else {
                continue;
            };
            let (method, url) = (&interaction.request.method, &interaction.request.url);
            text.push_str(&format!("\nNear is {} ({method} {url}):", interaction.id));
            for difference in differences.iter().take(DIFFERENCES) {
                text.push_str(&format!("\n  {difference}"));
            }
        }
        text
    }

    /// A recorded text for the live clients.
    pub(super) fn live<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.progress.lock().aliases.live(text)
    }

    /// Whether recorded texts are served as they are.
    pub(super) fn is_verbatim(&self) -> bool {
        self.progress.lock().aliases.is_empty()
    }

    pub(super) fn misses(&self) -> Vec<String> {
        self.progress.lock().misses.clone()
    }

    pub(super) fn unplayed(&self) -> Vec<u64> {
        let progress = self.progress.lock();
        let all = self.interactions.iter().zip(&progress.played);
        all.filter(|(_, played)| !**played)
            .map(|(interaction, _)| interaction.id)
            .collect()
    }

    /// What the interactions that were replayed add up to.
    pub(super) fn state(&self) -> State {
        let progress = self.progress.lock();
        let all = self.interactions.iter().zip(&progress.played);
        State::of(
            all.filter(|(_, played)| **played)
                .map(|(interaction, _)| interaction.as_ref()),
        )
    }

    /// Waits until the changes have been replayed that could have caused what a stream carried at a time, or no client
    /// has asked anything for a while.
    pub(super) async fn caused(&self, stream: &Taken, at: Duration, hold: Duration) {
        let mut moved = self.moved.subscribe();
        loop {
            let last = *moved.borrow_and_update();
            if self.has_caused(stream, at) {
                return;
            }
            match timeout_at(last + hold, moved.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }

    fn has_caused(&self, stream: &Taken, at: Duration) -> bool {
        let begun = stream.interaction.started;
        let Some(until) = begun.checked_add(at).ok() else {
            return true;
        };
        let Some(ask) = self.asks.get(stream.place) else {
            return true;
        };
        let progress = self.progress.lock();
        let later = self.interactions.iter().enumerate().skip(stream.place + 1);
        later
            .take_while(|(_, other)| other.started <= until)
            .filter(|(place, _)| self.changes(*place) && self.asks.get(*place).is_some_and(|other| other.touches(ask)))
            .all(|(place, _)| progress.played.get(place) == Some(&true))
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

/// Whether two credentials of a request are the same, or one was redacted and can be bound to the other.
fn redacted(recorded: &str, live: &str, aliases: &Aliases) -> bool {
    let secret = |text: &str| text.rsplit(' ').next().unwrap_or_default().to_owned();
    let scheme = |text: &str| {
        text.rsplit_once(' ')
            .map_or(String::new(), |(scheme, _)| scheme.to_owned())
    };
    let there = secret(recorded);
    crate::interaction::is_placeholder(&there)
        && scheme(recorded) == scheme(live)
        && aliases.stands_for(&there, &secret(live))
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

/// When what a stream carries is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    begun: Instant,
    speed: Speed,
    pub(super) hold: Duration,
}

impl Pace {
    pub(super) fn new(speed: Speed, hold: Duration) -> Self {
        Self {
            begun: Instant::now(),
            speed,
            hold,
        }
    }

    /// Waits until what came at this time is due.
    pub(super) async fn due(&self, at: Duration) {
        if let Speed::Factor(factor) = self.speed
            && let Ok(after) = Duration::try_from_secs_f64(at.as_secs_f64() / factor)
        {
            sleep_until(self.begun + after).await;
        }
    }

    /// Whether time passes at all.
    pub(super) fn is_instant(&self) -> bool {
        self.speed == Speed::Instant
    }
}

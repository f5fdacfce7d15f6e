//! The order and the concurrency of a session: streams stay open while the requests that move them are played.

use super::Verdict;
use super::judge::Judge;
use super::player::{Got, Player};
use crate::interaction::{Cassette, Interaction, Payload};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A pause in the recording longer than this was meant: something was waited for.
const PAUSE: Duration = Duration::from_millis(900);

/// No pause is waited for longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A stream whose head does not come (some servers send it with the first frame) is taken to be open after this.
const OPENED: Duration = Duration::from_millis(300);

/// A stream that is open has this long to be set up on the server's side.
const SETTLE: Duration = Duration::from_millis(150);

/// How long the end of a stream is waited for.
const STREAM_END: Duration = Duration::from_secs(40);

struct Pending<'a> {
    interaction: &'a Interaction,
    task: JoinHandle<Got>,
    place: usize,
}

/// Plays a session; the verdicts are in the order of its interactions.
pub(super) async fn play(cassette: &Cassette, mut judge: Judge, player: Player) -> Vec<Verdict> {
    let mut verdicts: Vec<Option<Verdict>> = Vec::new();
    let mut pending: Vec<Pending<'_>> = Vec::new();
    let mut last: Option<Timestamp> = None;
    for interaction in cassette
        .interactions
        .iter()
        .filter(|each| judge.concerns(each))
        .collect::<Vec<_>>()
    {
        if streams(interaction) {
            let place = verdicts.len();
            verdicts.push(None);
            let task = open(&player, &judge, interaction).await;
            pending.push(Pending {
                interaction,
                task,
                place,
            });
            last = Some(interaction.started);
            continue;
        }
        let pause = last.map_or(Duration::ZERO, |last| {
            Duration::try_from(interaction.started.duration_since(last)).unwrap_or_default()
        });
        if pause > PAUSE {
            if pending.is_empty() {
                sleep(pause.min(LONGEST_PAUSE)).await;
            } else {
                collect(&mut pending, &mut verdicts, &mut judge).await;
            }
        }
        let got = match player.call(interaction, &judge.bound) {
            Ok(call) => player.play(call, Arc::new(Notify::new())).await,
            Err(why) => Got::nothing(why),
        };
        verdicts.push(Some(judge.verdict(interaction, &got)));
        last = interaction
            .started
            .checked_add(interaction.took.unwrap_or_default())
            .ok()
            .or(last);
    }
    collect(&mut pending, &mut verdicts, &mut judge).await;
    verdicts.into_iter().flatten().collect()
}

fn streams(interaction: &Interaction) -> bool {
    let payload = interaction.response().map(|response| &response.payload);
    matches!(payload, Some(Payload::Stream(_) | Payload::Messages(_)))
}

async fn open(player: &Player, judge: &Judge, interaction: &Interaction) -> JoinHandle<Got> {
    let opened = Arc::new(Notify::new());
    let (call, player, told) = (player.call(interaction, &judge.bound), player.clone(), opened.clone());
    let task = tokio::spawn(async move {
        match call {
            Ok(call) => player.play(call, told).await,
            Err(why) => Got::nothing(why),
        }
    });
    let _ = timeout(OPENED, opened.notified()).await;
    sleep(SETTLE).await;
    task
}

async fn collect(pending: &mut Vec<Pending<'_>>, verdicts: &mut [Option<Verdict>], judge: &mut Judge) {
    for mut stream in pending.drain(..) {
        let got = match timeout(STREAM_END, &mut stream.task).await {
            Ok(Ok(got)) => got,
            Ok(Err(error)) => Got::nothing(error.to_string()),
            Err(_) => {
                stream.task.abort();
                Got::nothing("the stream did not end")
            }
        };
        if let Some(verdict) = verdicts.get_mut(stream.place) {
            *verdict = Some(judge.verdict(stream.interaction, &got));
        }
    }
}

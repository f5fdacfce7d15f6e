//! Order and concurrency of a session: streams stay open while the requests that cause their frames are sent.

use super::Verdict;
use super::judge::Judge;
use super::player::{LiveResponse, Player};
use crate::interaction::{Cassette, Interaction, Payload};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A longer pause in the recording is repeated, because the client waited for something.
const MIN_PAUSE: Duration = Duration::from_millis(900);

/// Maximum length of a repeated pause.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Timeout for the head of a stream. Some servers send it only with the first frame.
const HEAD_TIMEOUT: Duration = Duration::from_millis(300);

/// Delay after the head of a stream, so that the server can start it.
const SETTLE_DELAY: Duration = Duration::from_millis(150);

/// Timeout for the end of a stream.
const STREAM_END_TIMEOUT: Duration = Duration::from_secs(40);

struct Pending<'a> {
    interaction: &'a Interaction,
    task: JoinHandle<LiveResponse>,
    place: usize,
}

/// Sends the requests of a session. Returns the verdicts in the order of the interactions.
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
        if pause > MIN_PAUSE {
            if pending.is_empty() {
                sleep(pause.min(MAX_PAUSE)).await;
            } else {
                collect(&mut pending, &mut verdicts, &mut judge).await;
            }
        }
        let got = match player.call(interaction, &judge.bound) {
            Ok(call) => player.play(call, Arc::new(Notify::new())).await,
            Err(why) => LiveResponse::nothing(why),
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

async fn open(player: &Player, judge: &Judge, interaction: &Interaction) -> JoinHandle<LiveResponse> {
    let opened = Arc::new(Notify::new());
    let (call, player, told) = (player.call(interaction, &judge.bound), player.clone(), opened.clone());
    let task = tokio::spawn(async move {
        match call {
            Ok(call) => player.play(call, told).await,
            Err(why) => LiveResponse::nothing(why),
        }
    });
    let _ = timeout(HEAD_TIMEOUT, opened.notified()).await;
    sleep(SETTLE_DELAY).await;
    task
}

async fn collect(pending: &mut Vec<Pending<'_>>, verdicts: &mut [Option<Verdict>], judge: &mut Judge) {
    for mut stream in pending.drain(..) {
        let got = match timeout(STREAM_END_TIMEOUT, &mut stream.task).await {
            Ok(Ok(got)) => got,
            Ok(Err(error)) => LiveResponse::nothing(error.to_string()),
            Err(_) => {
                stream.task.abort();
                LiveResponse::nothing("the stream did not end")
            }
        };
        if let Some(verdict) = verdicts.get_mut(stream.place) {
            *verdict = Some(judge.verdict(stream.interaction, &got));
        }
    }
}

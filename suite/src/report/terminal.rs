//! The report for a terminal: progress during the run, then failures, the table and the totals.

use std::io::Write;
use std::time::Instant;

use super::summary::scores_in_words;
use super::{Conformance, Count, Report, Style, Summary, explain};
use crate::catalog::Level;
use crate::trial::{Event, Verdict};

/// Maximum length of the id beside the progress bar, in characters.
const MAX_LATEST: usize = 48;

/// Writes a report for people. Progress goes to a separate writer, if there is one.
#[derive(Debug)]
pub struct Terminal<W, P> {
    out: W,
    progress: Option<P>,
    style: Style,
    summary: Summary,
    failed: usize,
    began: Instant,
    /// Id of the trial that ended last.
    latest: String,
}

impl<W: Write, P: Write> Terminal<W, P> {
    /// Creates a report that is written to `out`, and its progress to `progress`, which must be a terminal.
    pub fn new(out: W, progress: Option<P>, style: Style) -> Self {
        Self {
            out,
            progress,
            style,
            summary: Summary::default(),
            failed: 0,
            began: Instant::now(),
            latest: String::new(),
        }
    }

    /// Draws the progress bar with the rate and the remaining time.
    fn progress(&mut self) -> std::io::Result<()> {
        let Some(progress) = &mut self.progress else {
            return Ok(());
        };
        let (done, all) = (self.summary.outcomes.len(), self.summary.expected.max(1));
        let filled = done * 30 / all;
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(30 - filled.min(30)));
        let failed = if self.failed > 0 {
            self.style.bad(&format!("  {} failed", self.failed))
        } else {
            String::new()
        };
        let rate = done as f64 / self.began.elapsed().as_secs_f64().max(0.1);
        let left = (all.saturating_sub(done)) as f64 / rate.max(0.1);
        let latest: String = self.latest.chars().take(MAX_LATEST).collect();
        let latest = self.style.faint(&latest);
        write!(
            progress,
            "\r\u{1b}[K{bar} {done}/{all}  {rate:.0}/s  {left:.0} s left{failed}  {latest}"
        )?;
        progress.flush()
    }

    fn clear(&mut self) -> std::io::Result<()> {
        match &mut self.progress {
            Some(progress) => {
                write!(progress, "\r\u{1b}[K")?;
                progress.flush()
            }
            None => Ok(()),
        }
    }

    /// Writes failures by cause, trials that were not run, the table and the verdicts.
    fn end(&mut self) -> std::io::Result<()> {
        let (style, summary) = (self.style, &self.summary);
        for (outcome, failure, others) in summary.causes() {
            let id = &outcome.trial.case.id;
            writeln!(self.out, "{} {}", style.bad("FAILED"), style.strong(id))?;
            writeln!(self.out, "{}", explain(outcome, failure, style))?;
            if !others.is_empty() {
                let ids: Vec<&str> = others.iter().map(|other| other.trial.case.id.as_str()).collect();
                let head = format!("  the same in {} more: ", others.len());
                writeln!(self.out, "{}{}", style.faint(&head), ids.join(", "))?;
            }
            writeln!(self.out)?;
        }
        for ((verdict, reason), ids) in summary.set_aside() {
            let trials = if ids.len() == 1 { "trial" } else { "trials" };
            writeln!(
                self.out,
                "{} {} {trials}: {reason}",
                style.open(&verdict.to_uppercase()),
                ids.len()
            )?;
        }
        for path in &summary.left {
            writeln!(self.out, "{} {path}", style.bad("NOT REMOVED"))?;
        }
        for stale in &summary.stale {
            writeln!(self.out, "{} {stale}", style.open("STALE EXPECTATION"))?;
        }
        self.out.write_all(table(summary, style).as_bytes())?;
        let total = summary.total();
        writeln!(self.out, "\n{}", totals(&total, summary.took.as_secs_f64(), style))?;
        for (level, count) in summary.by_level() {
            let words = summary.conformance_in_words(level);
            let words = match summary.conformance(level) {
                Conformance::Conforms => style.good(&words),
                Conformance::DoesNotConform => style.bad(&words),
                Conformance::Incomplete => style.open(&words),
            };
            let (passed, trials) = (count.passed, count.trials);
            writeln!(
                self.out,
                "{:6} {passed} of {trials} trials passed: {words}",
                level.as_str()
            )?;
        }
        let verdict = match (summary.interrupted, summary.conformance(Level::Must)) {
            (true, _) => style.open("interrupted"),
            (_, Conformance::Conforms) => style.good(&format!("conforms to {}", summary.profile)),
            (_, Conformance::Incomplete) => style.open(&format!(
                "incomplete: not every must trial of {} was run",
                summary.profile
            )),
            (_, Conformance::DoesNotConform) => style.bad(&format!("does not conform to {}", summary.profile)),
        };
        writeln!(self.out, "{verdict}: {}", total.in_operations())?;
        self.out.flush()
    }
}

impl<W: Write, P: Write> Report for Terminal<W, P> {
    fn handle(&mut self, event: &Event) -> std::io::Result<()> {
        self.summary.handle(event);
        match event {
            Event::Started {
                target,
                profile,
                trials,
                ..
            } => {
                let head = format!("{trials} trials of {target} under the profile {profile}");
                writeln!(self.out, "{}\n", self.style.strong(&head))?;
                self.out.flush()?;
                self.progress()
            }
            Event::Ended(outcome) => {
                self.latest.clone_from(&outcome.trial.case.id);
                if matches!(outcome.verdict, Verdict::Failed(_)) {
                    self.failed += 1;
                    if let Some(progress) = &mut self.progress {
                        writeln!(
                            progress,
                            "\r\u{1b}[K{} {}",
                            self.style.bad("failed"),
                            outcome.trial.case.id
                        )?;
                    }
                }
                self.progress()
            }
            Event::Finished { .. } => {
                self.clear()?;
                self.end()
            }
        }
    }
}

/// Formats the counts by group and kind.
fn table(summary: &Summary, style: Style) -> String {
    let groups = summary.by_kind();
    let widest = groups
        .values()
        .flat_map(|kinds| kinds.keys())
        .map(String::len)
        .max()
        .unwrap_or(0)
        .max(12)
        + 2;
    let head = format!(
        "{:widest$} {:>10} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}",
        "", "operations", "trials", "passed", "failed", "known", "absent", "skipped"
    );
    let mut lines = vec![style.faint(&head)];
    let scores = summary.scores();
    for (group, kinds) in &groups {
        let score = scores.get(group).map(scores_in_words).unwrap_or_default();
        lines.push(format!("{}  {}", style.strong(group), style.faint(&score)));
        lines.extend(
            kinds
                .iter()
                .map(|(kind, count)| line(&format!("  {kind}"), count, widest, style)),
        );
    }
    lines.push(line("all", &summary.total(), widest, style));
    lines.join("\n") + "\n"
}

fn line(name: &str, count: &Count, widest: usize, style: Style) -> String {
    let number = |n: usize| {
        if n == 0 {
            format!("{:>7}", "·")
        } else {
            format!("{n:>7}")
        }
    };
    let loud = |n: usize, paint: fn(Style, &str) -> String| {
        if n == 0 { number(n) } else { paint(style, &number(n)) }
    };
    let operations = format!("{}/{}", count.operations_passed(), count.operations());
    format!(
        "{name:widest$} {operations:>10} {} {} {} {} {} {}",
        number(count.trials),
        loud(count.passed, Style::good),
        loud(count.failed, Style::bad),
        loud(count.known, Style::open),
        loud(count.absent, Style::open),
        loud(count.skipped, Style::open),
    )
}

fn totals(count: &Count, seconds: f64, style: Style) -> String {
    let part = |n: usize, word: &str, paint: fn(Style, &str) -> String| {
        let text = format!("{n} {word}");
        if n == 0 { text } else { paint(style, &text) }
    };
    let parts = [
        part(count.passed, "passed", Style::good),
        part(count.failed, "failed", Style::bad),
        part(count.known, "known to fail", Style::open),
        part(count.absent, "absent", Style::open),
        part(count.skipped, "skipped", Style::open),
    ];
    format!("{} in {seconds:.1} s", parts.join(", "))
}

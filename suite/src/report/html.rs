//! The report as one web page that needs nothing else.

use std::fmt::Write as _;
use std::io::Write;

use super::{Conformance, Count, Report, Summary};
use crate::catalog::Level;
use crate::trial::{Event, Failure, Outcome, Verdict};

const CSS: &str = include_str!("html.css");
/// Hides the trials that do not contain what is typed.
const SCRIPT: &str = "const f=document.querySelector('#filter');f.addEventListener('input',()=>{const t=f.value.toLowerCase();\
document.querySelectorAll('#trials details').forEach(d=>{d.hidden=!d.dataset.text.includes(t)})});";

/// Writes the page when the run has ended.
#[derive(Debug)]
pub struct Html<W> {
    out: W,
    summary: Summary,
}

impl<W: Write> Html<W> {
    /// A page to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out,
            summary: Summary::default(),
        }
    }
}

impl<W: Write> Report for Html<W> {
    fn handle(&mut self, event: &Event) -> std::io::Result<()> {
        self.summary.handle(event);
        if matches!(event, Event::Finished { .. }) {
            self.out.write_all(page(&self.summary).as_bytes())?;
            self.out.flush()?;
        }
        Ok(())
    }
}

fn page(summary: &Summary) -> String {
    let total = summary.total();
    let title = format!("Conformance of {} to {}", summary.target, summary.profile);
    let verdict = |level: Level| {
        let conformance = summary.conformance(level);
        let class = if conformance == Conformance::Conforms {
            "good"
        } else {
            "bad"
        };
        let word = conformance.as_str();
        format!(
            "<span class='verdict {class}'>{level}: {word}</span> ",
            level = level.as_str()
        )
    };
    let verdicts: String = Level::ALL.into_iter().map(verdict).collect();
    let failed: String = summary.failures().map(|outcome| trial(outcome, true)).collect();
    let failures = if failed.is_empty() {
        String::new()
    } else {
        format!("<h2>What failed</h2><div class=sheet>{failed}</div>")
    };
    let trials: String = summary.outcomes.values().map(|outcome| trial(outcome, false)).collect();
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width,initial-scale=1'>\
         <title>{title}</title><style>{CSS}</style><main>\
         <h1>{title}</h1><p class=lead>{verdicts}\
         {operations} · {seconds:.1} s · stuntdouble {version}</p>\
         {bar}{counts}<h2>By group and kind</h2><div class=sheet>{table}</div>{failures}\
         <h2>All trials</h2><input id=filter type=search placeholder='part of an id, an operation or a verdict' aria-label='show only trials that contain'>\
         <div class=sheet id=trials>{trials}</div></main><script>{SCRIPT}</script></html>\n",
        title = escaped(&title),
        operations = total.in_operations(),
        seconds = summary.took.as_secs_f64(),
        version = env!("CARGO_PKG_VERSION"),
        bar = bar(&total),
        counts = counts(&total),
        table = table(summary),
    )
}

/// The verdicts with their numbers, in the order in which they are shown.
fn parts(count: &Count) -> [(&'static str, &'static str, usize); 6] {
    [
        ("passed", "passed", count.passed),
        ("failed", "failed", count.failed),
        ("known-failure", "known to fail", count.known),
        ("absent", "absent", count.absent),
        ("pending", "pending", count.pending),
        ("skipped", "skipped", count.skipped),
    ]
}

fn bar(count: &Count) -> String {
    let slices: String = parts(count)
        .iter()
        .filter(|(_, _, n)| *n > 0)
        .map(|(class, words, n)| format!("<i class={class} style='flex:{n}' title='{n} {words}'></i>"))
        .collect();
    format!("<div class=bar>{slices}</div>")
}

fn counts(count: &Count) -> String {
    let items: String = parts(count)
        .iter()
        .map(|(class, words, n)| {
            format!(
                "<li><b class={}>{n}</b> {words}</li>",
                if *n == 0 { "zero" } else { class }
            )
        })
        .collect();
    format!("<ul class=counts>{items}</ul>")
}

fn table(summary: &Summary) -> String {
    let mut cases = String::new();
    for (group, kinds) in summary.by_kind() {
        let _ = write!(cases, "<tr><th colspan=9>{}</th></tr>", escaped(&group));
        for (kind, count) in &kinds {
            cases.push_str(&case(kind, count));
        }
    }
    cases.push_str(&case("all", &summary.total()));
    format!(
        "<table><thead><tr><th>kind</th><th>operations</th><th>trials</th><th>passed</th><th>failed</th><th>known</th>\
         <th>absent</th><th>pending</th><th>skipped</th></tr></thead><tbody>{cases}</tbody></table>"
    )
}

fn case(name: &str, count: &Count) -> String {
    let cells: String = parts(count)
        .iter()
        .map(|(class, _, n)| {
            if *n == 0 {
                "<td class=zero>·</td>".to_owned()
            } else {
                format!("<td class={class}>{n}</td>")
            }
        })
        .collect();
    format!(
        "<tr><td>{}</td><td>{}/{}</td><td>{}</td>{cells}</tr>",
        escaped(name),
        count.operations_passed(),
        count.operations(),
        count.trials
    )
}

fn trial(outcome: &Outcome, open: bool) -> String {
    let case = &outcome.trial.case;
    let word = outcome.verdict.as_str();
    let mut more = String::new();
    if let Some(reason) = outcome.verdict.reason() {
        let _ = write!(more, "<p class={word}>{}</p>", escaped(&reason));
    }
    if let Some(failure) = outcome.verdict.failure() {
        more.push_str(&failed(failure));
    }
    let open = if open && matches!(outcome.verdict, Verdict::Failed(_)) {
        " open"
    } else {
        ""
    };
    let text = format!("{} {} {word}", case.id, case.operation.request()).to_lowercase();
    format!(
        "<details data-text='{}'{open}><summary><span class='word {word}'>{word}</span><code>{}</code></summary><div>\
         <p>{}</p><p class=faint><code>{}</code></p><p class=faint>{} · {}</p>{more}</div></details>",
        escaped(&text),
        escaped(&case.id),
        escaped(&case.requirement),
        escaped(&case.operation.request()),
        outcome.level().as_str(),
        escaped(&case.source),
    )
}

fn failed(failure: &Failure) -> String {
    let mut html = String::new();
    let requests: Vec<&str> = failure.steps.iter().chain(&failure.curl).map(String::as_str).collect();
    if !requests.is_empty() {
        let _ = write!(html, "<pre>{}</pre>", escaped(&requests.join("\n")));
    }
    for mismatch in &failure.mismatches {
        let _ = writeln!(html, "<pre><b>{}</b>", escaped(&mismatch.about));
        for (mark, line) in mismatch.diff() {
            let line = escaped(&line);
            let _ = match mark {
                '-' => writeln!(html, "<del>expected  {line}</del>"),
                '+' => writeln!(html, "<ins>actual    {line}</ins>"),
                _ => writeln!(html, "          {line}"),
            };
        }
        html.push_str("</pre>");
    }
    html
}

/// Text that may stand anywhere in the page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\'', "&#39;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_cannot_become_part_of_the_page() {
        assert_eq!(escaped("<script>'\"&"), "&lt;script&gt;&#39;&quot;&amp;");
    }
}

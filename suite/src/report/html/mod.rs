//! The report as one self-contained web page.

mod matrix;
mod trials;

use std::fmt::Write as _;

use super::markdown::causes_in_words;
use super::{Conformance, Count, Provenance, Summary};
use crate::catalog::Level;
use crate::trial::{Failure, Outcome};

/// Number of causes shown at first.
const VISIBLE_CAUSES: usize = 10;
/// Maximum length of the text of a cause, in characters.
const MAX_LINE: usize = 80;
const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Renders the page.
///
/// # Errors
/// Never fails.
pub fn html(summary: &Summary, provenance: &Provenance) -> Result<String, String> {
    let total = summary.total();
    Ok(format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content='width=device-width,initial-scale=1'>\
         <title>Conformance of {title}</title><style>{CSS}</style>\
         <header><div class=inner>{head}</div></header><main>\
         <section class=cards>{verdicts}</section>{stale}{causes}\
         <section><h2>By kind and operation</h2>\
         <p class=note>Passed trials of all trials. Click a cell to see its trials.</p>\
         <div class=sheet>{matrix}</div></section>\
         <section><h2>By statement</h2>{statements}</section>{aside}\
         <section id=all><h2>All trials</h2>{filters}<p class=note id=shown></p>\
         <div class=sheet id=trials>{trials}</div></section>\
         </main><script>{SCRIPT}</script></html>\n",
        title = escaped(&summary.target),
        head = head(summary, provenance, &total),
        verdicts = verdicts(summary),
        stale = stale(summary),
        causes = causes(summary),
        matrix = matrix::matrix(summary),
        statements = statements(summary),
        aside = aside(summary),
        filters = filters(summary, &total),
        trials = summary.outcomes.values().map(trials::trial).collect::<String>(),
    ))
}

fn head(summary: &Summary, provenance: &Provenance, total: &Count) -> String {
    let conformance = summary.conformance(Level::Must);
    let version = provenance.target_version.as_deref().unwrap_or("unknown");
    let interrupted = if summary.interrupted { ", interrupted" } else { "" };
    let facts = [
        ("profile", summary.profile.as_str()),
        ("server version", version),
        ("date", provenance.date.as_str()),
        ("duration", &format!("{:.1} s", summary.took.as_secs_f64())),
        (
            "operations that pass",
            &format!("{} of {}", total.operations_passed(), total.operations()),
        ),
        ("stuntdouble", Provenance::tool()),
        ("catalog", provenance.catalog_name()),
    ];
    let facts: String = facts
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>", escaped(value)))
        .collect();
    format!(
        "<p class=product>Stuntdouble conformance</p><h1>{target}</h1>\
         <p class='verdict {class}'>{verdict}{interrupted}</p>\
         <dl>{facts}</dl>",
        target = escaped(&summary.target),
        class = class(conformance),
        verdict = conformance.as_str(),
    )
}

fn class(conformance: Conformance) -> &'static str {
    match conformance {
        Conformance::Conforms => "good",
        Conformance::DoesNotConform => "bad",
        Conformance::Incomplete => "open",
    }
}

/// Renders a card for each level.
fn verdicts(summary: &Summary) -> String {
    let means = |level| match level {
        Level::Must => "what the documentation requires",
        Level::Should => "what Kubernetes v1.2 does",
        Level::May => "what clients benefit from",
    };
    let card = |(level, count): (Level, Count)| {
        format!(
            "<div class=card><h3>{name}<small>{means}</small></h3><p class=big><b>{passed}</b> of {trials}</p>{bar}\
             <p class='verdict {class}'>{word}</p></div>",
            name = level.as_str(),
            means = means(level),
            passed = count.passed,
            trials = count.trials,
            bar = bar(&count),
            class = class(summary.conformance(level)),
            word = summary.conformance_in_words(level),
        )
    };
    summary.by_level().into_iter().map(card).collect()
}

/// Class, label and number of trials of each verdict, in display order.
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

fn stale(summary: &Summary) -> String {
    let item = |text: &String| format!("<li>{}</li>", escaped(text));
    let mut html = String::new();
    for (title, lines) in [
        ("Stale expectations", &summary.stale),
        ("Not removed from the server", &summary.left),
    ] {
        if !lines.is_empty() {
            let items: String = lines.iter().map(item).collect();
            let _ = write!(
                html,
                "<section class=warning><h2>{title}</h2><ul>{items}</ul></section>"
            );
        }
    }
    html
}

/// Renders failures by cause: one in full, the ids of the others.
fn causes(summary: &Summary) -> String {
    let causes = summary.causes();
    if causes.is_empty() {
        return String::new();
    }
    let failed = causes.iter().map(|(_, _, others)| others.len() + 1).sum();
    let rows: Vec<String> = causes
        .iter()
        .map(|(outcome, failure, others)| cause(outcome, failure, others))
        .collect();
    let (first, more) = rows.split_at(rows.len().min(VISIBLE_CAUSES));
    let more = if more.is_empty() {
        String::new()
    } else {
        format!(
            "<details class=more><summary>{} causes more</summary>{}</details>",
            more.len(),
            more.concat()
        )
    };
    let heading = causes_in_words(failed, causes.len());
    format!(
        "<section><h2>{heading}</h2><div class=sheet>{}{more}</div></section>",
        first.concat()
    )
}

fn cause(outcome: &Outcome, failure: &Failure, others: &[&Outcome]) -> String {
    let line = |text: &str| {
        let first = text.lines().next().unwrap_or_default();
        escaped(&first.chars().take(MAX_LINE).collect::<String>())
    };
    let words = failure.mismatches.first().map_or_else(String::new, |mismatch| {
        let (about, expected, actual) = (line(&mismatch.about), line(&mismatch.expected), line(&mismatch.actual));
        format!("<b>{about}</b> expected <em>{expected}</em>, actual <em>{actual}</em>")
    });
    let ids: String = others
        .iter()
        .map(|other| format!("<li><code>{}</code></li>", escaped(&other.trial.case.id)))
        .collect();
    let same = if others.is_empty() {
        String::new()
    } else {
        format!("<details class=same><summary>The same in</summary><ul>{ids}</ul></details>")
    };
    let trials = if others.is_empty() { "trial" } else { "trials" };
    format!(
        "<details><summary><span class='word failed'>{level}</span><span class=cause>{words}<code>{id}</code></span>\
         <span class=count>{count} {trials}</span></summary><div>{body}{same}</div></details>",
        level = outcome.level().as_str(),
        id = escaped(&outcome.trial.case.id),
        count = others.len() + 1,
        body = trials::failed(outcome, failure),
    )
}

/// Renders the statements, those with failures first.
fn statements(summary: &Summary) -> String {
    let counts = summary.by_statement();
    let mut known = std::collections::BTreeMap::new();
    for outcome in summary.outcomes.values() {
        for statement in &outcome.trial.case.statements {
            known.insert(statement.id.as_str(), statement);
        }
    }
    let mut rows: Vec<_> = known
        .into_iter()
        .filter_map(|(id, statement)| Some((counts.get(id)?, statement)))
        .collect();
    rows.sort_by_key(|(count, statement)| (count.failed == 0, statement.level, statement.id.clone()));
    let fine = rows.iter().filter(|(count, _)| count.passed == count.trials).count();
    let body: String = rows
        .iter()
        .map(|(count, statement)| {
            format!(
                "<tr><td>{}</td><td><code>{}</code><p>{}</p></td><td class={}>{}/{}</td></tr>",
                statement.level.as_str(),
                escaped(&statement.id),
                escaped(&statement.text),
                state(count),
                count.passed,
                count.trials,
            )
        })
        .collect();
    format!(
        "<details class=sheet><summary>{fine} of {} statements passed in every trial</summary>\
         <table class=statements><thead><tr><th>level</th><th>statement</th><th>passed</th></tr></thead>\
         <tbody>{body}</tbody></table></details>",
        rows.len()
    )
}

/// Returns the CSS class of the worst verdict of several trials.
fn state(count: &Count) -> &'static str {
    match count {
        _ if count.failed > 0 => "failed",
        _ if count.absent > 0 => "absent",
        _ if count.known > 0 => "known-failure",
        _ if count.pending + count.skipped > 0 => "skipped",
        _ => "passed",
    }
}

/// Renders known failures and trials that were not run, by reason.
fn aside(summary: &Summary) -> String {
    let rows: String = summary
        .set_aside()
        .iter()
        .map(|((verdict, reason), ids)| {
            let reason = escaped(reason);
            format!(
                "<tr><td class={verdict}>{verdict}</td><td class=reason>{reason}</td><td>{}</td></tr>",
                ids.len()
            )
        })
        .collect();
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<section><h2>Not run, or known to fail</h2><div class=sheet>\
         <table class=statements><thead><tr><th>verdict</th>\
         <th>reason</th><th>trials</th></tr></thead><tbody>{rows}</tbody></table></div></section>"
    )
}

fn filters(summary: &Summary, total: &Count) -> String {
    let chips: String = parts(total)
        .iter()
        .filter(|(_, _, n)| *n > 0)
        .map(|(class, words, n)| {
            format!(
                "<button type=button aria-pressed=false data-verdict={class}><b class={class}>{n}</b> {words}</button>"
            )
        })
        .collect();
    let options = |names: &mut dyn Iterator<Item = &str>| -> String {
        names
            .map(|name| format!("<option>{}</option>", escaped(name)))
            .collect()
    };
    let groups = summary.by_kind();
    format!(
        "<div class=filters><div class=chips>{chips}</div>\
         <input id=text type=search placeholder='part of an id or an operation' \
         aria-label='part of an id or an operation'>\
         <select id=level aria-label=level><option value=''>every level</option>{levels}</select>\
         <select id=group aria-label=group><option value=''>every group</option>{groups}</select>\
         <button type=button id=reset>show all</button></div>",
        levels = options(&mut Level::ALL.into_iter().map(Level::as_str)),
        groups = options(&mut groups.keys().map(String::as_str)),
    )
}

/// Escapes text for HTML.
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
    fn texts_of_a_server_are_escaped() {
        assert_eq!(escaped("<script>'\"&"), "&lt;script&gt;&#39;&quot;&amp;");
    }
}

//! Differences side by side in a self-contained HTML page.

use super::report::lines;
use super::{Diff, Row};
use similar::ChangeTag;

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --gone: #e5484d33; --come: #30a46c33; --quiet: #888; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem; }
h1 { font-size: 1.3rem; } summary { cursor: pointer; font-family: ui-monospace, monospace; padding: .3rem 0; }
details { border-top: 1px solid var(--line); } .same summary { color: var(--quiet); }
ul { margin: .3rem 0 .6rem; } .grade { display: inline-block; min-width: 4.5em; font-weight: 600; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; margin-bottom: 1rem; }
td { font: 12px/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; vertical-align: top;
  padding: 0 .5rem; border-left: 1px solid var(--line); width: 50%; }
.gone { background: var(--gone); } .come { background: var(--come); } td b { font-weight: 600; text-decoration: underline; }
";

impl Diff {
    /// Formats the page. `a` and `b` are the names of the cassettes.
    pub fn to_html(&self, a: &str, b: &str) -> String {
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0} and {1}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<h1>{0} and {1}</h1>\n<p>{2}</p>\n",
            escaped(a),
            escaped(b),
            escaped(&self.summary())
        );
        self.rows.iter().for_each(|row| put(&mut out, row));
        out.push_str("</body>\n</html>\n");
        out
    }
}

fn put(out: &mut String, row: &Row) {
    let Some(shown) = row.b.as_ref().or(row.a.as_ref()) else {
        return;
    };
    let id = |side: &Option<super::Side>| side.as_ref().map_or("-".to_owned(), |side| side.id.to_string());
    let (class, open) = if row.findings.is_empty() {
        ("same", "")
    } else {
        ("differs", " open")
    };
    out.push_str(&format!(
        "<details class=\"{class}\"{open}>\n<summary>[{} | {}] {}</summary>\n",
        id(&row.a),
        id(&row.b),
        escaped(&shown.request)
    ));
    if !row.findings.is_empty() {
        out.push_str("<ul>\n");
        for finding in &row.findings {
            let name = finding.grade.name();
            out.push_str(&format!(
                "<li><span class=\"grade {name}\">{name}</span> {}</li>\n",
                escaped(&finding.text)
            ));
        }
        out.push_str("</ul>\n");
    }
    let text = |side: &Option<super::Side>| side.as_ref().map(|side| side.response.clone()).unwrap_or_default();
    table(out, &text(&row.a), &text(&row.b));
    out.push_str("</details>\n");
}

fn table(out: &mut String, a: &str, b: &str) {
    out.push_str("<table>\n");
    let diff = lines(a, b);
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    for op in diff.ops() {
        for change in diff.iter_inline_changes(op) {
            let mut line = String::new();
            for (emphasized, text) in change.iter_strings_lossy() {
                let text = escaped(text.trim_end_matches('\n'));
                line.push_str(&if emphasized && !text.is_empty() {
                    format!("<b>{text}</b>")
                } else {
                    text
                });
            }
            match change.tag() {
                ChangeTag::Equal => {
                    push_rows(out, &mut gone, &mut come);
                    out.push_str(&format!("<tr><td>{line}</td><td>{line}</td></tr>\n"));
                }
                ChangeTag::Delete => gone.push(line),
                ChangeTag::Insert => come.push(line),
            }
        }
    }
    push_rows(out, &mut gone, &mut come);
    out.push_str("</table>\n");
}

/// Pairs removed with added lines.
fn push_rows(out: &mut String, gone: &mut Vec<String>, come: &mut Vec<String>) {
    let cell = |line: Option<&String>, class: &str| match line {
        Some(line) => format!("<td class=\"{class}\">{line}</td>"),
        None => "<td></td>".to_owned(),
    };
    for n in 0..gone.len().max(come.len()) {
        out.push_str(&format!(
            "<tr>{}{}</tr>\n",
            cell(gone.get(n), "gone"),
            cell(come.get(n), "come")
        ));
    }
    gone.clear();
    come.clear();
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

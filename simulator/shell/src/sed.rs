//! The program `sed`.

use regex::bytes::Regex;

use crate::files::absolute;
use crate::filters::{compile, extended, lines};
use crate::limits::LIMITS;
use crate::shell::Shell;

/// One command of a `sed` script.
struct Edit {
    /// Lines that it applies to: all, a number, the last, or those that match.
    lines: Lines,
    action: Action,
}

enum Lines {
    All,
    Number(usize, usize),
    Last,
    Matching(Regex),
}

enum Action {
    Substitute {
        regex: Regex,
        by: String,
        all: bool,
        /// Whether to print a changed line.
        prints: bool,
    },
    Delete,
    Print,
    Quit,
}

fn edit(text: &str, extended_syntax: bool) -> Option<Edit> {
    let regex = |pattern: &str, ignore_case| {
        let pattern = if extended_syntax {
            pattern.to_owned()
        } else {
            extended(pattern)
        };
        compile(&pattern, ignore_case)
    };
    let mut text = text.trim();
    let mut lines = Lines::All;
    if let Some(rest) = text.strip_prefix('/') {
        let (pattern, rest) = rest.split_once('/')?;
        (lines, text) = (Lines::Matching(regex(pattern, false)?), rest);
    } else if let Some(rest) = text.strip_prefix('$') {
        (lines, text) = (Lines::Last, rest);
    } else {
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != ',')?;
        let (range, rest) = text.split_at(end);
        if !range.is_empty() {
            let (first, last) = range.split_once(',').unwrap_or((range, range));
            lines = Lines::Number(first.parse().ok()?, last.parse().ok()?);
        }
        text = rest;
    }
    let action = match text.chars().next()? {
        'd' => Action::Delete,
        'p' => Action::Print,
        'q' => Action::Quit,
        's' => {
            let mark = text.chars().nth(1)?;
            let mut parts = vec![String::new()];
            let mut letters = text.chars().skip(2);
            while let Some(letter) = letters.next() {
                let last = parts.last_mut()?;
                match letter {
                    '\\' => match letters.next()? {
                        escaped if escaped == mark => last.push(escaped),
                        escaped => last.extend(['\\', escaped]),
                    },
                    letter if letter == mark => parts.push(String::new()),
                    letter => last.push(letter),
                }
            }
            let [pattern, by, flags] = parts.as_slice() else {
                return None;
            };
            Action::Substitute {
                regex: regex(pattern, flags.contains(['i', 'I']))?,
                by: replacement(by),
                all: flags.contains('g'),
                prints: flags.contains('p'),
            }
        }
        _ => return None,
    };
    Some(Edit { lines, action })
}

/// Converts the replacement of `s` to the syntax of the regex crate.
fn replacement(by: &str) -> String {
    let mut out = String::new();
    let mut letters = by.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '&' => out.push_str("${0}"),
            '$' => out.push_str("$$"),
            '\\' => match letters.next() {
                Some(digit) if digit.is_ascii_digit() => out.push_str(&format!("${{{digit}}}")),
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

/// `sed [-nEri] [-e] SCRIPT [FILE...]`, with the commands `s`, `d`, `p` and `q`.
pub(crate) async fn sed(shell: &Shell, arguments: &[String]) -> i32 {
    let (mut quiet, mut extended_syntax, mut in_place, mut scripts, mut operands) =
        (false, false, false, Vec::new(), Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-n" => quiet = true,
            "-E" | "-r" => extended_syntax = true,
            "-i" => in_place = true,
            "-e" => scripts.extend(rest.next().cloned()),
            _ if scripts.is_empty() => scripts.push(argument.clone()),
            _ => operands.push(argument.clone()),
        }
    }
    let parts = scripts.iter().flat_map(|script| script.split([';', '\n']));
    let edits: Option<Vec<Edit>> = parts
        .filter(|part| !part.trim().is_empty())
        .map(|part| edit(part, extended_syntax))
        .collect();
    let Some(edits) = edits.filter(|edits| !edits.is_empty()) else {
        return shell.fail(1, "sed: unsupported command").await;
    };
    let (lines, mut status) = lines(shell, "sed", &operands).await;
    let (count, mut out) = (lines.len(), Vec::new());
    'lines: for (at, line) in lines.into_iter().enumerate() {
        let mut text = line.strip_suffix(b"\n").unwrap_or(&line).to_vec();
        let (mut quits, mut copies) = (false, usize::from(!quiet));
        for edit in &edits {
            let applies = match &edit.lines {
                Lines::All => true,
                Lines::Number(first, last) => (*first..=*last).contains(&(at + 1)),
                Lines::Last => at + 1 == count,
                Lines::Matching(regex) => regex.is_match(&text),
            };
            match &edit.action {
                _ if !applies => {}
                Action::Delete => continue 'lines,
                Action::Print => copies += 1,
                Action::Quit => quits = true,
                Action::Substitute { regex, by, all, prints } => {
                    copies += usize::from(*prints && regex.is_match(&text));
                    text = regex.replacen(&text, usize::from(!all), by.as_bytes()).into_owned();
                }
            }
        }
        text.push(b'\n');
        out.extend(text.repeat(copies));
        if out.len() > LIMITS.value {
            return shell.fail(1, "sed: out of memory").await;
        }
        if quits {
            break;
        }
    }
    if in_place && let [path] = operands.as_slice() {
        let written = shell
            .session
            .machine
            .files
            .write(&absolute(&shell.directory, path), &out, false);
        if let Err(error) = written {
            status = shell.fail(1, format!("sed: {path}: {error}")).await;
        }
        return status;
    }
    status.max(shell.print("sed", out).await)
}

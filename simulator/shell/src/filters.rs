//! Text filters: `tr`, `cut`, `grep`, `sort`, `uniq`, `rev`, `dd`.

use std::collections::BTreeSet;

use bytes::Bytes;
use regex::bytes::{Regex, RegexBuilder};

use crate::files::absolute;
use crate::limits::LIMITS;
use crate::shell::Shell;
use crate::text_programs::{open, paths};

/// Maximum size of a compiled regular expression in bytes.
const MAX_REGEX_BYTES: usize = 1 << 20;

/// Reads the lines of all operands. The second value is the exit status: 1 if a file cannot be read.
pub(crate) async fn lines(shell: &Shell, program: &str, operands: &[String]) -> (Vec<Bytes>, i32) {
    let (mut all, mut size, mut status) = (Vec::new(), 0, 0);
    for path in paths(operands) {
        match open(shell, program, path).await {
            Ok(input) => {
                while let Some(line) = input.line().await {
                    size += line.len();
                    if size > LIMITS.value {
                        return (all, shell.fail(1, format!("{program}: out of memory")).await);
                    }
                    all.push(line);
                }
            }
            Err(failed) => status = failed,
        }
    }
    (all, status)
}

/// Expands a set such as `a-z0-9\n` or `[:upper:]` to its characters.
fn set(text: &str) -> Vec<char> {
    let classes = [
        ("[:upper:]", 'A'..='Z'),
        ("[:lower:]", 'a'..='z'),
        ("[:digit:]", '0'..='9'),
    ];
    if let Some((_, class)) = classes.iter().find(|(name, _)| *name == text) {
        return class.clone().collect();
    }
    let (unescaped, _) = crate::printf::unescape(text);
    let letters: Vec<char> = String::from_utf8_lossy(&unescaped).chars().collect();
    let mut set = Vec::new();
    let mut rest = letters.as_slice();
    while let [first, tail @ ..] = rest {
        rest = match tail {
            ['-', last, after @ ..] => {
                set.extend(*first..=*last);
                after
            }
            _ => {
                set.push(*first);
                tail
            }
        };
    }
    set
}

/// `tr [-cds] SET1 [SET2]`.
pub(crate) async fn tr(shell: &Shell, arguments: &[String]) -> i32 {
    let flags: String = arguments
        .iter()
        .filter_map(|argument| argument.strip_prefix('-'))
        .collect();
    let sets: Vec<Vec<char>> = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-') || argument.len() == 1)
        .map(|text| set(text))
        .collect();
    let (Some(from), to) = (sets.first(), sets.get(1)) else {
        return shell.fail(1, "tr: missing operand").await;
    };
    let mut last = None;
    while let Some(piece) = shell.stdin.line().await {
        let mut out = String::new();
        for letter in String::from_utf8_lossy(&piece).chars() {
            let place = from.iter().position(|member| *member == letter);
            let chosen = place.is_some() != flags.contains('c');
            let made = match (chosen, to.and_then(|to| to.last())) {
                (true, _) if flags.contains('d') => continue,
                (true, Some(end)) => *place.and_then(|at| to?.get(at)).unwrap_or(end),
                _ => letter,
            };
            if flags.contains('s') && chosen && last == Some(made) {
                continue;
            }
            last = Some(made);
            out.push(made);
        }
        let written = shell.print("tr", out).await;
        if written != 0 {
            return written;
        }
    }
    0
}

/// Whether a list such as `1,3-5,7-` contains a number.
fn in_list(list: &str, number: usize) -> bool {
    list.split(',').any(|part| match part.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (first.parse().unwrap_or(1), last.parse().unwrap_or(usize::MAX));
            (first..=last).contains(&number)
        }
        None => part.parse() == Ok(number),
    })
}

/// `cut -d DELIMITER -f LIST` and `cut -c LIST`.
pub(crate) async fn cut(shell: &Shell, arguments: &[String]) -> i32 {
    let (mut delimiter, mut list, mut by_fields, mut operands) = ("\t".to_owned(), None, false, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let Some(flag) = argument.strip_prefix('-').and_then(|flags| flags.chars().next()) else {
            operands.push(argument.clone());
            continue;
        };
        let value = match argument.get(2..).filter(|value| !value.is_empty()) {
            Some(value) => value.to_owned(),
            None => rest.next().cloned().unwrap_or_default(),
        };
        match flag {
            'd' => delimiter = value,
            'f' => (list, by_fields) = (Some(value), true),
            'c' | 'b' => list = Some(value),
            _ => return shell.fail(1, format!("cut: invalid option -- '{flag}'")).await,
        }
    }
    let Some(list) = list else {
        return shell
            .fail(1, "cut: expected a list of bytes, characters, or fields")
            .await;
    };
    let (lines, mut status) = lines(shell, "cut", &operands).await;
    for line in lines {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches('\n');
        let chosen = if !by_fields {
            let letters = text.chars().enumerate();
            letters
                .filter(|(at, _)| in_list(&list, at + 1))
                .map(|(_, letter)| letter)
                .collect()
        } else if text.contains(&delimiter) {
            let fields = text.split(&delimiter).enumerate();
            let chosen: Vec<&str> = fields
                .filter(|(at, _)| in_list(&list, at + 1))
                .map(|(_, field)| field)
                .collect();
            chosen.join(&delimiter)
        } else {
            text.to_owned()
        };
        status = status.max(shell.print("cut", chosen + "\n").await);
    }
    status
}

/// Converts a basic regular expression to an extended one: escaped and bare special characters are swapped.
pub(crate) fn extended(pattern: &str) -> String {
    let mut out = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(special @ ('(' | ')' | '{' | '}' | '|' | '+' | '?')) => out.push(special),
                Some(other) => out.extend(['\\', other]),
                None => out.push_str("\\\\"),
            },
            '(' | ')' | '{' | '}' | '|' | '+' | '?' => out.extend(['\\', letter]),
            other => out.push(other),
        }
    }
    out
}

pub(crate) fn compile(pattern: &str, ignore_case: bool) -> Option<Regex> {
    let mut builder = RegexBuilder::new(pattern);
    builder
        .case_insensitive(ignore_case)
        .size_limit(MAX_REGEX_BYTES)
        .build()
        .ok()
}

/// `grep [-EFcilnoqvwx] [-e] PATTERN [FILE...]`.
pub(crate) async fn grep(shell: &Shell, program: &str, arguments: &[String]) -> i32 {
    let (mut flags, mut pattern, mut operands) = (BTreeSet::new(), None, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            Some("e") => pattern = rest.next().cloned(),
            Some(letters) => flags.extend(letters.chars()),
            None if pattern.is_none() => pattern = Some(argument.clone()),
            None => operands.push(argument.clone()),
        }
    }
    let Some(pattern) = pattern else {
        return shell.fail(2, "grep: no pattern").await;
    };
    let mut pattern = if flags.contains(&'F') || program == "fgrep" {
        regex::escape(&pattern)
    } else if flags.contains(&'E') || program == "egrep" {
        pattern
    } else {
        extended(&pattern)
    };
    if flags.contains(&'w') {
        pattern = format!("\\b(?:{pattern})\\b");
    }
    if flags.contains(&'x') {
        pattern = format!("^(?:{pattern})$");
    }
    let Some(regex) = compile(&pattern, flags.contains(&'i')) else {
        return shell.fail(2, format!("grep: bad regex '{pattern}'")).await;
    };
    let (several, mut status, mut found) = (operands.len() > 1, 0, false);
    for path in paths(&operands) {
        let Ok(input) = open(shell, "grep", path).await else {
            status = 2;
            continue;
        };
        let (mut number, mut count) = (0, 0);
        while let Some(line) = input.line().await {
            number += 1;
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            if regex.is_match(text) == flags.contains(&'v') {
                continue;
            }
            (found, count) = (true, count + 1);
            if flags.contains(&'q') {
                return 0;
            }
            if flags.contains(&'c') || flags.contains(&'l') {
                continue;
            }
            let mut prefix = if several { format!("{path}:") } else { String::new() };
            if flags.contains(&'n') {
                prefix.push_str(&format!("{number}:"));
            }
            let shown: Vec<&[u8]> = match flags.contains(&'o') {
                true => regex.find_iter(text).map(|found| found.as_bytes()).collect(),
                false => vec![text],
            };
            for text in shown {
                let written = shell.print("grep", [prefix.as_bytes(), text, b"\n"].concat()).await;
                if written != 0 {
                    return written;
                }
            }
        }
        let prefix = if several { format!("{path}:") } else { String::new() };
        if flags.contains(&'c') {
            shell.print("grep", format!("{prefix}{count}\n")).await;
        } else if flags.contains(&'l') && count > 0 {
            shell.print("grep", format!("{path}\n")).await;
        }
    }
    if status == 0 { i32::from(!found) } else { status }
}

/// `sort [-nru] [FILE...]`.
pub(crate) async fn sort(shell: &Shell, arguments: &[String]) -> i32 {
    let (flags, operands): (Vec<String>, Vec<String>) = arguments
        .iter()
        .cloned()
        .partition(|argument| argument.len() > 1 && argument.starts_with('-'));
    let flags = flags.concat();
    let (mut lines, status) = lines(shell, "sort", &operands).await;
    let number = |line: &Bytes| {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '-' && letter != '.');
        text.get(..end.unwrap_or(text.len()))
            .and_then(|text| text.parse().ok())
            .unwrap_or(0.0)
    };
    if flags.contains('n') {
        lines.sort_by(|one, other| f64::total_cmp(&number(one), &number(other)).then_with(|| one.cmp(other)));
    } else {
        lines.sort();
    }
    if flags.contains('r') {
        lines.reverse();
    }
    if flags.contains('u') {
        lines.dedup();
    }
    let joined: Vec<u8> = lines
        .iter()
        .flat_map(|line| [line.strip_suffix(b"\n").unwrap_or(line), b"\n"].concat())
        .collect();
    status.max(shell.print("sort", joined).await)
}

/// `uniq [-c] [FILE]`.
pub(crate) async fn uniq(shell: &Shell, arguments: &[String]) -> i32 {
    let (flags, operands): (Vec<String>, Vec<String>) = arguments
        .iter()
        .cloned()
        .partition(|argument| argument.starts_with('-'));
    let counts = flags.concat().contains('c');
    let (lines, status) = lines(shell, "uniq", &operands).await;
    let mut out = Vec::new();
    for same in lines.chunk_by(|one, other| one == other) {
        if counts {
            out.extend(format!("{:>7} ", same.len()).into_bytes());
        }
        out.extend(same.first().into_iter().flatten());
    }
    status.max(shell.print("uniq", out).await)
}

/// `rev [FILE...]`.
pub(crate) async fn rev(shell: &Shell, arguments: &[String]) -> i32 {
    let (lines, status) = lines(shell, "rev", arguments).await;
    let turned = lines.iter().map(|line| {
        let text = String::from_utf8_lossy(line);
        let text: String = text.trim_end_matches('\n').chars().rev().collect();
        text + "\n"
    });
    let joined: String = turned.collect();
    status.max(shell.print("rev", joined).await)
}

/// `dd [if=FILE] [of=FILE] [bs=SIZE] [count=N]`. `/dev/zero` and `/dev/urandom` read as zeros.
pub(crate) async fn dd(shell: &Shell, arguments: &[String]) -> i32 {
    let value = |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(name));
    let size = |text: &str| {
        let (number, unit) = match text.char_indices().last() {
            Some((at, 'k' | 'K')) => (text.get(..at)?, 1 << 10),
            Some((at, 'M')) => (text.get(..at)?, 1 << 20),
            Some((at, 'G')) => (text.get(..at)?, 1 << 30),
            _ => (text, 1),
        };
        number.parse::<usize>().ok()?.checked_mul(unit)
    };
    let block = value("bs=").map_or(Some(512), size).unwrap_or(512).max(1);
    let count = value("count=").and_then(|count| count.parse::<usize>().ok());
    let limit = count.map_or(usize::MAX, |count| count.saturating_mul(block));
    let mut content = Vec::new();
    match value("if=") {
        Some("/dev/zero" | "/dev/urandom" | "/dev/random") => content.resize(limit.min(LIMITS.files + 1), 0),
        path => match open(shell, "dd", path.unwrap_or("-")).await {
            Ok(input) => {
                while content.len() < limit.min(LIMITS.files)
                    && let Some(piece) = input.piece().await
                {
                    content.extend_from_slice(&piece);
                }
                content.truncate(limit);
            }
            Err(status) => return status,
        },
    }
    let size = content.len();
    match value("of=") {
        Some(path) => {
            let to = absolute(&shell.directory, path);
            if let Err(error) = shell.session.machine.files.write(&to, &content, false) {
                return shell.fail(1, format!("dd: writing '{path}': {error}")).await;
            }
        }
        None => {
            let written = shell.print("dd", content).await;
            if written != 0 {
                return written;
            }
        }
    }
    let records = format!("{}+{}", size / block, usize::from(size % block > 0));
    let summary = format!("{records} records in\n{records} records out\n{size} bytes copied");
    shell.fail(0, summary).await
}

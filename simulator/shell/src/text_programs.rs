//! Programs that read and write text: `cat`, `tee`, `head`, `tail`, `wc`, `seq`, `yes`.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::files::absolute;
use crate::limits::LIMITS;
use crate::shell::Shell;
use crate::streams::{Input, Output};

/// Opens the input of an operand: a file, or `-` for standard input.
pub(crate) async fn open(shell: &Shell, program: &str, path: &str) -> Result<Input, i32> {
    if path == "-" || path == "/dev/stdin" {
        return Ok(shell.stdin.clone());
    }
    match shell.session.machine.files.read(&absolute(&shell.directory, path)) {
        Ok(content) => Ok(Input::bytes(content)),
        Err(crate::files::FileError::IsDirectory) => {
            Err(shell.fail(1, format!("{program}: read error: Is a directory")).await)
        }
        Err(error) => Err(shell.fail(1, format!("{program}: can't open '{path}': {error}")).await),
    }
}

/// Returns the operands, or standard input if there are none.
pub(crate) fn paths(arguments: &[String]) -> Vec<&str> {
    if arguments.is_empty() {
        vec!["-"]
    } else {
        arguments.iter().map(String::as_str).collect()
    }
}

pub(crate) async fn cat(shell: &Shell, arguments: &[String]) -> i32 {
    let mut status = 0;
    if let Some(flag) = arguments
        .iter()
        .find(|argument| argument.len() > 1 && argument.starts_with('-'))
    {
        return shell.fail(1, format!("cat: invalid option -- '{}'", &flag[1..])).await;
    }
    for path in paths(arguments) {
        match open(shell, "cat", path).await {
            Ok(input) => {
                while let Some(piece) = input.piece().await {
                    let written = shell.print("cat", piece).await;
                    if written != 0 {
                        return written;
                    }
                }
            }
            Err(failed) => status = failed,
        }
    }
    status
}

pub(crate) async fn tee(shell: &Shell, arguments: &[String]) -> i32 {
    let append = arguments.iter().any(|argument| argument == "-a");
    let mut status = 0;
    let mut outputs = Vec::new();
    let paths: Vec<&String> = arguments.iter().filter(|argument| *argument != "-a").collect();
    for path in paths {
        let files = &shell.session.machine.files;
        let absolute = absolute(&shell.directory, path);
        match files.write(&absolute, b"", append) {
            Ok(()) => outputs.push(Output::file(files.clone(), absolute)),
            Err(error) => status = shell.fail(1, format!("tee: {path}: {error}")).await,
        }
    }
    while let Some(piece) = shell.stdin.piece().await {
        for output in &outputs {
            if output.write(piece.clone()).await.is_err() {
                status = 1;
            }
        }
        let written = shell.print("tee", piece).await;
        if written != 0 {
            return written;
        }
    }
    status
}

/// The part of a text to print: a number of lines or bytes, from its start or end.
struct Amount {
    number: usize,
    bytes: bool,
    from_start: bool,
    follow: bool,
}

/// Parses `-n NUMBER`, `-nNUMBER`, `-NUMBER`, `-c NUMBER`, and `-f`. Also returns the operands.
fn amount(arguments: &[String]) -> Option<(Amount, Vec<&str>)> {
    let mut amount = Amount {
        number: 10,
        bytes: false,
        from_start: false,
        follow: false,
    };
    let mut operands = Vec::new();
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        let number = match argument.strip_prefix('-').filter(|flag| !flag.is_empty()) {
            None => {
                operands.push(argument);
                continue;
            }
            Some("f" | "F") => {
                amount.follow = true;
                continue;
            }
            Some("n" | "c") => {
                amount.bytes = argument == "-c";
                rest.next()?
            }
            Some(flag) => {
                amount.bytes = flag.starts_with('c');
                flag.trim_start_matches(['n', 'c'])
            }
        };
        amount.from_start = number.starts_with('+');
        amount.number = number.trim_start_matches('+').parse().ok()?;
    }
    if operands.is_empty() {
        operands.push("-");
    }
    Some((amount, operands))
}

pub(crate) async fn head(shell: &Shell, arguments: &[String]) -> i32 {
    let Some((amount, paths)) = amount(arguments) else {
        return shell.fail(1, "head: invalid number").await;
    };
    let mut status = 0;
    for path in paths {
        let input = match open(shell, "head", path).await {
            Ok(input) => input,
            Err(failed) => {
                status = failed;
                continue;
            }
        };
        let mut left = amount.number;
        while left > 0 {
            let Some(mut line) = input.line().await else { break };
            if amount.bytes {
                line.truncate(left);
                left -= line.len();
            } else {
                left -= 1;
            }
            let written = shell.print("head", line).await;
            if written != 0 {
                return written;
            }
        }
    }
    status
}

/// `tail`. With `-f` it follows the last file; `/dev/null` never grows.
pub(crate) async fn tail(shell: &Shell, arguments: &[String]) -> i32 {
    let Some((amount, paths)) = amount(arguments) else {
        return shell.fail(1, "tail: invalid number").await;
    };
    let mut status = 0;
    for path in &paths {
        let input = match open(shell, "tail", path).await {
            Ok(input) => input,
            Err(failed) => {
                status = failed;
                continue;
            }
        };
        let written = last(shell, &input, &amount).await;
        if written != 0 {
            return written;
        }
    }
    match paths.last() {
        Some(path) if amount.follow && status == 0 && *path != "-" => follow(shell, path).await,
        _ => status,
    }
}

/// Writes the end of an input.
async fn last(shell: &Shell, input: &Input, amount: &Amount) -> i32 {
    let mut kept: VecDeque<Bytes> = VecDeque::new();
    let (mut size, mut skipped) = (0, 0);
    while let Some(line) = input.line().await {
        if amount.from_start {
            skipped += 1;
            if skipped >= amount.number.max(1) {
                let written = shell.print("tail", line).await;
                if written != 0 {
                    return written;
                }
            }
            continue;
        }
        size += line.len();
        kept.push_back(line);
        while size > LIMITS.value || (!amount.bytes && kept.len() > amount.number) {
            size -= kept.pop_front().map_or(size, |line| line.len());
        }
    }
    let text: Vec<u8> = kept.into_iter().flatten().collect();
    let start = if amount.bytes {
        text.len().saturating_sub(amount.number)
    } else {
        0
    };
    shell.print("tail", text[start..].to_vec()).await
}

async fn follow(shell: &Shell, path: &str) -> i32 {
    let files = &shell.session.machine.files;
    let path = absolute(&shell.directory, path);
    let mut seen = files.size(&path).unwrap_or_default();
    loop {
        let changed = files.changed();
        let content = files.read(&path).unwrap_or_default();
        // A file that has become shorter has been rewritten.
        let new = content.slice(if content.len() < seen { 0 } else { seen }..);
        seen = content.len();
        let written = shell.print("tail", new).await;
        if written != 0 {
            return written;
        }
        changed.await;
    }
}

pub(crate) async fn wc(shell: &Shell, arguments: &[String]) -> i32 {
    let flags: String = arguments
        .iter()
        .filter_map(|argument| argument.strip_prefix('-'))
        .collect();
    let operands: Vec<String> = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-'))
        .cloned()
        .collect();
    let mut status = 0;
    for path in paths(&operands) {
        let input = match open(shell, "wc", path).await {
            Ok(input) => input,
            Err(failed) => {
                status = failed;
                continue;
            }
        };
        let (mut lines, mut words, mut bytes) = (0, 0, 0);
        while let Some(line) = input.line().await {
            lines += usize::from(line.ends_with(b"\n"));
            words += line
                .split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty())
                .count();
            bytes += line.len();
        }
        let wanted = [('l', lines), ('w', words), ('c', bytes)];
        let counts: Vec<String> = wanted
            .iter()
            .filter(|(flag, _)| flags.is_empty() || flags.contains(*flag))
            .map(|(_, count)| count.to_string())
            .collect();
        let name = if path == "-" { String::new() } else { format!(" {path}") };
        status = status.max(shell.print("wc", format!("{}{name}\n", counts.join(" "))).await);
    }
    status
}

/// `seq [-w] [-s SEPARATOR] [FIRST [STEP]] LAST`, of integers.
pub(crate) async fn seq(shell: &Shell, arguments: &[String]) -> i32 {
    let (mut separator, mut wide, mut numbers) = ("\n".to_owned(), false, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-w" => wide = true,
            "-s" => separator = rest.next().cloned().unwrap_or_default(),
            text => match text.parse::<i64>() {
                Ok(number) => numbers.push(number),
                Err(_) => return shell.fail(1, format!("seq: invalid number '{text}'")).await,
            },
        }
    }
    let (first, step, last) = match numbers.as_slice() {
        [last] => (1, 1, *last),
        [first, last] => (*first, 1, *last),
        [first, step, last] if *step != 0 => (*first, *step, *last),
        _ => return shell.fail(1, "seq: usage: seq [-w] [-s SEP] [FIRST [INC]] LAST").await,
    };
    let width = if wide {
        first.to_string().len().max(last.to_string().len())
    } else {
        0
    };
    let mut value = Some(first);
    let mut text = String::new();
    while let Some(number) = value.filter(|number| if step > 0 { *number <= last } else { *number >= last }) {
        value = number.checked_add(step);
        text.push_str(&format!("{number:0width$}"));
        let more = value.is_some_and(|next| if step > 0 { next <= last } else { next >= last });
        text.push_str(if more { &separator } else { "\n" });
        if text.len() >= 4_096 || !more {
            shell.session.count_command().await;
            let written = shell.print("seq", std::mem::take(&mut text)).await;
            if written != 0 {
                return written;
            }
        }
    }
    0
}

pub(crate) async fn yes(shell: &Shell, arguments: &[String]) -> i32 {
    let line = if arguments.is_empty() {
        "y\n".to_owned()
    } else {
        arguments.join(" ") + "\n"
    };
    loop {
        shell.session.count_command().await;
        let written = shell.print("yes", line.clone()).await;
        if written != 0 {
            return written;
        }
    }
}

//! Builtin commands, which change the shell itself.

use crate::files::absolute;
use crate::programs;
use crate::shell::{Interrupt, Outcome, Shell};

/// Names of the builtins, for `command -v`.
const NAMES: [&str; 22] = [
    ".", ":", "break", "cd", "command", "continue", "eval", "exec", "exit", "export", "local", "pwd", "read",
    "readonly", "return", "set", "shift", "trap", "type", "unset", "wait", "[",
];

/// Whether a command is `exec` without a program, which makes its redirections permanent.
pub(crate) fn keeps_redirects(fields: &[String]) -> bool {
    matches!(fields, [only] if only == "exec")
}

/// Runs a builtin. Returns `None` if there is none of that name.
pub(crate) async fn run(shell: &mut Shell, fields: &[String]) -> Option<Outcome> {
    let (name, arguments) = fields.split_first()?;
    let first = arguments.first().map(String::as_str);
    Some(match name.as_str() {
        ":" => Ok(0),
        "." | "source" => source(shell, arguments).await,
        "break" | "continue" => leave_loop(shell, name, first),
        "cd" => change_directory(shell, first).await,
        "command" => command(shell, arguments).await,
        "eval" => shell.run_script(&arguments.join(" ")).await,
        "exec" => Err(Interrupt::Exit(programs::run(shell, arguments).await)),
        "exit" => Err(Interrupt::Exit(status(shell, first))),
        "return" => Err(Interrupt::Return(status(shell, first))),
        "export" | "readonly" => declare(shell, arguments, name == "export").await,
        "local" => local(shell, arguments).await,
        "pwd" => {
            let line = format!("{}\n", shell.directory);
            Ok(shell.print("pwd", line).await)
        }
        "read" => read(shell, arguments).await,
        "set" => set(shell, arguments).await,
        "shift" => shift(shell, first).await,
        "trap" => trap(shell, arguments),
        "type" => describe(shell, arguments, "is").await,
        "unset" => {
            for name in arguments.iter().filter(|argument| !argument.starts_with('-')) {
                shell.variables.remove(name);
                shell.functions.remove(name);
            }
            Ok(0)
        }
        "wait" => wait(shell, first).await,
        _ => return None,
    })
}

/// Parses an exit status. Default: that of the last command.
fn status(shell: &Shell, text: Option<&str>) -> i32 {
    match text {
        Some(text) => text.parse::<i32>().map_or(2, |status| status & 0xff),
        None => shell.status,
    }
}

fn leave_loop(shell: &Shell, name: &str, levels: Option<&str>) -> Outcome {
    let levels = levels
        .and_then(|text| text.parse().ok())
        .unwrap_or(1)
        .clamp(1, shell.loops.max(1));
    match shell.loops {
        0 => Ok(0),
        _ if name == "break" => Err(Interrupt::Break(levels)),
        _ => Err(Interrupt::Continue(levels)),
    }
}

async fn source(shell: &mut Shell, arguments: &[String]) -> Outcome {
    let Some(file) = arguments.first() else {
        return Ok(shell.fail(2, "sh: .: filename argument required").await);
    };
    if shell.depth >= crate::limits::LIMITS.depth {
        return Err(Interrupt::Exit(shell.too_deep().await));
    }
    match shell.session.machine.files.read(&absolute(&shell.directory, file)) {
        Ok(text) => {
            shell.depth += 1;
            let outcome = shell.run_script(&String::from_utf8_lossy(&text)).await;
            shell.depth -= 1;
            outcome
        }
        Err(_) => Err(Interrupt::Exit(
            shell.fail(2, format!("sh: .: can't open '{file}'")).await,
        )),
    }
}

async fn change_directory(shell: &mut Shell, to: Option<&str>) -> Outcome {
    let to = to.or(shell.value("HOME")).unwrap_or("/").to_owned();
    let path = absolute(&shell.directory, &to);
    if !shell.session.machine.files.is_directory(&path) {
        return Ok(shell
            .fail(1, format!("sh: cd: can't cd to {to}: No such file or directory"))
            .await);
    }
    shell.set("PWD", path.clone());
    shell.directory = path;
    Ok(0)
}

async fn command(shell: &mut Shell, arguments: &[String]) -> Outcome {
    match arguments.split_first() {
        Some((flag, names)) if flag == "-v" => describe(shell, names, "").await,
        Some(_) => match Box::pin(run(shell, arguments)).await {
            Some(outcome) => outcome,
            None => Ok(programs::run(shell, arguments).await),
        },
        None => Ok(0),
    }
}

/// Describes commands: in words for `type` (`verb` is `is`), as a bare path or name for `command -v`.
async fn describe(shell: &mut Shell, names: &[String], verb: &str) -> Outcome {
    let mut status = 0;
    for name in names {
        let builtin = NAMES.contains(&name.as_str()) || shell.functions.contains_key(name);
        let place = match (builtin, programs::is_known(name)) {
            (true, _) if verb.is_empty() => name.clone(),
            (true, _) => "a shell builtin".to_owned(),
            (false, true) => format!("/bin/{name}"),
            (false, false) => {
                if !verb.is_empty() {
                    shell.fail(0, format!("{name}: not found")).await;
                }
                status = 127;
                continue;
            }
        };
        let line = if verb.is_empty() {
            format!("{place}\n")
        } else {
            format!("{name} {verb} {place}\n")
        };
        shell.print("type", line).await;
    }
    Ok(status)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

async fn declare(shell: &mut Shell, arguments: &[String], exported: bool) -> Outcome {
    let names: Vec<_> = arguments.iter().filter(|argument| *argument != "-p").collect();
    if names.is_empty() {
        let lines: String = shell
            .environment()
            .map(|(name, value)| format!("export {name}='{value}'\n"))
            .collect();
        return Ok(shell.print("export", lines).await);
    }
    for argument in names {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (argument.as_str(), None),
        };
        if !is_name(name) {
            return Ok(shell.fail(2, format!("sh: export: {name}: bad variable name")).await);
        }
        if let Some(value) = value {
            shell.set(name, value);
        }
        if exported && shell.variables.contains_key(name) {
            shell.variables.entry(name.to_owned()).or_default().exported = true;
        }
    }
    Ok(0)
}

async fn local(shell: &mut Shell, arguments: &[String]) -> Outcome {
    if shell.locals.is_empty() {
        return Ok(shell.fail(2, "sh: local: not in a function").await);
    }
    for argument in arguments {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        let before = shell.variables.get(name).cloned();
        if let Some(saved) = shell.locals.last_mut() {
            saved.push((name.to_owned(), before));
        }
        shell.set(name, value);
    }
    Ok(0)
}

async fn read(shell: &mut Shell, arguments: &[String]) -> Outcome {
    let raw = arguments
        .iter()
        .any(|argument| argument.starts_with('-') && argument.contains('r'));
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let Some(line) = shell.stdin.clone().line().await else {
        for name in names {
            shell.set(name, "");
        }
        return Ok(1);
    };
    let complete = line.ends_with(b"\n");
    let mut line = String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned();
    if !raw {
        line = line.replace("\\\\", "\u{0}").replace('\\', "").replace('\u{0}', "\\");
    }
    let separators = shell.value("IFS").unwrap_or(" \t\n").to_owned();
    let is_blank = |c: char| separators.contains(c) && c.is_whitespace();
    let mut rest = line.trim_matches(is_blank);
    if names.is_empty() {
        shell.set("REPLY", rest);
    }
    for (index, name) in names.iter().enumerate() {
        let end = if index + 1 < names.len() {
            rest.find(|c| separators.contains(c))
        } else {
            None
        };
        let (value, after) = match end {
            Some(end) => (&rest[..end], rest[end..].trim_start_matches(is_blank)),
            None => (rest, ""),
        };
        shell.set(name, value);
        // A single non-blank separator ends a value.
        rest = after
            .strip_prefix(|c| separators.contains(c) && !is_blank(c))
            .unwrap_or(after);
    }
    Ok(i32::from(!complete))
}

async fn set(shell: &mut Shell, arguments: &[String]) -> Outcome {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let on = argument.starts_with('-');
        match argument.strip_prefix(['-', '+']) {
            Some("-") => {
                shell.arguments = rest.cloned().collect();
                return Ok(0);
            }
            Some("o") => {
                let option = rest.next().map(String::as_str).unwrap_or_default();
                let flag = match option {
                    "errexit" => 'e',
                    "nounset" => 'u',
                    "xtrace" => 'x',
                    _ => return Ok(shell.fail(1, format!("sh: set: illegal option -o {option}")).await),
                };
                set_option(shell, flag, on);
            }
            Some(flags) if !flags.is_empty() => {
                for flag in flags.chars() {
                    if !set_option(shell, flag, on) {
                        return Ok(shell.fail(1, format!("sh: set: illegal option -{flag}")).await);
                    }
                }
            }
            _ => {
                shell.arguments = std::iter::once(argument).chain(rest).cloned().collect();
                return Ok(0);
            }
        }
    }
    Ok(0)
}

fn set_option(shell: &mut Shell, flag: char, on: bool) -> bool {
    match flag {
        'e' => shell.options.exit_on_error = on,
        'u' => shell.options.unset_is_error = on,
        'x' => shell.options.trace = on,
        'f' | 'm' | 'n' | 'h' | 'b' | 'a' => {}
        _ => return false,
    }
    true
}

async fn shift(shell: &mut Shell, by: Option<&str>) -> Outcome {
    let by = by
        .map_or(Some(1), |text| text.parse::<usize>().ok())
        .unwrap_or(usize::MAX);
    if by > shell.arguments.len() {
        return Ok(1);
    }
    shell.arguments.drain(..by);
    Ok(0)
}

fn trap(shell: &mut Shell, arguments: &[String]) -> Outcome {
    let Some((command, signals)) = arguments.split_first() else {
        return Ok(0);
    };
    for signal in signals {
        let name = match signal.trim_start_matches("SIG") {
            "0" => "EXIT",
            "1" => "HUP",
            "2" => "INT",
            "15" => "TERM",
            name => name,
        };
        if command == "-" {
            shell.traps.remove(name);
        } else {
            shell.traps.insert(name.to_owned(), command.clone());
        }
    }
    if !shell.is_subshell {
        shell.session.set_traps(shell.traps.keys().cloned());
    }
    Ok(0)
}

/// Waits for a background job, or for all of them. A signal with a trap interrupts it.
async fn wait(shell: &mut Shell, id: Option<&str>) -> Outcome {
    let mut jobs = shell.jobs.clone();
    if let Some(id) = id {
        jobs.retain(|(job, _)| job.to_string() == id);
        if jobs.is_empty() {
            return Ok(127);
        }
    }
    let session = shell.session.clone();
    let mut status = 0;
    for (_, mut job) in jobs {
        let signalled = session.signalled.notified();
        tokio::select! {
            ended = job.wait_for(Option::is_some) => {
                status = ended.ok().and_then(|status| *status).unwrap_or_default();
            }
            () = signalled => return Ok(143),
        }
    }
    Ok(if id.is_some() { status } else { 0 })
}

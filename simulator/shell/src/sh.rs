//! The program `sh`.

use crate::files::absolute;
use crate::parse::is_incomplete;
use crate::process::Signal;
use crate::shell::{Interrupt, Outcome, Shell, status_of};

/// Runs `sh` with its arguments: `-c SCRIPT [NAME [ARGUMENT...]]`, `FILE [ARGUMENT...]`, or lines from standard input.
pub(crate) async fn sh(shell: &mut Shell, arguments: &[String]) -> i32 {
    let mut rest = arguments.iter();
    let mut script = None;
    let mut positional = Vec::new();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix('-') {
            Some("") | None => {
                positional.push(argument.clone());
                break;
            }
            Some("-") => break,
            Some(flags) => {
                for flag in flags.chars() {
                    match flag {
                        'c' => script = Some(rest.next().cloned().unwrap_or_default()),
                        'e' => shell.options.exit_on_error = true,
                        'u' => shell.options.unset_is_error = true,
                        'x' => shell.options.trace = true,
                        'i' | 'l' | 's' => {}
                        other => return shell.fail(2, format!("sh: invalid option -- '{other}'")).await,
                    }
                }
            }
        }
    }
    positional.extend(rest.cloned());
    let mut positional = positional.into_iter();
    let outcome = match script {
        Some(script) => {
            if let Some(name) = positional.next() {
                shell.name = name;
            }
            shell.arguments = positional.collect();
            shell.run_script(&script).await
        }
        None => match positional.next() {
            Some(file) => {
                shell.arguments = positional.collect();
                let path = absolute(&shell.directory, &file);
                match shell.session.machine.files.read(&path) {
                    Ok(text) => {
                        shell.name = file;
                        shell.run_script(&String::from_utf8_lossy(&text)).await
                    }
                    Err(_) => return shell.fail(2, format!("sh: can't open '{file}'")).await,
                }
            }
            None => interactive(shell).await,
        },
    };
    let mut status = status_of(outcome);
    if let Some(command) = shell.traps.remove("EXIT") {
        shell.status = status;
        if let Err(Interrupt::Exit(other)) = shell.run_script(&command).await {
            status = other;
        }
    }
    status
}

/// Runs commands from standard input, line by line. An incomplete command waits for more lines.
async fn interactive(shell: &mut Shell) -> Outcome {
    let session = shell.session.clone();
    let prompts = shell.terminal && !shell.is_subshell;
    session.interactive.store(prompts, std::sync::atomic::Ordering::Relaxed);
    let mut pending = String::new();
    loop {
        if prompts {
            let place = if shell.value("HOME") == Some(&shell.directory) {
                "~"
            } else {
                &shell.directory
            };
            let prompt = if pending.is_empty() {
                format!("{place} # ")
            } else {
                "> ".to_owned()
            };
            shell.print("sh", prompt).await;
        }
        let stdin = shell.stdin.clone();
        let line = tokio::select! {
            line = stdin.line() => line,
            () = session.interrupted.notified() => {
                pending.clear();
                continue;
            }
        };
        let Some(line) = line else { break };
        pending.push_str(&String::from_utf8_lossy(&line).replace('\r', "\n"));
        if is_incomplete(&pending) {
            continue;
        }
        let script = std::mem::take(&mut pending);
        let streams = shell.streams();
        let outcome = tokio::select! {
            outcome = shell.run_script(&script) => Some(outcome),
            () = session.interrupted.notified() => None,
        };
        shell.status = match outcome {
            Some(Err(Interrupt::Exit(2))) if prompts && !script.contains("exit") => 2,
            Some(outcome) => outcome?,
            None => {
                shell.restore(streams);
                Signal::Interrupt.status()
            }
        };
    }
    if !pending.is_empty() {
        shell.status = shell.run_script(&pending).await?;
    }
    Ok(shell.status)
}

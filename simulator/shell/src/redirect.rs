//! Redirections.

use std::sync::Arc;

use brush_parser::ast::{IoFileRedirectKind, IoFileRedirectTarget, IoRedirect};

use crate::expand::{expand_fields, expand_here_document, expand_text};
use crate::files::{FileError, absolute};
use crate::shell::{Outcome, Shell};
use crate::streams::{Input, Output};

/// Applies a redirection to the shell's streams. The status is 1 if it fails.
pub(crate) async fn redirect(shell: &mut Shell, item: &IoRedirect) -> Outcome {
    match item {
        IoRedirect::File(number, kind, target) => file(shell, *number, kind, target).await,
        IoRedirect::HereDocument(_, document) => {
            let text = expand_here_document(shell, document).await?;
            shell.stdin = Input::bytes(text);
            Ok(0)
        }
        IoRedirect::HereString(_, word) => {
            let text = expand_text(shell, &word.value).await?;
            shell.stdin = Input::bytes(text + "\n");
            Ok(0)
        }
        IoRedirect::OutputAndError(word, append) => {
            let path = expand_text(shell, &word.value).await?;
            match open(shell, &path, *append) {
                Ok(output) => {
                    shell.stdout = output.clone();
                    shell.stderr = output;
                    Ok(0)
                }
                Err(error) => Ok(cannot("create", shell, &path, error).await),
            }
        }
    }
}

async fn cannot(what: &str, shell: &Shell, path: &str, error: FileError) -> i32 {
    let why = if error == FileError::NotFound && what == "create" {
        "nonexistent directory".to_owned()
    } else {
        error.to_string()
    };
    shell.fail(1, format!("sh: can't {what} {path}: {why}")).await
}

/// Opens a file for writing. `/dev/stdout` and `/dev/stderr` are the shell's own streams.
fn open(shell: &Shell, path: &str, append: bool) -> Result<Output, FileError> {
    let path = absolute(&shell.directory, path);
    match path.as_str() {
        "/dev/stdout" | "/proc/1/fd/1" | "/proc/self/fd/1" => return Ok(shell.stdout.clone()),
        "/dev/stderr" | "/proc/1/fd/2" | "/proc/self/fd/2" => return Ok(shell.stderr.clone()),
        _ => {}
    }
    let files = &shell.session.machine.files;
    files.write(&path, b"", append)?;
    Ok(Output::file(Arc::clone(files), path))
}

async fn file(
    shell: &mut Shell,
    number: Option<i32>,
    kind: &IoFileRedirectKind,
    target: &IoFileRedirectTarget,
) -> Outcome {
    let path = match target {
        IoFileRedirectTarget::Filename(word) => expand_fields(shell, std::slice::from_ref(word))
            .await?
            .into_iter()
            .next()
            .unwrap_or_default(),
        IoFileRedirectTarget::Fd(from) => return duplicate(shell, number, kind, &from.to_string()).await,
        IoFileRedirectTarget::Duplicate(word) => {
            let from = expand_text(shell, &word.value).await?;
            return duplicate(shell, number, kind, &from).await;
        }
        IoFileRedirectTarget::ProcessSubstitution(..) => {
            return Ok(shell.fail(2, "sh: syntax error: not supported").await);
        }
    };
    match kind {
        IoFileRedirectKind::Read | IoFileRedirectKind::ReadAndWrite => {
            match shell.session.machine.files.read(&absolute(&shell.directory, &path)) {
                Ok(content) => {
                    shell.stdin = Input::bytes(content);
                    Ok(0)
                }
                Err(error) => Ok(cannot("open", shell, &path, error).await),
            }
        }
        IoFileRedirectKind::Write | IoFileRedirectKind::Clobber | IoFileRedirectKind::Append => {
            match open(shell, &path, matches!(kind, IoFileRedirectKind::Append)) {
                Ok(output) => Ok(assign(shell, number.unwrap_or(1), output)),
                Err(error) => Ok(cannot("create", shell, &path, error).await),
            }
        }
        IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput => {
            duplicate(shell, number, kind, &path).await
        }
    }
}

fn assign(shell: &mut Shell, number: i32, output: Output) -> i32 {
    match number {
        1 => shell.stdout = output,
        2 => shell.stderr = output,
        // Other file descriptors are not supported, and have no effect.
        _ => {}
    }
    0
}

/// Duplicates a file descriptor, as in `2>&1`; `-` closes it.
async fn duplicate(shell: &mut Shell, number: Option<i32>, kind: &IoFileRedirectKind, from: &str) -> Outcome {
    if matches!(kind, IoFileRedirectKind::DuplicateInput) {
        if from == "-" {
            shell.stdin = Input::bytes("");
        }
        return Ok(0);
    }
    let output = match from {
        "1" => shell.stdout.clone(),
        "2" => shell.stderr.clone(),
        "-" => Output::file(Arc::clone(&shell.session.machine.files), "/dev/null"),
        other => return Ok(shell.fail(2, format!("sh: {other}: Bad file descriptor")).await),
    };
    Ok(assign(shell, number.unwrap_or(1), output))
}

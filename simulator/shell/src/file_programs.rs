//! Programs that create, remove and show files.

use crate::files::{FileError, absolute};
use crate::shell::Shell;

/// Splits arguments into operands and flags.
fn operands(arguments: &[String]) -> (Vec<&str>, String) {
    let is_flag = |argument: &&String| argument.len() > 1 && argument.starts_with('-');
    let flags = arguments
        .iter()
        .filter(is_flag)
        .map(|argument| &argument[1..])
        .collect();
    (
        arguments
            .iter()
            .filter(|argument| !is_flag(argument))
            .map(String::as_str)
            .collect(),
        flags,
    )
}

pub(crate) async fn make_directories(shell: &Shell, arguments: &[String]) -> i32 {
    let (paths, flags) = operands(arguments);
    let mut status = 0;
    for path in paths {
        let absolute = absolute(&shell.directory, path);
        if let Err(error) = shell
            .session
            .machine
            .files
            .make_directory(&absolute, flags.contains('p'))
        {
            status = shell
                .fail(1, format!("mkdir: can't create directory '{path}': {error}"))
                .await;
        }
    }
    status
}

pub(crate) async fn touch(shell: &Shell, arguments: &[String]) -> i32 {
    let mut status = 0;
    for path in operands(arguments).0 {
        let absolute = absolute(&shell.directory, path);
        match shell.session.machine.files.write(&absolute, b"", true) {
            Ok(()) | Err(FileError::IsDirectory) => {}
            Err(error) => status = shell.fail(1, format!("touch: {path}: {error}")).await,
        }
    }
    status
}

pub(crate) async fn remove(shell: &Shell, arguments: &[String]) -> i32 {
    let (paths, flags) = operands(arguments);
    let recursive = flags.contains(['r', 'R']);
    let mut status = 0;
    for path in paths {
        let absolute = absolute(&shell.directory, path);
        match shell.session.machine.files.remove(&absolute, recursive) {
            Ok(()) => {}
            Err(FileError::NotFound) if flags.contains('f') => {}
            Err(error) => status = shell.fail(1, format!("rm: can't remove '{path}': {error}")).await,
        }
    }
    status
}

/// `ls [-adl] [PATH...]`.
pub(crate) async fn list(shell: &Shell, arguments: &[String]) -> i32 {
    let (mut paths, flags) = operands(arguments);
    if paths.is_empty() {
        paths.push(".");
    }
    let files = &shell.session.machine.files;
    let mut status = 0;
    for path in &paths {
        let place = absolute(&shell.directory, path);
        let is_directory = files.is_directory(&place);
        let names: Vec<String> = match files.list(&place) {
            Ok(_) if flags.contains('d') => vec![(*path).to_owned()],
            Ok(names) => names
                .into_iter()
                .filter(|name| flags.contains('a') || !name.starts_with('.'))
                .collect(),
            Err(_) if files.size(&place).is_some() => vec![(*path).to_owned()],
            Err(error) => {
                status = shell.fail(1, format!("ls: {path}: {error}")).await;
                continue;
            }
        };
        let heading = if paths.len() > 1 && is_directory && !flags.contains('d') {
            format!("{path}:\n")
        } else {
            String::new()
        };
        let mut lines = String::new();
        for name in names {
            if flags.contains('l') {
                let below = is_directory && !flags.contains('d');
                let place = if below { absolute(&place, &name) } else { place.clone() };
                let (mode, size) = (mode_text(shell, &place), files.size(&place).unwrap_or(4096));
                lines.push_str(&format!("{mode}    1 root     root     {size:>9} Jan  1 00:00 "));
            }
            lines.push_str(&name);
            lines.push('\n');
        }
        status = status.max(shell.print("ls", heading + &lines).await);
    }
    status
}

/// Returns the type and permissions of a file in the format of `ls -l`.
fn mode_text(shell: &Shell, path: &str) -> String {
    let files = &shell.session.machine.files;
    let mode = files.mode(path).unwrap_or_default();
    let mut text = String::from(if files.is_directory(path) { "d" } else { "-" });
    for (at, letter) in "rwxrwxrwx".chars().enumerate() {
        let set = mode & (0o400 >> at) != 0;
        text.push(match (at, set) {
            (8, true) if mode & 0o1000 != 0 => 't',
            (8, false) if mode & 0o1000 != 0 => 'T',
            (_, true) => letter,
            (_, false) => '-',
        });
    }
    text
}

/// `stat [-f] -c FORMAT PATH...`, with `%a`, `%A`, `%F`, `%n`, `%s` and `%T`.
pub(crate) async fn stat(shell: &Shell, arguments: &[String]) -> i32 {
    let format = arguments.iter().position(|argument| argument == "-c");
    let (format, paths): (String, Vec<&String>) = match format {
        Some(at) => (
            arguments.get(at + 1).cloned().unwrap_or_default(),
            arguments.iter().skip(at + 2).collect(),
        ),
        None => (
            "  File: %n\n  Size: %s\t%F\nAccess: (%a/%A)".to_owned(),
            arguments.iter().filter(|argument| !argument.starts_with('-')).collect(),
        ),
    };
    let files = &shell.session.machine.files;
    let mut status = 0;
    for path in paths {
        let place = absolute(&shell.directory, path);
        let Some(mode) = files.mode(&place) else {
            status = shell
                .fail(1, format!("stat: can't stat '{path}': No such file or directory"))
                .await;
            continue;
        };
        let kind = if files.is_directory(&place) {
            "directory"
        } else {
            "regular file"
        };
        let line = format
            .replace("%a", &format!("{mode:o}"))
            .replace("%A", &mode_text(shell, &place))
            .replace("%F", kind)
            .replace("%n", path)
            .replace("%s", &files.size(&place).unwrap_or(4096).to_string())
            .replace("%T", files.filesystem(&place));
        status = status.max(shell.print("stat", line + "\n").await);
    }
    status
}

/// `chmod MODE PATH...`, with an octal mode, or `+x`, `+w`, `+r`, `-x`, `-w`, `-r` for all users.
pub(crate) async fn change_mode(shell: &Shell, arguments: &[String]) -> i32 {
    let mut operands = arguments
        .iter()
        .filter(|argument| !matches!(argument.as_str(), "-R" | "-v" | "-f"));
    let mode = operands.next().map(String::as_str).unwrap_or_default();
    let letters = mode.trim_start_matches(['u', 'g', 'o', 'a']);
    let bits = letters.get(1..).unwrap_or_default().chars().fold(0, |bits, letter| {
        bits | match letter {
            'r' => 0o444,
            'w' => 0o222,
            'x' => 0o111,
            _ => 0,
        }
    });
    let files = &shell.session.machine.files;
    let mut status = 0;
    for path in operands {
        let place = absolute(&shell.directory, path);
        let before = files.mode(&place).unwrap_or_default();
        let after = match (u32::from_str_radix(mode, 8), letters.chars().next()) {
            (Ok(mode), _) => mode & 0o7777,
            (_, Some('+')) => before | bits,
            (_, Some('-')) => before & !bits,
            (_, Some('=')) => bits,
            _ => return shell.fail(1, format!("chmod: invalid mode '{mode}'")).await,
        };
        if let Err(error) = files.set_mode(&place, after) {
            status = shell.fail(1, format!("chmod: {path}: {error}")).await;
        }
    }
    status
}

/// `cp [-r] FILE... TARGET` and `mv FILE... TARGET`; files only.
pub(crate) async fn copy(shell: &Shell, program: &str, arguments: &[String]) -> i32 {
    let (paths, _) = operands(arguments);
    let Some((target, sources)) = paths.split_last().filter(|(_, sources)| !sources.is_empty()) else {
        return shell.fail(1, format!("{program}: missing operand")).await;
    };
    let files = &shell.session.machine.files;
    let mut status = 0;
    for source in sources {
        let from = absolute(&shell.directory, source);
        let mut to = absolute(&shell.directory, target);
        if files.is_directory(&to) {
            to = absolute(&to, source.rsplit('/').next().unwrap_or_default());
        }
        let copied = files.read(&from).and_then(|content| {
            files.write(&to, &content, false)?;
            files.set_mode(&to, files.mode(&from).unwrap_or(0o644))?;
            if program == "mv" {
                files.remove(&from, false)
            } else {
                Ok(())
            }
        });
        if let Err(error) = copied {
            status = shell
                .fail(1, format!("{program}: can't stat '{source}': {error}"))
                .await;
        }
    }
    status
}

//! The table of programs, and the programs that do not process text.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::files::{FileError, absolute};
use crate::hosts::hosts_with;
use crate::machine::Machine;
use crate::program::Call;
use crate::sh::sh;
use crate::shell::{Shell, Variable};
use crate::{awk, date, file_programs, filters, printf, sed, test_command, text_programs};

/// Names of the programs.
const PROGRAMS: [&str; 49] = [
    "[", "ash", "awk", "basename", "bash", "cat", "chmod", "chown", "cp", "cut", "date", "dd", "dirname", "echo",
    "egrep", "env", "expr", "false", "fgrep", "grep", "head", "hostname", "id", "ls", "mkdir", "mv", "printenv",
    "printf", "pwd", "rev", "rm", "sed", "seq", "sh", "sleep", "sort", "stat", "sync", "tail", "tee", "test", "touch",
    "tr", "true", "uname", "uniq", "wc", "whoami", "yes",
];

/// Returns the last component of a program's path: `sh` of `/bin/sh`.
pub(crate) fn base_name(program: &str) -> &str {
    match program
        .strip_prefix("/bin/")
        .or_else(|| program.strip_prefix("/usr/bin/"))
    {
        Some(name) => name,
        None if program.starts_with("/usr/local/bin/") => &program["/usr/local/bin/".len()..],
        None => program,
    }
}

/// Whether this crate has a program of that name.
pub(crate) fn is_known(name: &str) -> bool {
    PROGRAMS.binary_search(&name).is_ok()
}

/// Whether a machine has a program of that name or path.
pub(crate) fn exists(machine: &Machine, program: &str) -> bool {
    is_known(base_name(program)) || machine.programs.as_ref().is_some_and(|all| all.find(program).is_some())
}

/// Runs a program provided by the machine. Returns `None` if it has none of that name.
async fn run_own(shell: &Shell, command: &[String]) -> Option<i32> {
    let machine = &shell.session.machine;
    let program = machine.programs.as_ref()?.find(command.first()?)?;
    let call = Call {
        command: command.to_vec(),
        environment: shell
            .environment()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        directory: shell.directory.clone(),
        stdin: shell.stdin.clone(),
        stdout: shell.stdout.clone(),
        stderr: shell.stderr.clone(),
        machine: machine.clone(),
    };
    Some(program.run(call).await)
}

/// Runs a file as a script, if it is executable.
async fn run_file(shell: &mut Shell, program: &str, arguments: &[String]) -> i32 {
    let machine = shell.session.machine.clone();
    let path = absolute(&shell.directory, program);
    let executable = machine.files.mode(&path).is_some_and(|mode| mode & 0o111 != 0);
    match machine.files.read(&path) {
        Ok(text) if executable && text.starts_with(b"#!") => {
            let command: Vec<String> = ["sh".to_owned(), path]
                .into_iter()
                .chain(arguments.iter().cloned())
                .collect();
            run(shell, &command).await
        }
        Ok(_) | Err(FileError::IsDirectory) => shell.fail(126, format!("sh: {program}: Permission denied")).await,
        Err(_) => shell.fail(127, format!("sh: {program}: not found")).await,
    }
}

/// Runs a program. The status is 127 if there is none of that name.
pub(crate) fn run<'a>(shell: &'a mut Shell, command: &'a [String]) -> BoxFuture<'a, i32> {
    async move {
        let Some((program, arguments)) = command.split_first() else {
            return 0;
        };
        let text = |value: String| value + "\n";
        if let Some(status) = run_own(shell, command).await {
            return status;
        }
        match base_name(program) {
            "sh" | "ash" | "bash" => match shell.subshell() {
                Some(mut inner) => {
                    // A nested shell leaves signals to the shell of the process.
                    inner.is_subshell = shell.is_subshell || shell.depth > 0;
                    inner.functions.clear();
                    inner.options = Default::default();
                    inner.variables.retain(|_, variable| variable.exported);
                    inner.name = "sh".to_owned();
                    sh(&mut inner, arguments).await
                }
                None => shell.too_deep().await,
            },
            "true" => 0,
            "false" => 1,
            "test" | "[" => test_command::run(shell, command).await,
            "echo" => echo(shell, arguments).await,
            "printf" => print_formatted(shell, arguments).await,
            "date" => match date::format(arguments, shell.session.machine.time.now()) {
                Ok(line) => shell.print("date", text(line)).await,
                Err(why) => shell.fail(1, why).await,
            },
            "sleep" => sleep(shell, arguments).await,
            "hostname" => hostname(shell, arguments).await,
            "whoami" => shell.print("whoami", "root\n").await,
            "uname" => uname(shell, arguments).await,
            "pwd" => shell.print("pwd", text(shell.directory.clone())).await,
            "env" | "printenv" => env(shell, arguments).await,
            "expr" => expr(shell, arguments).await,
            "seq" => text_programs::seq(shell, arguments).await,
            "basename" | "dirname" => path_part(shell, program, arguments).await,
            "mkdir" => file_programs::make_directories(shell, arguments).await,
            "touch" => file_programs::touch(shell, arguments).await,
            "rm" => file_programs::remove(shell, arguments).await,
            "ls" => file_programs::list(shell, arguments).await,
            "stat" => file_programs::stat(shell, arguments).await,
            "chmod" => file_programs::change_mode(shell, arguments).await,
            "chown" | "sync" => 0,
            "id" => shell.print("id", "uid=0(root) gid=0(root) groups=0(root)\n").await,
            program @ ("cp" | "mv") => file_programs::copy(shell, program, arguments).await,
            "tr" => filters::tr(shell, arguments).await,
            "cut" => filters::cut(shell, arguments).await,
            "grep" | "egrep" | "fgrep" => filters::grep(shell, base_name(program), arguments).await,
            "sed" => sed::sed(shell, arguments).await,
            "awk" => awk::awk(shell, arguments).await,
            "sort" => filters::sort(shell, arguments).await,
            "uniq" => filters::uniq(shell, arguments).await,
            "rev" => filters::rev(shell, arguments).await,
            "dd" => filters::dd(shell, arguments).await,
            "cat" => text_programs::cat(shell, arguments).await,
            "tee" => text_programs::tee(shell, arguments).await,
            "head" => text_programs::head(shell, arguments).await,
            "tail" => text_programs::tail(shell, arguments).await,
            "wc" => text_programs::wc(shell, arguments).await,
            "yes" => text_programs::yes(shell, arguments).await,
            _ if program.contains('/') => run_file(shell, program, arguments).await,
            _ => shell.fail(127, format!("sh: {program}: not found")).await,
        }
    }
    .boxed()
}

async fn echo(shell: &Shell, arguments: &[String]) -> i32 {
    let (mut newline, mut escapes, mut skipped) = (true, false, 0);
    for argument in arguments {
        let Some(flags) = argument.strip_prefix('-').filter(|flags| !flags.is_empty()) else {
            break;
        };
        if !flags.chars().all(|flag| matches!(flag, 'n' | 'e' | 'E')) {
            break;
        }
        for flag in flags.chars() {
            match flag {
                'n' => newline = false,
                other => escapes = other == 'e',
            }
        }
        skipped += 1;
    }
    let text = arguments[skipped..].join(" ");
    let (mut output, ended) = if escapes {
        printf::unescape(&text)
    } else {
        (text.into_bytes(), false)
    };
    if newline && !ended {
        output.push(b'\n');
    }
    shell.print("echo", output).await
}

async fn print_formatted(shell: &Shell, arguments: &[String]) -> i32 {
    let Some((format, arguments)) = arguments.split_first() else {
        return shell.fail(1, "printf: usage: printf FORMAT [ARG]...").await;
    };
    let (output, complaint) = printf::format(format, arguments);
    let status = shell.print("printf", output).await;
    match complaint {
        Some(complaint) => shell.fail(1, complaint).await,
        None => status,
    }
}

/// `sleep`: seconds with a fraction, and the suffixes s, m, h, d; `infinity` never ends.
async fn sleep(shell: &Shell, arguments: &[String]) -> i32 {
    if arguments.is_empty() {
        return shell.fail(1, "sleep: missing operand").await;
    }
    let mut seconds = 0.0;
    for argument in arguments {
        let (number, unit) = match argument.char_indices().last() {
            Some((at, 's')) => (&argument[..at], 1.0),
            Some((at, 'm')) => (&argument[..at], 60.0),
            Some((at, 'h')) => (&argument[..at], 3_600.0),
            Some((at, 'd')) => (&argument[..at], 86_400.0),
            _ => (argument.as_str(), 1.0),
        };
        match number.parse::<f64>() {
            Ok(number) if number >= 0.0 => seconds += number * unit,
            _ => return shell.fail(1, format!("sleep: invalid number '{argument}'")).await,
        }
    }
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) => shell.session.machine.time.sleep(duration).await,
        Err(_) => std::future::pending().await,
    }
    0
}

/// `hostname [-i | -f | -s]`: the host name, or its entry in the hosts file.
async fn hostname(shell: &Shell, arguments: &[String]) -> i32 {
    let machine = &shell.session.machine;
    let name = machine.hostname.as_str();
    let hosts = machine.files.read("/etc/hosts").unwrap_or_default();
    let hosts = String::from_utf8_lossy(&hosts);
    let entry = hosts_with(&hosts, name).next();
    let shown = match (arguments.first().map(String::as_str), &entry) {
        (None | Some("-s"), _) => name,
        (Some("-i"), Some(fields)) => fields[0],
        (Some("-i"), None) => {
            return shell
                .fail(1, format!("hostname: {name}: Host name lookup failure"))
                .await;
        }
        (Some("-f"), Some(fields)) => fields[1],
        (Some("-f"), None) => name,
        (Some(other), _) => return shell.fail(1, format!("hostname: invalid option {other}")).await,
    };
    shell.print("hostname", format!("{shown}\n")).await
}

async fn uname(shell: &Shell, arguments: &[String]) -> i32 {
    let host = &shell.session.machine.hostname;
    let line = match arguments.first().map(String::as_str) {
        None | Some("-s") => "Linux\n".to_owned(),
        Some("-n") => format!("{host}\n"),
        Some("-r") => "4.4.0\n".to_owned(),
        Some("-m") => "x86_64\n".to_owned(),
        Some("-a") => format!("Linux {host} 4.4.0 #1 SMP x86_64 GNU/Linux\n"),
        Some(other) => return shell.fail(1, format!("uname: invalid option {other}")).await,
    };
    shell.print("uname", line).await
}

/// `env [NAME=VALUE...] [COMMAND...]` and `printenv [NAME...]`.
async fn env(shell: &mut Shell, arguments: &[String]) -> i32 {
    let command = arguments
        .iter()
        .position(|argument| !argument.contains('='))
        .unwrap_or(arguments.len());
    let (assignments, command) = arguments.split_at(command);
    if let [name] = command
        && !is_known(base_name(name))
        && let Some(value) = shell.value(name)
    {
        return shell.print("printenv", format!("{value}\n")).await;
    }
    let Some(mut inner) = shell.subshell() else {
        return shell.too_deep().await;
    };
    for (name, value) in assignments.iter().filter_map(|text| text.split_once('=')) {
        inner.variables.insert(
            name.to_owned(),
            Variable {
                value: value.to_owned(),
                exported: true,
            },
        );
    }
    if command.is_empty() {
        let lines: String = inner
            .environment()
            .map(|(name, value)| format!("{name}={value}\n"))
            .collect();
        return inner.print("env", lines).await;
    }
    run(&mut inner, command).await
}

/// `expr`: operations on integers or strings, evaluated from left to right.
async fn expr(shell: &Shell, arguments: &[String]) -> i32 {
    let mut rest = arguments.iter();
    let Some(mut value) = rest.next().cloned() else {
        return shell.fail(2, "expr: syntax error").await;
    };
    while let Some(operator) = rest.next() {
        let Some(right) = rest.next() else {
            return shell.fail(2, "expr: syntax error").await;
        };
        value = match operation(&value, operator, right) {
            Ok(value) => value,
            Err(why) => return shell.fail(2, format!("expr: {why}")).await,
        };
    }
    let status = i32::from(value.is_empty() || value == "0");
    match shell.print("expr", format!("{value}\n")).await {
        0 => status,
        failed => failed,
    }
}

fn operation(left: &str, operator: &str, right: &str) -> Result<String, &'static str> {
    let numbers = left.parse::<i64>().ok().zip(right.parse::<i64>().ok());
    let order = numbers.map_or_else(|| left.cmp(right), |(left, right)| left.cmp(&right));
    let holds = match operator {
        "=" | "==" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        "|" => return Ok(if left.is_empty() || left == "0" { right } else { left }.to_owned()),
        "&" => {
            return Ok(if left.is_empty() || left == "0" || right.is_empty() || right == "0" {
                "0"
            } else {
                left
            }
            .to_owned());
        }
        _ => {
            let (left, right) = numbers.ok_or("non-numeric argument")?;
            let value = match operator {
                "+" => left.checked_add(right),
                "-" => left.checked_sub(right),
                "*" => left.checked_mul(right),
                "/" | "%" if right == 0 => return Err("division by zero"),
                "/" => left.checked_div(right),
                "%" => left.checked_rem(right),
                _ => return Err("syntax error"),
            };
            return value.map(|value| value.to_string()).ok_or("number too large");
        }
    };
    Ok(i64::from(holds).to_string())
}

async fn path_part(shell: &Shell, program: &str, arguments: &[String]) -> i32 {
    let path = arguments.first().map_or("", |path| path.trim_end_matches('/'));
    let (directory, name) = path.rsplit_once('/').unwrap_or((".", path));
    let part = if base_name(program) == "dirname" {
        if directory.is_empty() { "/" } else { directory }
    } else {
        arguments
            .get(1)
            .and_then(|suffix| name.strip_suffix(suffix.as_str()))
            .unwrap_or(name)
    };
    shell.print(program, format!("{part}\n")).await
}

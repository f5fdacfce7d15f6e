//! What a container's command does: how long it runs, what it writes, and how it exits.
//!
//! - Known are `sh -c` of `echo`, `sleep`, `true`, `false` and `exit`, joined by `;`, `&&` and line ends, and each of them alone.
//! - Every other command runs until it is stopped.

use std::time::Duration;

use serde_json::Value;

/// What a command does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Program {
    /// When it exits, and with which code; `None` if it runs until it is stopped.
    pub(crate) exit: Option<(Duration, i32)>,
    /// The lines that it writes, and when.
    pub(crate) lines: Vec<(Duration, String)>,
}

impl Program {
    /// The program of a container, by its `command` and `args`.
    pub(crate) fn of(container: &Value) -> Self {
        let words = |field: &str| {
            let words = container.get(field).and_then(Value::as_array);
            words.into_iter().flatten().filter_map(Value::as_str)
        };
        let command: Vec<&str> = words("command").chain(words("args")).collect();
        match command.as_slice() {
            [shell, "-c", script, ..] if matches!(name(shell), "sh" | "bash" | "ash") => Self::script(script),
            [] => Self::default(),
            words => Self::run([words.to_vec()].into_iter()),
        }
    }

    fn script(script: &str) -> Self {
        let commands = script
            .split([';', '\n'])
            .flat_map(|part| part.split("&&"))
            .map(|part| part.split_whitespace().collect::<Vec<_>>())
            .filter(|words| !words.is_empty());
        Self::run(commands)
    }

    fn run<'a>(commands: impl Iterator<Item = Vec<&'a str>>) -> Self {
        let (mut at, mut code, mut lines) = (Duration::ZERO, 0, Vec::new());
        for words in commands {
            let argument = words.get(1).copied().unwrap_or_default();
            match words.first().copied().map(name) {
                Some("echo") => {
                    let text = words.get(1..).unwrap_or_default().join(" ");
                    lines.push((at, format!("{}\n", text.trim_matches(['"', '\'']))));
                    code = 0;
                }
                Some("sleep") => {
                    let Some(time) = seconds(argument) else { break };
                    at += time;
                    code = 0;
                }
                Some("true" | ":") => code = 0,
                Some("false") => code = 1,
                Some("exit") => {
                    code = argument.parse().unwrap_or(code);
                    break;
                }
                _ => return Self { exit: None, lines },
            }
        }
        Self {
            exit: Some((at, code)),
            lines,
        }
    }
}

/// The name of a command without its folder.
fn name(command: &str) -> &str {
    command.rsplit('/').next().unwrap_or_default()
}

fn seconds(text: &str) -> Option<Duration> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) if text.ends_with('m') => (number, 60.0),
        Some(number) if text.ends_with('h') => (number, 3600.0),
        Some(number) => (number, 1.0),
        None => (text, 1.0),
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit).ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({}), None)]
    #[case(json!({"command": ["nginx", "-g", "daemon off;"]}), None)]
    #[case(json!({"command": ["sh", "-c", "while true; do date; done"]}), None)]
    #[case(json!({"command": ["sh", "-c", "exit 3"]}), Some((0, 3)))]
    #[case(json!({"command": ["/bin/sh", "-c"], "args": ["echo hi; sleep 2 && false"]}), Some((2, 1)))]
    #[case(json!({"command": ["sleep", "1m"]}), Some((60, 0)))]
    fn a_command_exits_when_and_as_it_says(#[case] container: Value, #[case] exit: Option<(u64, i32)>) {
        let exit = exit.map(|(seconds, code)| (Duration::from_secs(seconds), code));
        assert_eq!(Program::of(&container).exit, exit);
    }

    #[test]
    fn what_is_echoed_is_written_in_its_time() {
        let program = Program::of(&json!({"command": ["sh", "-c", "echo a; sleep 1; echo 'b c'"]}));
        let second = Duration::from_secs(1);
        assert_eq!(
            program.lines,
            [(Duration::ZERO, "a\n".to_owned()), (second, "b c\n".to_owned())]
        );
    }
}

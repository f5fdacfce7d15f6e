//! Word expansion: parameters, substitutions, arithmetic, field splitting, pathnames.

use std::sync::{Arc, Mutex, PoisonError};

use brush_parser::ast::{Assignment, AssignmentName, AssignmentValue, IoHereDocument, Word};
use brush_parser::word::{
    self, Parameter, ParameterExpr, ParameterTestType, SpecialParameter, TildeExpr, WordPiece, WordPieceWithSource,
};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::arithmetic::evaluate;
use crate::files::absolute;
use crate::limits::LIMITS;
use crate::parse::parser_options;
use crate::pattern::{Letter, is_pattern, letters, matches};
use crate::shell::{Interrupt, Shell, status_of};
use crate::streams::Output;

/// A part of an expanded word.
#[derive(Debug)]
enum Fragment {
    /// Text from the script.
    Literal(String),
    /// Text in quotes.
    Quoted(String),
    /// Result of an unquoted expansion, to be split into fields.
    Unquoted(String),
    /// End of a field, between the values of `"$@"`.
    Break,
}

/// Expands words to fields.
pub(crate) async fn expand_fields(shell: &mut Shell, words: &[Word]) -> Result<Vec<String>, Interrupt> {
    let mut fields = Vec::new();
    for word in words {
        let fragments = expand(shell, &word.value).await?;
        for field in split(shell, fragments) {
            if is_pattern(&field) {
                let found = files(shell, &field);
                if !found.is_empty() {
                    fields.extend(found);
                    continue;
                }
            }
            fields.push(field.iter().map(|l| l.letter).collect());
        }
        if fields.len() > LIMITS.fields {
            return Err(Interrupt::Exit(shell.fail(2, "sh: argument list too long").await));
        }
    }
    Ok(fields)
}

/// Expands a word without field splitting.
pub(crate) fn expand_text<'a>(shell: &'a mut Shell, word: &'a str) -> BoxFuture<'a, Result<String, Interrupt>> {
    async move {
        let fragments = expand(shell, word).await?;
        Ok(joined(fragments))
    }
    .boxed()
}

fn joined(fragments: Vec<Fragment>) -> String {
    let text = |fragment| match fragment {
        Fragment::Literal(text) | Fragment::Quoted(text) | Fragment::Unquoted(text) => text,
        Fragment::Break => " ".to_owned(),
    };
    fragments.into_iter().map(text).collect()
}

/// Expands a word to a pattern.
pub(crate) async fn expand_pattern(shell: &mut Shell, word: &str) -> Result<Vec<Letter>, Interrupt> {
    let fragments = expand(shell, word).await?;
    let mut pattern = Vec::new();
    for fragment in fragments {
        match fragment {
            Fragment::Literal(text) | Fragment::Unquoted(text) => pattern.extend(letters(&text, false)),
            Fragment::Quoted(text) => pattern.extend(letters(&text, true)),
            Fragment::Break => pattern.extend(letters(" ", true)),
        }
    }
    Ok(pattern)
}

/// Returns the name and expanded value of an assignment.
pub(crate) async fn assigned_value(shell: &mut Shell, assignment: &Assignment) -> Result<(String, String), Interrupt> {
    let (AssignmentName::VariableName(name), AssignmentValue::Scalar(word)) = (&assignment.name, &assignment.value)
    else {
        return Err(Interrupt::Exit(
            shell.fail(2, "sh: syntax error: arrays are not supported").await,
        ));
    };
    let value = expand_text(shell, &word.value).await?;
    let before = if assignment.append {
        shell.value(name).unwrap_or_default()
    } else {
        ""
    };
    Ok((name.clone(), format!("{before}{value}")))
}

/// Expands a here-document.
pub(crate) async fn expand_here_document(shell: &mut Shell, document: &IoHereDocument) -> Result<String, Interrupt> {
    let text = if document.remove_tabs {
        let lines = document.doc.value.split_inclusive('\n');
        lines.map(|line| line.trim_start_matches('\t')).collect()
    } else {
        document.doc.value.clone()
    };
    if !document.requires_expansion {
        return Ok(text);
    }
    match word::parse_heredoc(&text, &parser_options()) {
        Ok(pieces) => Ok(joined(expand_pieces(shell, &pieces, true).await?)),
        Err(_) => Err(Interrupt::Exit(
            shell.fail(2, "sh: syntax error: bad substitution").await,
        )),
    }
}

async fn expand(shell: &mut Shell, text: &str) -> Result<Vec<Fragment>, Interrupt> {
    match word::parse(text, &parser_options()) {
        Ok(pieces) => expand_pieces(shell, &pieces, false).await,
        Err(_) => Err(Interrupt::Exit(
            shell.fail(2, "sh: syntax error: bad substitution").await,
        )),
    }
}

fn expand_pieces<'a>(
    shell: &'a mut Shell,
    pieces: &'a [WordPieceWithSource],
    quoted: bool,
) -> BoxFuture<'a, Result<Vec<Fragment>, Interrupt>> {
    async move {
        let mut fragments = Vec::new();
        let mut size = 0;
        for piece in pieces {
            let new = expand_piece(shell, &piece.piece, quoted).await?;
            size += new
                .iter()
                .map(|fragment| match fragment {
                    Fragment::Literal(text) | Fragment::Quoted(text) | Fragment::Unquoted(text) => text.len(),
                    Fragment::Break => 1,
                })
                .sum::<usize>();
            if size > LIMITS.value {
                return Err(Interrupt::Exit(
                    shell.fail(2, "sh: out of memory: a word is too long").await,
                ));
            }
            fragments.extend(new);
        }
        Ok(fragments)
    }
    .boxed()
}

/// Returns the result of an expansion, to be split into fields unless it is quoted.
fn result(text: String, quoted: bool) -> Vec<Fragment> {
    vec![if quoted {
        Fragment::Quoted(text)
    } else {
        Fragment::Unquoted(text)
    }]
}

async fn expand_piece(shell: &mut Shell, piece: &WordPiece, quoted: bool) -> Result<Vec<Fragment>, Interrupt> {
    Ok(match piece {
        WordPiece::Text(text) if quoted => vec![Fragment::Quoted(text.clone())],
        WordPiece::Text(text) => vec![Fragment::Literal(text.clone())],
        WordPiece::SingleQuotedText(text) | WordPiece::AnsiCQuotedText(text) => vec![Fragment::Quoted(text.clone())],
        WordPiece::DoubleQuotedSequence(pieces) | WordPiece::GettextDoubleQuotedSequence(pieces) => {
            let mut inner = expand_pieces(shell, pieces, true).await?;
            // "" is a field, but "$@" without arguments is not.
            if pieces.is_empty() {
                inner.push(Fragment::Quoted(String::new()));
            }
            inner
        }
        WordPiece::TildeExpansion(tilde) => {
            let text = match tilde {
                TildeExpr::Home => shell.value("HOME").unwrap_or("~").to_owned(),
                TildeExpr::WorkingDir => shell.directory.clone(),
                TildeExpr::UserHome(user) => format!("~{user}"),
                _ => "~".to_owned(),
            };
            vec![Fragment::Quoted(text)]
        }
        WordPiece::ParameterExpansion(expression) => parameter_expression(shell, expression, quoted).await?,
        WordPiece::CommandSubstitution(script) => result(substitute(shell, script).await?, quoted),
        WordPiece::BackquotedCommandSubstitution(script) => {
            let script = script.replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\");
            result(substitute(shell, &script).await?, quoted)
        }
        WordPiece::EscapeSequence(text) => {
            let letter = text.strip_prefix('\\').unwrap_or(text);
            vec![Fragment::Quoted(if letter == "\n" {
                String::new()
            } else {
                letter.to_owned()
            })]
        }
        WordPiece::ArithmeticExpression(expression) => {
            result(evaluate(shell, &expression.value).await?.to_string(), quoted)
        }
    })
}

/// Returns the output of a script, without trailing line feeds.
async fn substitute(shell: &mut Shell, script: &str) -> Result<String, Interrupt> {
    let Some(mut inner) = shell.subshell() else {
        return Err(Interrupt::Exit(shell.too_deep().await));
    };
    let buffer = Arc::new(Mutex::new(Vec::new()));
    inner.stdout = Output::buffer(buffer.clone());
    inner.tested = false;
    let status = status_of(inner.run_script(script).await);
    (shell.status, shell.substituted) = (status, Some(status));
    let output = std::mem::take(&mut *buffer.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
}

/// Returns the value of a parameter, or `None` if it is unset. [`all_arguments`] handles `$@` and `$*`.
fn parameter(shell: &Shell, parameter: &Parameter) -> Option<String> {
    match parameter {
        Parameter::Positional(0) | Parameter::Special(SpecialParameter::ShellName) => Some(shell.name.clone()),
        Parameter::Positional(number) => shell.arguments.get(*number as usize - 1).cloned(),
        Parameter::Named(name) => shell.value(name).map(str::to_owned),
        Parameter::Special(SpecialParameter::PositionalParameterCount) => Some(shell.arguments.len().to_string()),
        Parameter::Special(SpecialParameter::LastExitStatus) => Some(shell.status.to_string()),
        Parameter::Special(SpecialParameter::ProcessId) => Some("1".to_owned()),
        Parameter::Special(SpecialParameter::LastBackgroundProcessId) => {
            Some(shell.jobs.last().map_or(String::new(), |(id, _)| id.to_string()))
        }
        Parameter::Special(SpecialParameter::CurrentOptionFlags) => {
            let options = shell.options;
            let flags = [
                (options.exit_on_error, 'e'),
                (options.unset_is_error, 'u'),
                (options.trace, 'x'),
            ];
            Some(flags.iter().filter(|(on, _)| *on).map(|(_, flag)| flag).collect())
        }
        Parameter::Special(SpecialParameter::AllPositionalParameters { .. }) => {
            (!shell.arguments.is_empty()).then(|| shell.arguments.join(" "))
        }
        Parameter::NamedWithIndex { .. } | Parameter::NamedWithAllIndices { .. } => None,
    }
}

fn label(parameter: &Parameter) -> String {
    match parameter {
        Parameter::Named(name) => name.clone(),
        other => other.to_string().trim_start_matches('$').to_owned(),
    }
}

/// Expands `$@` and `$*`.
fn all_arguments(shell: &Shell, concatenate: bool, quoted: bool) -> Vec<Fragment> {
    if quoted && concatenate {
        let separator = shell
            .value("IFS")
            .unwrap_or(" ")
            .chars()
            .next()
            .map_or(String::new(), String::from);
        return vec![Fragment::Quoted(shell.arguments.join(&separator))];
    }
    let mut fragments = Vec::new();
    for argument in &shell.arguments {
        if !fragments.is_empty() {
            fragments.push(Fragment::Break);
        }
        fragments.extend(result(argument.clone(), quoted));
    }
    fragments
}

async fn parameter_expression(
    shell: &mut Shell,
    expression: &ParameterExpr,
    quoted: bool,
) -> Result<Vec<Fragment>, Interrupt> {
    use ParameterExpr as E;
    let value_of = |shell: &Shell, of: &Parameter, test: &ParameterTestType| {
        parameter(shell, of).filter(|value| matches!(test, ParameterTestType::Unset) || !value.is_empty())
    };
    Ok(match expression {
        E::Parameter {
            parameter: Parameter::Special(SpecialParameter::AllPositionalParameters { concatenate }),
            ..
        } => all_arguments(shell, *concatenate, quoted),
        E::Parameter { parameter: of, .. } => match parameter(shell, of) {
            Some(value) => result(value, quoted),
            None if shell.options.unset_is_error => {
                let status = shell.fail(2, format!("sh: {}: parameter not set", label(of))).await;
                return Err(Interrupt::Exit(status));
            }
            None => result(String::new(), quoted),
        },
        E::UseDefaultValues {
            parameter: of,
            test_type,
            default_value,
            ..
        } => match value_of(shell, of, test_type) {
            Some(value) => result(value, quoted),
            None => operand(shell, default_value.as_deref(), quoted).await?,
        },
        E::AssignDefaultValues {
            parameter: of,
            test_type,
            default_value,
            ..
        } => match (value_of(shell, of, test_type), of) {
            (Some(value), _) => result(value, quoted),
            (None, Parameter::Named(name)) => {
                let value = joined(operand(shell, default_value.as_deref(), true).await?);
                shell.set(name, value.clone());
                result(value, quoted)
            }
            (None, _) => return Err(Interrupt::Exit(shell.fail(2, "sh: bad substitution").await)),
        },
        E::IndicateErrorIfNullOrUnset {
            parameter: of,
            test_type,
            error_message,
            ..
        } => match value_of(shell, of, test_type) {
            Some(value) => result(value, quoted),
            None => {
                let message = joined(operand(shell, error_message.as_deref(), true).await?);
                let message = if message.is_empty() {
                    "parameter not set".to_owned()
                } else {
                    message
                };
                return Err(Interrupt::Exit(
                    shell.fail(2, format!("sh: {}: {message}", label(of))).await,
                ));
            }
        },
        E::UseAlternativeValue {
            parameter: of,
            test_type,
            alternative_value,
            ..
        } => match value_of(shell, of, test_type) {
            Some(_) => operand(shell, alternative_value.as_deref(), quoted).await?,
            None => Vec::new(),
        },
        E::ParameterLength { parameter: of, .. } => {
            let length = parameter(shell, of).map_or(0, |value| value.chars().count());
            result(length.to_string(), quoted)
        }
        E::RemoveSmallestSuffixPattern {
            parameter: of, pattern, ..
        } => result(
            trimmed(shell, of, pattern.as_deref(), Trim::Suffix { longest: false }).await?,
            quoted,
        ),
        E::RemoveLargestSuffixPattern {
            parameter: of, pattern, ..
        } => result(
            trimmed(shell, of, pattern.as_deref(), Trim::Suffix { longest: true }).await?,
            quoted,
        ),
        E::RemoveSmallestPrefixPattern {
            parameter: of, pattern, ..
        } => result(
            trimmed(shell, of, pattern.as_deref(), Trim::Prefix { longest: false }).await?,
            quoted,
        ),
        E::RemoveLargestPrefixPattern {
            parameter: of, pattern, ..
        } => result(
            trimmed(shell, of, pattern.as_deref(), Trim::Prefix { longest: true }).await?,
            quoted,
        ),
        _ => {
            return Err(Interrupt::Exit(
                shell.fail(2, "sh: syntax error: bad substitution").await,
            ));
        }
    })
}

/// Expands the word after `:-` and similar operators.
async fn operand(shell: &mut Shell, word: Option<&str>, quoted: bool) -> Result<Vec<Fragment>, Interrupt> {
    let fragments = expand(shell, word.unwrap_or_default()).await?;
    if quoted {
        return Ok(vec![Fragment::Quoted(joined(fragments))]);
    }
    // Unquoted text of the operand is split, like the result of an expansion.
    let unquote = |fragment| match fragment {
        Fragment::Literal(text) => Fragment::Unquoted(text),
        other => other,
    };
    Ok(fragments.into_iter().map(unquote).collect())
}

#[derive(Clone, Copy)]
enum Trim {
    Prefix { longest: bool },
    Suffix { longest: bool },
}

/// Returns a value without the prefix or suffix that matches a pattern.
async fn trimmed(shell: &mut Shell, of: &Parameter, pattern: Option<&str>, trim: Trim) -> Result<String, Interrupt> {
    let value = parameter(shell, of).unwrap_or_default();
    let pattern = expand_pattern(shell, pattern.unwrap_or_default()).await?;
    let mut places: Vec<usize> = value.char_indices().map(|(at, _)| at).chain([value.len()]).collect();
    let (Trim::Prefix { longest } | Trim::Suffix { longest }) = trim;
    if longest == matches!(trim, Trim::Prefix { .. }) {
        places.reverse();
    }
    for at in places {
        let (head, tail) = value.split_at(at);
        let (removed, kept) = if matches!(trim, Trim::Prefix { .. }) {
            (head, tail)
        } else {
            (tail, head)
        };
        if matches(&pattern, removed) {
            return Ok(kept.to_owned());
        }
    }
    Ok(value)
}

/// Splits fragments into fields.
fn split(shell: &Shell, fragments: Vec<Fragment>) -> Vec<Vec<Letter>> {
    let separators = shell.value("IFS").unwrap_or(" \t\n").to_owned();
    let mut fields = Vec::new();
    let mut field: Option<Vec<Letter>> = None;
    for fragment in fragments {
        match fragment {
            Fragment::Literal(text) => field.get_or_insert_default().extend(letters(&text, false)),
            Fragment::Quoted(text) => field.get_or_insert_default().extend(letters(&text, true)),
            Fragment::Break => fields.extend(field.take()),
            Fragment::Unquoted(text) => {
                for letter in text.chars() {
                    if separators.contains(letter) {
                        if !letter.is_whitespace() {
                            field.get_or_insert_default();
                        }
                        fields.extend(field.take());
                    } else {
                        field.get_or_insert_default().push(Letter { letter, quoted: false });
                    }
                }
            }
        }
    }
    fields.extend(field);
    fields
}

/// Returns the files whose names match a pattern, sorted. Only the last component of the path may be a pattern.
fn files(shell: &Shell, pattern: &[Letter]) -> Vec<String> {
    let slash = pattern.iter().rposition(|l| l.letter == '/');
    let (directory, name) = pattern.split_at(slash.map_or(0, |slash| slash + 1));
    if is_pattern(directory) {
        return Vec::new();
    }
    let directory: String = directory.iter().map(|l| l.letter).collect();
    let names = shell
        .session
        .machine
        .files
        .list(&absolute(&shell.directory, &directory))
        .unwrap_or_default();
    let hidden = name.first().is_some_and(|l| l.letter == '.');
    let found = names
        .iter()
        .filter(|file| hidden || !file.starts_with('.'))
        .filter(|file| matches(name, file));
    found.map(|file| format!("{directory}{file}")).collect()
}

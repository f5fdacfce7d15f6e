//! Execution of the commands of a script.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use brush_parser::ast::{
    AndOr, AndOrList, CaseClauseCommand, CaseItemPostAction, Command, CommandPrefixOrSuffixItem, CompoundCommand,
    CompoundList, ForClauseCommand, IfClauseCommand, IoRedirect, Pipeline, SeparatorOperator, SimpleCommand,
    WhileOrUntilClauseCommand,
};
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};

use crate::expand::{assigned_value, expand_fields, expand_pattern, expand_text};
use crate::limits::LIMITS;
use crate::parse::{nests_too_deep, parse};
use crate::pattern::matches;
use crate::redirect::redirect;
use crate::shell::{Interrupt, Outcome, Shell, status_of};
use crate::streams::pipe;
use crate::{arithmetic, builtins, programs};

/// Exit status of a syntax error.
const SYNTAX_ERROR: i32 = 2;

/// Maximum stack size needed by one command of a list, and the size of a new stack segment if less is left.
const COMMAND_STACK: (usize, usize) = (256 << 10, 2 << 20);

/// A future that is polled with enough stack, because nested commands poll each other recursively.
struct WithStack<F>(F);

impl<F: Future + Unpin> Future for WithStack<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let (needed, more) = COMMAND_STACK;
        stacker::maybe_grow(needed, more, || Pin::new(&mut self.0).poll(context))
    }
}

/// Runs a script in a shell.
pub(crate) fn run_script<'a>(shell: &'a mut Shell, script: &'a str) -> BoxFuture<'a, Outcome> {
    async move {
        if script.len() > LIMITS.script {
            return Err(Interrupt::Exit(shell.fail(SYNTAX_ERROR, "sh: script too long").await));
        }
        if nests_too_deep(script) {
            let status = shell
                .fail(SYNTAX_ERROR, "sh: syntax error: commands nest too deep")
                .await;
            return Err(Interrupt::Exit(status));
        }
        let program = match parse(script) {
            Ok(program) => program,
            Err(error) => {
                let status = shell.fail(SYNTAX_ERROR, format!("sh: syntax error: {error}")).await;
                return Err(Interrupt::Exit(status));
            }
        };
        for list in &program.complete_commands {
            shell.status = run_list(shell, list).await?;
        }
        Ok(shell.status)
    }
    .boxed()
}

/// Runs a list of commands in sequence.
pub(crate) fn run_list<'a>(shell: &'a mut Shell, list: &'a CompoundList) -> BoxFuture<'a, Outcome> {
    async move {
        for item in &list.0 {
            shell.status = match item.1 {
                SeparatorOperator::Sequence => and_or(shell, &item.0).await?,
                SeparatorOperator::Async => background(shell, &item.0).await?,
            };
        }
        Ok(shell.status)
    }
    .boxed()
}

/// Starts a list in the background, with empty input.
async fn background(shell: &mut Shell, list: &AndOrList) -> Outcome {
    let Some(mut job) = shell.subshell() else {
        return Err(Interrupt::Exit(shell.too_deep().await));
    };
    job.stdin = crate::streams::Input::bytes("");
    let list = list.clone();
    let started = shell
        .session
        .start_job(async move { status_of(and_or(&mut job, &list).await) });
    match started {
        Some(job) => {
            shell.jobs.retain(|(_, status)| status.borrow().is_none());
            shell.jobs.push(job);
            Ok(0)
        }
        None => Ok(shell.fail(2, "sh: can't fork: Resource temporarily unavailable").await),
    }
}

async fn and_or(shell: &mut Shell, list: &AndOrList) -> Outcome {
    let tested = shell.tested;
    shell.tested = tested || !list.additional.is_empty();
    let mut last_ran = list.additional.is_empty();
    let mut status = pipeline(shell, &list.first).await?;
    for (index, next) in list.additional.iter().enumerate() {
        shell.status = status;
        let (wanted, next) = match next {
            AndOr::And(next) => (status == 0, next),
            AndOr::Or(next) => (status != 0, next),
        };
        if wanted {
            last_ran = index + 1 == list.additional.len();
            shell.tested = tested || !last_ran;
            status = pipeline(shell, next).await?;
        }
    }
    shell.tested = tested;
    // Under `set -e` a list ends the shell only if its last command failed untested.
    let negated = list.additional.is_empty() && list.first.bang;
    if status != 0 && shell.options.exit_on_error && !tested && last_ran && !negated {
        return Err(Interrupt::Exit(status));
    }
    Ok(status)
}

async fn pipeline(shell: &mut Shell, pipeline: &Pipeline) -> Outcome {
    let tested = shell.tested;
    shell.tested = tested || pipeline.bang;
    let status = match pipeline.seq.as_slice() {
        [command] => run_command(shell, command).await?,
        commands => piped(shell, commands).await?,
    };
    shell.tested = tested;
    run_traps(shell).await?;
    Ok(if pipeline.bang { i32::from(status == 0) } else { status })
}

/// Runs the commands of a pipeline concurrently, each in a subshell; the output of one is the input of the next.
async fn piped(shell: &mut Shell, commands: &[Command]) -> Outcome {
    let mut stages = Vec::new();
    let mut input = shell.stdin.clone();
    for (index, command) in commands.iter().enumerate() {
        let Some(mut stage) = shell.subshell() else {
            return Err(Interrupt::Exit(shell.too_deep().await));
        };
        stage.stdin = input.clone();
        if index + 1 < commands.len() {
            let (output, next) = pipe();
            stage.stdout = output;
            input = next;
        }
        // The stage owns its ends of the pipes, so that they close when it ends.
        stages.push(async move { status_of(run_command(&mut stage, command).await) });
    }
    drop(input);
    Ok(join_all(stages).await.last().copied().unwrap_or_default())
}

/// Runs the trap commands of pending signals.
pub(crate) async fn run_traps(shell: &mut Shell) -> Result<(), Interrupt> {
    while !shell.is_subshell && shell.session.has_signal() {
        let Some(signal) = shell.session.take_signal() else {
            break;
        };
        if let Some(command) = shell.traps.get(signal.name()).cloned() {
            let status = shell.status;
            shell.run_script(&command).await?;
            shell.status = status;
        }
    }
    Ok(())
}

fn run_command<'a>(shell: &'a mut Shell, command: &'a Command) -> WithStack<BoxFuture<'a, Outcome>> {
    let command = async move {
        shell.session.count_command().await;
        match command {
            Command::Simple(simple) => run_simple(shell, simple).await,
            Command::Compound(compound, redirects) => {
                let redirects = redirects.as_ref().map_or(&[][..], |list| &list.0);
                redirected(shell, redirects, compound).await
            }
            Command::Function(function) => {
                shell
                    .functions
                    .insert(function.fname.value.clone(), Arc::new(function.body.clone()));
                Ok(0)
            }
            Command::ExtendedTest(_, _) => Ok(shell.fail(127, "sh: [[: not found").await),
        }
    };
    WithStack(command.boxed())
}

/// Applies redirections in order, up to the first that fails.
async fn redirect_all(shell: &mut Shell, redirects: &[IoRedirect]) -> Outcome {
    for item in redirects {
        let status = redirect(shell, item).await?;
        if status != 0 {
            return Ok(status);
        }
    }
    Ok(0)
}

/// Runs a compound command with redirected streams, and restores them afterwards.
async fn redirected(shell: &mut Shell, redirects: &[IoRedirect], command: &CompoundCommand) -> Outcome {
    let streams = shell.streams();
    let outcome = match redirect_all(shell, redirects).await {
        Ok(0) => run_compound(shell, command).await,
        failed => failed,
    };
    shell.restore(streams);
    outcome
}

fn run_compound<'a>(shell: &'a mut Shell, command: &'a CompoundCommand) -> BoxFuture<'a, Outcome> {
    async move {
        match command {
            CompoundCommand::BraceGroup(group) => run_list(shell, &group.list).await,
            CompoundCommand::Subshell(subshell) => match shell.subshell() {
                Some(mut inner) => Ok(status_of(run_list(&mut inner, &subshell.list).await)),
                None => Err(Interrupt::Exit(shell.too_deep().await)),
            },
            CompoundCommand::ForClause(clause) => run_for(shell, clause).await,
            CompoundCommand::CaseClause(clause) => run_case(shell, clause).await,
            CompoundCommand::IfClause(clause) => run_if(shell, clause).await,
            CompoundCommand::WhileClause(clause) => run_while(shell, clause, true).await,
            CompoundCommand::UntilClause(clause) => run_while(shell, clause, false).await,
            CompoundCommand::Arithmetic(expression) => {
                let value = arithmetic::evaluate(shell, &expression.expr.value).await?;
                Ok(i32::from(value == 0))
            }
            CompoundCommand::ArithmeticForClause(_) | CompoundCommand::Coprocess(_) => Err(Interrupt::Exit(
                shell.fail(SYNTAX_ERROR, "sh: syntax error: not supported").await,
            )),
        }
    }
    .boxed()
}

async fn run_if(shell: &mut Shell, clause: &IfClauseCommand) -> Outcome {
    if condition(shell, &clause.condition).await? {
        return run_list(shell, &clause.then).await;
    }
    for other in clause.elses.iter().flatten() {
        let holds = match &other.condition {
            Some(list) => condition(shell, list).await?,
            None => true,
        };
        if holds {
            return run_list(shell, &other.body).await;
        }
    }
    Ok(0)
}

/// Returns whether a list succeeds. `set -e` does not apply to it.
async fn condition(shell: &mut Shell, list: &CompoundList) -> Result<bool, Interrupt> {
    let tested = std::mem::replace(&mut shell.tested, true);
    let status = run_list(shell, list).await;
    shell.tested = tested;
    Ok(status? == 0)
}

/// Control flow after the body of a loop.
enum Next {
    Again,
    Stop,
}

/// Runs the body of a loop once.
async fn run_body(shell: &mut Shell, body: &CompoundList, status: &mut i32) -> Result<Next, Interrupt> {
    shell.session.count_command().await;
    shell.loops += 1;
    let outcome = run_list(shell, body).await;
    shell.loops -= 1;
    match outcome {
        Ok(last) => *status = last,
        Err(Interrupt::Break(1)) => return Ok(Next::Stop),
        Err(Interrupt::Continue(1)) => {}
        Err(Interrupt::Break(levels)) => return Err(Interrupt::Break(levels - 1)),
        Err(Interrupt::Continue(levels)) => return Err(Interrupt::Continue(levels - 1)),
        Err(other) => return Err(other),
    }
    Ok(Next::Again)
}

async fn run_while(shell: &mut Shell, clause: &WhileOrUntilClauseCommand, wanted: bool) -> Outcome {
    let mut status = 0;
    while condition(shell, &clause.0).await? == wanted {
        match run_body(shell, &clause.1.list, &mut status).await? {
            Next::Again => {}
            Next::Stop => break,
        }
    }
    Ok(status)
}

async fn run_for(shell: &mut Shell, clause: &ForClauseCommand) -> Outcome {
    let values = match &clause.values {
        Some(words) => expand_fields(shell, words).await?,
        None => shell.arguments.clone(),
    };
    let mut status = 0;
    for value in values {
        shell.set(&clause.variable_name, value);
        match run_body(shell, &clause.body.list, &mut status).await? {
            Next::Again => {}
            Next::Stop => break,
        }
    }
    Ok(status)
}

async fn run_case(shell: &mut Shell, clause: &CaseClauseCommand) -> Outcome {
    let value = expand_text(shell, &clause.value.value).await?;
    let mut falls_through = false;
    let mut status = 0;
    for item in &clause.cases {
        let mut holds = falls_through;
        for pattern in &item.patterns {
            if !holds {
                holds = matches(&expand_pattern(shell, &pattern.value).await?, &value);
            }
        }
        if !holds {
            continue;
        }
        if let Some(list) = &item.cmd {
            status = run_list(shell, list).await?;
        }
        match item.post_action {
            CaseItemPostAction::ExitCase => return Ok(status),
            CaseItemPostAction::UnconditionallyExecuteNextCaseItem => falls_through = true,
            CaseItemPostAction::ContinueEvaluatingCases => falls_through = false,
        }
    }
    Ok(status)
}

/// The parts of a simple command.
#[derive(Default)]
struct Parts<'a> {
    assignments: Vec<&'a brush_parser::ast::Assignment>,
    words: Vec<brush_parser::ast::Word>,
    redirects: Vec<IoRedirect>,
}

fn parts(command: &SimpleCommand) -> Parts<'_> {
    let mut parts = Parts::default();
    for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
        match item {
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => parts.assignments.push(assignment),
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => parts.redirects.push(redirect.clone()),
            CommandPrefixOrSuffixItem::Word(word) => parts.words.push(word.clone()),
            CommandPrefixOrSuffixItem::ProcessSubstitution(..) => {}
        }
    }
    parts.words.extend(command.word_or_name.clone());
    for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
        match item {
            CommandPrefixOrSuffixItem::AssignmentWord(_, word) | CommandPrefixOrSuffixItem::Word(word) => {
                parts.words.push(word.clone());
            }
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => parts.redirects.push(redirect.clone()),
            CommandPrefixOrSuffixItem::ProcessSubstitution(..) => {}
        }
    }
    parts
}

async fn run_simple(shell: &mut Shell, command: &SimpleCommand) -> Outcome {
    let parts = parts(command);
    shell.substituted = None;
    let fields = expand_fields(shell, &parts.words).await?;
    let mut assigned = Vec::new();
    for assignment in &parts.assignments {
        assigned.push(assigned_value(shell, assignment).await?);
    }
    if shell.options.trace && !(fields.is_empty() && assigned.is_empty()) {
        let assignments = assigned.iter().map(|(name, value)| format!("{name}={value}"));
        let line: Vec<String> = assignments.chain(fields.iter().cloned()).collect();
        shell.fail(0, format!("+ {}", line.join(" "))).await;
    }
    if fields.is_empty() {
        for (name, value) in assigned {
            shell.set(&name, value);
        }
        let status = shell.substituted.unwrap_or(0);
        let streams = shell.streams();
        let outcome = redirect_all(shell, &parts.redirects).await;
        shell.restore(streams);
        return outcome.map(|failed| if failed == 0 { status } else { failed });
    }
    run_fields(shell, fields, assigned, &parts.redirects).await
}

/// Runs an expanded command with its assignments and redirections.
async fn run_fields(
    shell: &mut Shell,
    fields: Vec<String>,
    assigned: Vec<(String, String)>,
    redirects: &[IoRedirect],
) -> Outcome {
    if builtins::keeps_redirects(&fields) {
        for item in redirects {
            redirect(shell, item).await?;
        }
        return Ok(0);
    }
    // Assignments before a command only affect its environment.
    let outer: Vec<_> = assigned
        .iter()
        .map(|(name, _)| (name.clone(), shell.variables.get(name).cloned()))
        .collect();
    for (name, value) in assigned {
        shell.set(&name, value);
        shell.variables.entry(name).or_default().exported = true;
    }
    let streams = shell.streams();
    let outcome = match redirect_all(shell, redirects).await {
        Ok(0) => run_expanded(shell, &fields).await,
        failed => failed,
    };
    shell.restore(streams);
    for (name, variable) in outer {
        match variable {
            Some(variable) => drop(shell.variables.insert(name, variable)),
            None => drop(shell.variables.remove(&name)),
        }
    }
    outcome
}

/// Runs a function, a builtin or a program.
async fn run_expanded(shell: &mut Shell, fields: &[String]) -> Outcome {
    let name = fields.first().map(String::as_str).unwrap_or_default();
    if let Some(body) = shell.functions.get(name).cloned() {
        return call(shell, &body, fields).await;
    }
    match builtins::run(shell, fields).await {
        Some(outcome) => outcome,
        None => Ok(programs::run(shell, fields).await),
    }
}

/// Calls a function.
async fn call(shell: &mut Shell, body: &brush_parser::ast::FunctionBody, fields: &[String]) -> Outcome {
    if shell.depth >= LIMITS.depth {
        return Err(Interrupt::Exit(shell.too_deep().await));
    }
    let arguments = std::mem::replace(&mut shell.arguments, fields.get(1..).unwrap_or_default().to_vec());
    let loops = std::mem::take(&mut shell.loops);
    shell.depth += 1;
    shell.locals.push(Vec::new());
    let redirects = body.1.as_ref().map_or(&[][..], |list| &list.0);
    let outcome = redirected(shell, redirects, &body.0).await;
    for (name, variable) in shell.locals.pop().into_iter().flatten().rev() {
        match variable {
            Some(variable) => drop(shell.variables.insert(name, variable)),
            None => drop(shell.variables.remove(&name)),
        }
    }
    shell.depth -= 1;
    shell.loops = loops;
    shell.arguments = arguments;
    match outcome {
        Err(Interrupt::Return(status)) => Ok(status),
        other => other,
    }
}

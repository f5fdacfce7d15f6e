//! The program `awk`.
//!
//! Limits: those of its [syntax](crate::awk_syntax), and [`LIMITS`] for the size of values.

use std::collections::HashMap;

use crate::awk_syntax::{Expression, Pattern, Rules, Statement, parse};
use crate::filters::{compile, lines};
use crate::limits::LIMITS;
use crate::printf;
use crate::shell::Shell;

/// `awk [-F SEPARATOR] [-v NAME=VALUE] PROGRAM [FILE...]`.
pub(crate) async fn awk(shell: &Shell, arguments: &[String]) -> i32 {
    let mut run = Run::default();
    let mut rest = arguments.iter();
    let program = loop {
        let Some(argument) = rest.next() else {
            return shell
                .fail(1, "awk: usage: awk [-F SEPARATOR] [-v NAME=VALUE] PROGRAM [FILE...]")
                .await;
        };
        let option = |name: &str| argument.strip_prefix(name).map(str::to_owned);
        let mut value = |attached: String| match attached.is_empty() {
            true => rest.next().cloned().unwrap_or_default(),
            false => attached,
        };
        if let Some(separator) = option("-F") {
            run.set("FS", Value::text(value(separator)));
        } else if let Some(assignment) = option("-v") {
            let assignment = value(assignment);
            let (name, text) = assignment.split_once('=').unwrap_or((&assignment, ""));
            run.set(name, Value::input(text));
        } else {
            break argument;
        }
    };
    let rules = match parse(program) {
        Ok(rules) => rules,
        Err(why) => return shell.fail(1, format!("awk: {why}")).await,
    };
    let operands: Vec<String> = rest.cloned().collect();
    let mut status = 0;
    let mut flow = run.rules(&rules, |pattern| matches!(pattern, Pattern::Begin));
    let reads = rules.iter().any(|(pattern, _)| !matches!(pattern, Pattern::Begin));
    if reads && matches!(flow, Ok(Flow::On | Flow::Next)) {
        let (records, failed) = lines(shell, "awk", &operands).await;
        status = failed;
        for record in records {
            let record = String::from_utf8_lossy(&record);
            run.read(record.strip_suffix('\n').unwrap_or(&record));
            flow = run.rules(&rules, |pattern| matches!(pattern, Pattern::Always | Pattern::If(_)));
            if !matches!(flow, Ok(Flow::On | Flow::Next)) {
                break;
            }
        }
        if matches!(flow, Ok(Flow::On | Flow::Next)) {
            flow = run.rules(&rules, |pattern| matches!(pattern, Pattern::End));
        }
    }
    let printed = shell.print("awk", std::mem::take(&mut run.output)).await;
    match flow {
        Err(why) => shell.fail(1, format!("awk: {why}")).await,
        Ok(Flow::Exit(code)) => code,
        Ok(_) => status.max(printed),
    }
}

/// Control flow after a statement.
enum Flow {
    On,
    Next,
    Exit(i32),
}

/// A string; also a number if it is numeric input or a result of arithmetic.
#[derive(Clone, Default)]
struct Value {
    text: String,
    number: Option<f64>,
}

impl Value {
    fn text(text: String) -> Self {
        Self { text, number: None }
    }

    /// Creates the value of a field or input variable, which is a number if it looks like one.
    fn input(text: &str) -> Self {
        Self {
            number: text.trim().parse().ok().filter(|_| !text.contains(char::is_alphabetic)),
            text: text.to_owned(),
        }
    }

    fn number(number: f64) -> Self {
        let text = if number.fract() == 0.0 && number.abs() < 1e15 {
            format!("{number:.0}")
        } else {
            let (text, _) = printf::format("%g", &[number.to_string()]);
            String::from_utf8_lossy(&text).into_owned()
        };
        Self {
            text: if text == "-0" { "0".to_owned() } else { text },
            number: Some(number),
        }
    }

    fn truth(holds: bool) -> Self {
        Self::number(f64::from(u8::from(holds)))
    }

    /// Returns its number, or the number that its text begins with, or 0.
    fn to_number(&self) -> f64 {
        self.number.unwrap_or_else(|| {
            let text = self.text.trim_start();
            let end = text.char_indices().find(|(at, letter)| {
                !letter.is_ascii_digit() && *letter != '.' && !(*at == 0 && matches!(letter, '-' | '+'))
            });
            let digits = text.get(..end.map_or(text.len(), |(at, _)| at));
            digits.and_then(|digits| digits.parse().ok()).unwrap_or(0.0)
        })
    }

    fn holds(&self) -> bool {
        match self.number {
            Some(number) => number != 0.0,
            None => !self.text.is_empty(),
        }
    }
}

/// The state of a running program.
#[derive(Default)]
struct Run {
    variables: HashMap<String, Value>,
    /// The record, followed by its fields.
    fields: Vec<String>,
    records: f64,
    output: Vec<u8>,
}

impl Run {
    fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name.to_owned(), value);
    }

    fn setting(&self, name: &str, default: &str) -> String {
        self.variables
            .get(name)
            .map_or_else(|| default.to_owned(), |value| value.text.clone())
    }

    /// Sets the record, and splits it into fields.
    fn read(&mut self, record: &str) {
        self.records += 1.0;
        self.split(record);
    }

    fn split(&mut self, record: &str) {
        let separator = self.setting("FS", " ");
        let fields: Vec<String> = match separator.as_str() {
            " " => record.split_whitespace().map(str::to_owned).collect(),
            _ if record.is_empty() => Vec::new(),
            "\\t" => record.split('\t').map(str::to_owned).collect(),
            one if one.chars().count() == 1 => record.split(one).map(str::to_owned).collect(),
            pattern => match compile(pattern, false) {
                Some(regex) => regex
                    .split(record.as_bytes())
                    .map(|field| String::from_utf8_lossy(field).into_owned())
                    .collect(),
                None => vec![record.to_owned()],
            },
        };
        self.fields = std::iter::once(record.to_owned()).chain(fields).collect();
    }

    fn rules(&mut self, rules: &Rules, chosen: impl Fn(&Pattern) -> bool) -> Result<Flow, String> {
        for (pattern, statements) in rules.iter().filter(|(pattern, _)| chosen(pattern)) {
            let applies = match pattern {
                Pattern::If(condition) => self.evaluate(condition)?.holds(),
                _ => true,
            };
            if applies {
                match self.statements(statements)? {
                    Flow::On => {}
                    other => return Ok(other),
                }
            }
        }
        Ok(Flow::On)
    }

    fn statements(&mut self, statements: &[Statement]) -> Result<Flow, String> {
        for statement in statements {
            match statement {
                Statement::Print(values) => self.print(values)?,
                Statement::Printf(values) => {
                    let mut values = values.iter().map(|value| self.evaluate(value).map(|value| value.text));
                    let format = values.next().ok_or("printf: no format")??;
                    let values = values.collect::<Result<Vec<_>, _>>()?;
                    let (text, _) = printf::format(&format, &values);
                    self.write(&text)?;
                }
                Statement::Evaluate(expression) => drop(self.evaluate(expression)?),
                Statement::If(condition, then, otherwise) => {
                    let branch = if self.evaluate(condition)?.holds() {
                        then
                    } else {
                        otherwise
                    };
                    match self.statements(branch)? {
                        Flow::On => {}
                        other => return Ok(other),
                    }
                }
                Statement::Next => return Ok(Flow::Next),
                Statement::Exit(status) => {
                    let status = status.as_ref().map(|status| self.evaluate(status)).transpose()?;
                    return Ok(Flow::Exit(status.map_or(0, |status| status.to_number() as i32)));
                }
            }
        }
        Ok(Flow::On)
    }

    fn print(&mut self, values: &[Expression]) -> Result<(), String> {
        let mut line = match values {
            [] => self.field(0).text,
            values => {
                let texts = values.iter().map(|value| self.evaluate(value).map(|value| value.text));
                texts.collect::<Result<Vec<_>, _>>()?.join(&self.setting("OFS", " "))
            }
        };
        line.push_str(&self.setting("ORS", "\n"));
        self.write(line.as_bytes())
    }

    fn write(&mut self, text: &[u8]) -> Result<(), String> {
        if self.output.len() + text.len() > LIMITS.value {
            return Err("out of memory".to_owned());
        }
        self.output.extend_from_slice(text);
        Ok(())
    }

    fn field(&self, number: usize) -> Value {
        Value::input(self.fields.get(number).map_or("", String::as_str))
    }

    fn evaluate(&mut self, expression: &Expression) -> Result<Value, String> {
        Ok(match expression {
            Expression::Number(number) => Value::number(*number),
            Expression::Text(text) => Value::text(text.clone()),
            Expression::Matches(regex) => Value::truth(regex.is_match(self.field(0).text.as_bytes())),
            Expression::Variable(name) => match name.as_str() {
                "NF" => Value::number(self.fields.len().saturating_sub(1) as f64),
                "NR" | "FNR" => Value::number(self.records),
                name => self.variables.get(name).cloned().unwrap_or_default(),
            },
            Expression::Field(number) => {
                let number = self.evaluate(number)?.to_number();
                if number < 0.0 {
                    return Err("access to negative field".to_owned());
                }
                self.field(number as usize)
            }
            Expression::Not(value) => Value::truth(!self.evaluate(value)?.holds()),
            Expression::Negative(value) => Value::number(-self.evaluate(value)?.to_number()),
            Expression::Binary("&&", left, right) => {
                Value::truth(self.evaluate(left)?.holds() && self.evaluate(right)?.holds())
            }
            Expression::Binary("||", left, right) => {
                Value::truth(self.evaluate(left)?.holds() || self.evaluate(right)?.holds())
            }
            Expression::Binary(sign @ ("~" | "!~"), left, right) => {
                let text = self.evaluate(left)?.text;
                let found = match &**right {
                    Expression::Matches(regex) => regex.is_match(text.as_bytes()),
                    pattern => {
                        let pattern = self.evaluate(pattern)?.text;
                        let regex = compile(&pattern, false).ok_or_else(|| format!("bad pattern {pattern}"))?;
                        regex.is_match(text.as_bytes())
                    }
                };
                Value::truth(found == (*sign == "~"))
            }
            Expression::Binary(sign, left, right) => operation(sign, &self.evaluate(left)?, &self.evaluate(right)?)?,
            Expression::Assign(target, operator, value) => {
                let mut value = self.evaluate(value)?;
                if !operator.is_empty() {
                    value = operation(operator, &self.evaluate(target)?, &value)?;
                }
                self.assign(target, value.clone())?;
                value
            }
            Expression::Step(target, by) => {
                let before = self.evaluate(target)?.to_number();
                self.assign(target, Value::number(before + by))?;
                Value::number(before)
            }
            Expression::Call(name, arguments) => {
                let values = arguments.iter().map(|argument| self.evaluate(argument));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                self.call(name, &values)?
            }
        })
    }

    fn assign(&mut self, target: &Expression, value: Value) -> Result<(), String> {
        match target {
            Expression::Variable(name) => self.set(name, value),
            Expression::Field(number) => match self.evaluate(number)?.to_number() as usize {
                0 => self.split(&value.text),
                number if number < LIMITS.fields => {
                    self.fields.resize(self.fields.len().max(number + 1), String::new());
                    self.fields[number] = value.text;
                    let separator = self.setting("OFS", " ");
                    self.fields[0] = self.fields[1..].join(&separator);
                }
                number => return Err(format!("field {number} is too far")),
            },
            _ => return Err("assignment to a value that is not a variable".to_owned()),
        }
        Ok(())
    }

    fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, String> {
        let record = self.field(0);
        let text = |at: usize| arguments.get(at).map_or("", |value| value.text.as_str());
        Ok(match name {
            "length" => {
                let of = arguments.first().unwrap_or(&record);
                Value::number(of.text.chars().count() as f64)
            }
            "toupper" => Value::text(text(0).to_uppercase()),
            "tolower" => Value::text(text(0).to_lowercase()),
            "int" => Value::number(arguments.first().map_or(0.0, Value::to_number).trunc()),
            "index" => {
                let at = text(0).find(text(1)).map(|at| text(0)[..at].chars().count() + 1);
                Value::number(at.unwrap_or(0) as f64)
            }
            "substr" => {
                let start = arguments.get(1).map_or(1.0, Value::to_number).round();
                let end = arguments
                    .get(2)
                    .map_or(f64::INFINITY, |length| start + length.to_number().round());
                let chosen = (1..).zip(text(0).chars()).filter(|(at, _)| {
                    let at = f64::from(*at);
                    at >= start && at < end
                });
                Value::text(chosen.map(|(_, letter)| letter).collect())
            }
            other => return Err(format!("{other}() is not simulated")),
        })
    }
}

fn operation(sign: &str, left: &Value, right: &Value) -> Result<Value, String> {
    if sign.is_empty() {
        if left.text.len() + right.text.len() > LIMITS.value {
            return Err("out of memory".to_owned());
        }
        return Ok(Value::text(format!("{}{}", left.text, right.text)));
    }
    let order = match (left.number, right.number) {
        (Some(left), Some(right)) => left.partial_cmp(&right),
        _ => Some(left.text.cmp(&right.text)),
    };
    let (a, b) = (left.to_number(), right.to_number());
    Ok(match sign {
        "+" => Value::number(a + b),
        "-" => Value::number(a - b),
        "*" => Value::number(a * b),
        "/" | "%" if b == 0.0 => return Err("division by zero".to_owned()),
        "/" => Value::number(a / b),
        "%" => Value::number(a % b),
        "==" => Value::truth(order.is_some_and(|order| order.is_eq())),
        "!=" => Value::truth(order.is_none_or(|order| order.is_ne())),
        "<" => Value::truth(order.is_some_and(|order| order.is_lt())),
        "<=" => Value::truth(order.is_some_and(|order| order.is_le())),
        ">" => Value::truth(order.is_some_and(|order| order.is_gt())),
        ">=" => Value::truth(order.is_some_and(|order| order.is_ge())),
        other => return Err(format!("{other} is not simulated")),
    })
}

//! The programs `test` and `[`.

use crate::arithmetic::number;
use crate::files::absolute;
use crate::shell::Shell;

/// Runs `test EXPRESSION` or `[ EXPRESSION ]`. Returns 0 if it is true, 1 if it is false, 2 if it is malformed.
pub(crate) async fn run(shell: &mut Shell, fields: &[String]) -> i32 {
    let mut operands: Vec<&str> = fields.iter().skip(1).map(String::as_str).collect();
    if fields.first().is_some_and(|name| name == "[") && operands.pop() != Some("]") {
        return shell.fail(2, "sh: [: missing ]").await;
    }
    let evaluated = {
        let mut expression = Expression {
            shell,
            rest: &operands,
            depth: 0,
        };
        expression.any().and_then(|holds| match expression.rest.first() {
            None => Ok(holds),
            Some(operand) => Err(format!("{operand}: unexpected operator")),
        })
    };
    match evaluated {
        Ok(holds) => i32::from(!holds),
        Err(why) => shell.fail(2, format!("sh: {why}")).await,
    }
}

struct Expression<'a> {
    shell: &'a Shell,
    rest: &'a [&'a str],
    depth: usize,
}

impl<'a> Expression<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn any(&mut self) -> Result<bool, String> {
        let mut holds = self.all()?;
        while self.rest.first() == Some(&"-o") {
            self.next();
            holds |= self.all()?;
        }
        Ok(holds)
    }

    fn all(&mut self) -> Result<bool, String> {
        let mut holds = self.primary()?;
        while self.rest.first() == Some(&"-a") {
            self.next();
            holds &= self.primary()?;
        }
        Ok(holds)
    }

    fn primary(&mut self) -> Result<bool, String> {
        self.depth += 1;
        if self.depth > 100 {
            return Err("test: expression nests too deep".to_owned());
        }
        if let [left, operator, right, ..] = self.rest
            && let Some(holds) = binary(left, operator, right)
        {
            self.rest = &self.rest[3..];
            return holds;
        }
        let Some(first) = self.next() else { return Ok(false) };
        match (first, self.rest.first()) {
            ("!", Some(_)) => Ok(!self.primary()?),
            ("(", Some(_)) => {
                let holds = self.any()?;
                match self.next() {
                    Some(")") => Ok(holds),
                    _ => Err("closing paren expected".to_owned()),
                }
            }
            (operator, Some(operand)) if operator.len() == 2 && operator.starts_with('-') => {
                match self.unary(operator, operand) {
                    Some(holds) => {
                        self.next();
                        Ok(holds)
                    }
                    None => Err(format!("{operator}: unknown operand")),
                }
            }
            (text, _) => Ok(!text.is_empty()),
        }
    }

    fn unary(&self, operator: &str, operand: &str) -> Option<bool> {
        let files = &self.shell.session.machine.files;
        let path = absolute(&self.shell.directory, operand);
        Some(match operator {
            "-n" => !operand.is_empty(),
            "-z" => operand.is_empty(),
            "-d" => files.is_directory(&path),
            "-f" => path != "/dev/null" && files.size(&path).is_some(),
            "-k" => files.mode(&path).is_some_and(|mode| mode & 0o1000 != 0),
            "-e" | "-r" | "-w" | "-x" => files.is_directory(&path) || files.size(&path).is_some(),
            "-s" => files.size(&path).is_some_and(|size| size > 0),
            "-t" | "-L" | "-h" | "-p" | "-S" | "-b" | "-c" => false,
            _ => return None,
        })
    }
}

fn binary(left: &str, operator: &str, right: &str) -> Option<Result<bool, String>> {
    let compare: fn(&i64, &i64) -> bool = match operator {
        "=" | "==" => return Some(Ok(left == right)),
        "!=" => return Some(Ok(left != right)),
        "-eq" => i64::eq,
        "-ne" => i64::ne,
        "-lt" => i64::lt,
        "-le" => i64::le,
        "-gt" => i64::gt,
        "-ge" => i64::ge,
        _ => return None,
    };
    let value = |text: &str| number(text.trim()).ok_or_else(|| format!("{text}: bad number"));
    Some(value(left).and_then(|left| Ok(compare(&left, &value(right)?))))
}

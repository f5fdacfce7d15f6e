//! Parser of scripts: operators by precedence, functions, fields, parameters.

use serde_json::Value;

use crate::query::GeoPoint;

use super::{Node, Operation, invalid};
use crate::error::{Result, SearchError};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 50;

/// Binary operators by level, from the lowest precedence to the highest. Within a level, longer operators come first.
const LEVELS: [&[(&str, Operation)]; 10] = [
    &[("||", |n| truth(at(n, 0) != 0.0 || at(n, 1) != 0.0))],
    &[("&&", |n| truth(at(n, 0) != 0.0 && at(n, 1) != 0.0))],
    &[("|", |n| (whole(n, 0) | whole(n, 1)) as f64)],
    &[("^", |n| (whole(n, 0) ^ whole(n, 1)) as f64)],
    &[("&", |n| (whole(n, 0) & whole(n, 1)) as f64)],
    &[
        ("==", |n| truth(at(n, 0) == at(n, 1))),
        ("!=", |n| truth(at(n, 0) != at(n, 1))),
    ],
    &[
        ("<=", |n| truth(at(n, 0) <= at(n, 1))),
        (">=", |n| truth(at(n, 0) >= at(n, 1))),
        ("<", |n| truth(at(n, 0) < at(n, 1))),
        (">", |n| truth(at(n, 0) > at(n, 1))),
    ],
    &[
        ("<<", |n| whole(n, 0).wrapping_shl(whole(n, 1) as u32) as f64),
        (">>", |n| whole(n, 0).wrapping_shr(whole(n, 1) as u32) as f64),
    ],
    &[("+", |n| at(n, 0) + at(n, 1)), ("-", |n| at(n, 0) - at(n, 1))],
    &[
        ("*", |n| at(n, 0) * at(n, 1)),
        ("/", |n| at(n, 0) / at(n, 1)),
        ("%", |n| at(n, 0) % at(n, 1)),
    ],
];

/// Functions by name, with their minimum and maximum number of arguments.
const FUNCTIONS: [(&str, usize, usize, Operation); 26] = [
    ("abs", 1, 1, |n| at(n, 0).abs()),
    ("acos", 1, 1, |n| at(n, 0).acos()),
    ("acosh", 1, 1, |n| at(n, 0).acosh()),
    ("asin", 1, 1, |n| at(n, 0).asin()),
    ("asinh", 1, 1, |n| at(n, 0).asinh()),
    ("atan", 1, 1, |n| at(n, 0).atan()),
    ("atan2", 2, 2, |n| at(n, 0).atan2(at(n, 1))),
    ("atanh", 1, 1, |n| at(n, 0).atanh()),
    ("ceil", 1, 1, |n| at(n, 0).ceil()),
    ("cos", 1, 1, |n| at(n, 0).cos()),
    ("cosh", 1, 1, |n| at(n, 0).cosh()),
    ("exp", 1, 1, |n| at(n, 0).exp()),
    ("floor", 1, 1, |n| at(n, 0).floor()),
    ("haversin", 4, 4, haversin),
    ("ln", 1, 1, |n| at(n, 0).ln()),
    ("log10", 1, 1, |n| at(n, 0).log10()),
    ("logn", 2, 2, |n| at(n, 1).ln() / at(n, 0).ln()),
    ("max", 1, 16, |n| n.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    ("min", 1, 16, |n| n.iter().copied().fold(f64::INFINITY, f64::min)),
    ("pow", 2, 2, |n| at(n, 0).powf(at(n, 1))),
    ("sin", 1, 1, |n| at(n, 0).sin()),
    ("sinh", 1, 1, |n| at(n, 0).sinh()),
    ("sqrt", 1, 1, |n| at(n, 0).sqrt()),
    ("tan", 1, 1, |n| at(n, 0).tan()),
    ("tanh", 1, 1, |n| at(n, 0).tanh()),
    ("round", 1, 1, |n| (at(n, 0) + 0.5).floor()),
];

fn at(numbers: &[f64], place: usize) -> f64 {
    numbers.get(place).copied().unwrap_or(0.0)
}

fn whole(numbers: &[f64], place: usize) -> i64 {
    at(numbers, place) as i64
}

fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

/// Returns the distance of two points on the earth, in kilometres. Arguments are in degrees.
fn haversin(numbers: &[f64]) -> f64 {
    let point = |place: usize| GeoPoint {
        lat: at(numbers, place),
        lon: at(numbers, place + 1),
    };
    point(0).distance(point(2)) / 1_000.0
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    params: Option<&'a Value>,
    fields: Vec<String>,
}

/// Parses a script. Returns its syntax tree and its fields.
pub(super) fn parse(text: &str, params: Option<&Value>) -> Result<(Node, Vec<String>)> {
    let mut parser = Parser {
        text,
        at: 0,
        params,
        fields: vec![],
    };
    let root = parser.conditional(MAX_DEPTH)?;
    parser.space();
    if parser.at < text.len() {
        return Err(parser.unexpected());
    }
    Ok((root, parser.fields))
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn unexpected(&self) -> SearchError {
        invalid(self.text, &format!("unexpected input at {}", self.at))
    }

    /// Consumes a sign, if it is next.
    fn take(&mut self, sign: &str) -> bool {
        self.space();
        let taken = self.rest().starts_with(sign);
        if taken {
            self.at += sign.len();
        }
        taken
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.take(sign) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn conditional(&mut self, depth: usize) -> Result<Node> {
        let Some(below) = depth.checked_sub(1) else {
            return Err(invalid(self.text, "the script is nested too deeply"));
        };
        let condition = self.binary(0, below)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.conditional(below)?;
        self.expect(":")?;
        Ok(Node::Conditional(Box::new([condition, yes, self.conditional(below)?])))
    }

    fn binary(&mut self, level: usize, depth: usize) -> Result<Node> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary(depth);
        };
        let mut left = self.binary(level + 1, depth)?;
        while let Some((sign, operation)) = self.operator(operators) {
            self.at += sign.len();
            left = Node::Operation(operation, vec![left, self.binary(level + 1, depth)?]);
        }
        Ok(left)
    }

    /// Returns the next operator, if it is one of these and not a prefix of another one.
    fn operator(&mut self, operators: &[(&'static str, Operation)]) -> Option<(&'static str, Operation)> {
        self.space();
        let rest = self.rest();
        let longest = LEVELS
            .iter()
            .flat_map(|level| level.iter().map(|(sign, _)| *sign))
            .filter(|sign| rest.starts_with(sign))
            .max_by_key(|sign| sign.len())?;
        operators.iter().find(|(sign, _)| *sign == longest).copied()
    }

    fn unary(&mut self, depth: usize) -> Result<Node> {
        let Some(below) = depth.checked_sub(1) else {
            return Err(invalid(self.text, "the script is nested too deeply"));
        };
        let signs: [(&str, Operation); 4] = [
            ("-", |n| -at(n, 0)),
            ("+", |n| at(n, 0)),
            ("!", |n| truth(at(n, 0) == 0.0)),
            ("~", |n| !whole(n, 0) as f64),
        ];
        for (sign, operation) in signs {
            if self.take(sign) {
                return Ok(Node::Operation(operation, vec![self.unary(below)?]));
            }
        }
        self.primary(below)
    }

    fn primary(&mut self, depth: usize) -> Result<Node> {
        if self.take("(") {
            let inner = self.conditional(depth)?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.space();
        if self.rest().starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.number();
        }
        let length = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = self
            .rest()
            .get(..length.unwrap_or(self.rest().len()))
            .unwrap_or("")
            .to_owned();
        self.at += name.len();
        match name.as_str() {
            "" => Err(self.unexpected()),
            "doc" => self.field(),
            "_score" => Ok(Node::Score),
            _ if self.take("(") => self.call(&name, depth),
            _ => {
                let value = self.params.and_then(|params| params.get(&name)).and_then(Value::as_f64);
                value
                    .map(Node::Number)
                    .ok_or_else(|| invalid(self.text, &format!("Unknown variable [{name}] in expression")))
            }
        }
    }

    fn number(&mut self) -> Result<Node> {
        let rest = self.rest();
        if let Some(digits) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let length = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
            let value = i64::from_str_radix(digits.get(..length).unwrap_or(""), 16);
            let value = value.map_err(|_| self.unexpected())?;
            self.at += 2 + length;
            return Ok(Node::Number(value as f64));
        }
        let mut before = ' ';
        let length = rest.find(|c: char| {
            let belongs = c.is_ascii_digit()
                || matches!(c, '.' | 'e' | 'E')
                || matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
            before = c;
            !belongs
        });
        let text = rest.get(..length.unwrap_or(rest.len())).unwrap_or("");
        let value = text.parse().map_err(|_| self.unexpected())?;
        self.at += text.len();
        Ok(Node::Number(value))
    }

    /// Parses `['name'].value`, after `doc`.
    fn field(&mut self) -> Result<Node> {
        self.expect("[")?;
        let quote = if self.take("'") { '\'' } else { '"' };
        if quote == '"' {
            self.expect("\"")?;
        }
        let end = self.rest().find(quote).ok_or_else(|| self.unexpected())?;
        let name = self.rest().get(..end).unwrap_or("").to_owned();
        self.at += end + 1;
        self.expect("]")?;
        self.expect(".")?;
        self.expect("value")?;
        let known = self.fields.iter().position(|field| *field == name);
        Ok(Node::Field(known.unwrap_or_else(|| {
            self.fields.push(name);
            self.fields.len() - 1
        })))
    }

    fn call(&mut self, name: &str, depth: usize) -> Result<Node> {
        let function = FUNCTIONS.iter().find(|(known, ..)| *known == name);
        let Some((_, min, max, operation)) = function else {
            return Err(invalid(self.text, &format!("Unrecognized function call ({name})")));
        };
        let mut parts = Vec::new();
        while !self.take(")") {
            if !parts.is_empty() {
                self.expect(",")?;
            }
            parts.push(self.conditional(depth)?);
            if parts.len() > *max {
                break;
            }
        }
        if !(*min..=*max).contains(&parts.len()) {
            let reason = format!("Function ({name}) expects {min} arguments but got {}", parts.len());
            return Err(invalid(self.text, &reason));
        }
        Ok(Node::Operation(*operation, parts))
    }
}

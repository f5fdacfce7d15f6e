//! Arithmetic expansion: 64-bit integers with wrapping overflow.

use brush_parser::ast::{ArithmeticExpr, ArithmeticTarget, BinaryOperator, UnaryAssignmentOperator, UnaryOperator};

use crate::expand::expand_text;
use crate::shell::{Interrupt, Shell};

/// Maximum nesting depth of an expression.
const MAX_DEPTH: usize = 200;

/// Evaluates an expression after its `$` expansions.
pub(crate) async fn evaluate(shell: &mut Shell, expression: &str) -> Result<i64, Interrupt> {
    let text = expand_text(shell, expression).await?;
    if text.trim().is_empty() {
        return Ok(0);
    }
    let parsed = match brush_parser::arithmetic::parse(text.trim()) {
        Ok(parsed) => parsed,
        Err(_) => return Err(Interrupt::Exit(shell.fail(2, "sh: arithmetic syntax error").await)),
    };
    match value(shell, &parsed, 0) {
        Ok(value) => Ok(value),
        Err(why) => Err(Interrupt::Exit(shell.fail(2, format!("sh: {why}")).await)),
    }
}

fn value(shell: &mut Shell, expression: &ArithmeticExpr, depth: usize) -> Result<i64, &'static str> {
    if depth > MAX_DEPTH {
        return Err("arithmetic expression nests too deep");
    }
    let depth = depth + 1;
    Ok(match expression {
        ArithmeticExpr::Literal(literal) => *literal,
        ArithmeticExpr::Reference(target) => read(shell, target)?,
        ArithmeticExpr::UnaryOp(operator, operand) => {
            let operand = value(shell, operand, depth)?;
            match operator {
                UnaryOperator::UnaryPlus => operand,
                UnaryOperator::UnaryMinus => operand.wrapping_neg(),
                UnaryOperator::BitwiseNot => !operand,
                UnaryOperator::LogicalNot => i64::from(operand == 0),
            }
        }
        ArithmeticExpr::BinaryOp(BinaryOperator::LogicalAnd, left, right) => {
            i64::from(value(shell, left, depth)? != 0 && value(shell, right, depth)? != 0)
        }
        ArithmeticExpr::BinaryOp(BinaryOperator::LogicalOr, left, right) => {
            i64::from(value(shell, left, depth)? != 0 || value(shell, right, depth)? != 0)
        }
        ArithmeticExpr::BinaryOp(operator, left, right) => {
            let left = value(shell, left, depth)?;
            binary(operator, left, value(shell, right, depth)?)?
        }
        ArithmeticExpr::Conditional(condition, then, other) => {
            let branch = if value(shell, condition, depth)? != 0 {
                then
            } else {
                other
            };
            value(shell, branch, depth)?
        }
        ArithmeticExpr::Assignment(target, operand) => {
            let new = value(shell, operand, depth)?;
            write(shell, target, new)?
        }
        ArithmeticExpr::BinaryAssignment(operator, target, operand) => {
            let operand = value(shell, operand, depth)?;
            let new = binary(operator, read(shell, target)?, operand)?;
            write(shell, target, new)?
        }
        ArithmeticExpr::UnaryAssignment(operator, target) => {
            let old = read(shell, target)?;
            let (new, result) = match operator {
                UnaryAssignmentOperator::PrefixIncrement => (old.wrapping_add(1), old.wrapping_add(1)),
                UnaryAssignmentOperator::PrefixDecrement => (old.wrapping_sub(1), old.wrapping_sub(1)),
                UnaryAssignmentOperator::PostfixIncrement => (old.wrapping_add(1), old),
                UnaryAssignmentOperator::PostfixDecrement => (old.wrapping_sub(1), old),
            };
            write(shell, target, new)?;
            result
        }
    })
}

fn binary(operator: &BinaryOperator, left: i64, right: i64) -> Result<i64, &'static str> {
    let shift = || u32::try_from(right & 63).unwrap_or_default();
    Ok(match operator {
        BinaryOperator::Power => match u32::try_from(right) {
            Ok(power) => left.wrapping_pow(power),
            Err(_) => return Err("exponent less than 0"),
        },
        BinaryOperator::Multiply => left.wrapping_mul(right),
        BinaryOperator::Divide | BinaryOperator::Modulo if right == 0 => return Err("divide by zero"),
        BinaryOperator::Divide => left.wrapping_div(right),
        BinaryOperator::Modulo => left.wrapping_rem(right),
        BinaryOperator::Comma => right,
        BinaryOperator::Add => left.wrapping_add(right),
        BinaryOperator::Subtract => left.wrapping_sub(right),
        BinaryOperator::ShiftLeft => left.wrapping_shl(shift()),
        BinaryOperator::ShiftRight => left.wrapping_shr(shift()),
        BinaryOperator::LessThan => i64::from(left < right),
        BinaryOperator::LessThanOrEqualTo => i64::from(left <= right),
        BinaryOperator::GreaterThan => i64::from(left > right),
        BinaryOperator::GreaterThanOrEqualTo => i64::from(left >= right),
        BinaryOperator::Equals => i64::from(left == right),
        BinaryOperator::NotEquals => i64::from(left != right),
        BinaryOperator::BitwiseAnd => left & right,
        BinaryOperator::BitwiseXor => left ^ right,
        BinaryOperator::BitwiseOr => left | right,
        BinaryOperator::LogicalAnd => i64::from(left != 0 && right != 0),
        BinaryOperator::LogicalOr => i64::from(left != 0 || right != 0),
    })
}

fn name(target: &ArithmeticTarget) -> Result<&str, &'static str> {
    match target {
        ArithmeticTarget::Variable(name) => Ok(name),
        ArithmeticTarget::ArrayElement(..) => Err("arithmetic syntax error"),
    }
}

fn read(shell: &Shell, target: &ArithmeticTarget) -> Result<i64, &'static str> {
    match shell.value(name(target)?).unwrap_or_default().trim() {
        "" => Ok(0),
        text => number(text).ok_or("arithmetic syntax error"),
    }
}

fn write(shell: &mut Shell, target: &ArithmeticTarget, new: i64) -> Result<i64, &'static str> {
    shell.set(name(target)?, new.to_string());
    Ok(new)
}

/// Parses a number: decimal, octal with a leading 0, or hexadecimal with a leading 0x.
pub(crate) fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        i64::from_str_radix(hex, 16).ok()?
    } else if digits.len() > 1 && digits.starts_with('0') {
        i64::from_str_radix(digits, 8).ok()?
    } else {
        digits.parse().ok()?
    };
    Some(if negative { -magnitude } else { magnitude })
}

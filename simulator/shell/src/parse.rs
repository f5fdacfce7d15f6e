//! Parsing of scripts.

use std::io::BufReader;

use brush_parser::{ParseError, Parser, ParserOptions};

use crate::limits::LIMITS;

/// Stack size of the parser, which recurses for nested commands.
const PARSER_STACK: usize = 16 << 20;

/// Returns the parser's options: those of `sh`, without extensions of other shells.
pub(crate) fn parser_options() -> ParserOptions {
    ParserOptions {
        enable_extended_globbing: false,
        sh_mode: true,
        ..ParserOptions::default()
    }
}

/// Parses a script.
pub(crate) fn parse(script: &str) -> Result<brush_parser::ast::Program, ParseError> {
    stacker::grow(PARSER_STACK, || {
        Parser::new(BufReader::new(script.as_bytes()), &parser_options()).parse_program()
    })
}

/// Whether parentheses, braces or keywords nest deeper than [`LIMITS`]`.depth`.
pub(crate) fn nests_too_deep(script: &str) -> bool {
    let mut depth = 0_usize;
    let mut word = String::new();
    for letter in script.chars().chain([' ']) {
        if letter.is_ascii_alphabetic() {
            word.push(letter);
            continue;
        }
        match word.as_str() {
            "if" | "while" | "until" | "for" | "case" => depth += 1,
            "fi" | "done" | "esac" => depth = depth.saturating_sub(1),
            _ => {}
        }
        word.clear();
        match letter {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > 2 * LIMITS.depth {
            return true;
        }
    }
    false
}

/// Whether a script is incomplete, such as a loop without `done`.
pub(crate) fn is_incomplete(script: &str) -> bool {
    if nests_too_deep(script) {
        return false;
    }
    match parse(script) {
        Ok(_) => false,
        Err(ParseError::ParsingAtEndOfInput) => true,
        Err(ParseError::Tokenizing { inner, .. }) => inner.is_incomplete(),
        Err(_) => false,
    }
}

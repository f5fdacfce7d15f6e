//! Fuzzy terms: number of edits, and Levenshtein automaton.
//!
//! Source: Lucene 4.10's FuzzyQuery.

use std::sync::OnceLock;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy_fst::Automaton;

/// Number of edits, at most 2, that a similarity allows for a term of `length` characters. From 1 on, the similarity is
/// the number of edits; below, it is a ratio to the length.
pub(crate) fn edits(similarity: f32, length: usize) -> u8 {
    if similarity >= 1.0 {
        (similarity as u8).min(2)
    } else if similarity == 0.0 {
        0
    } else {
        (((1.0 - f64::from(similarity)) * length as f64) as i64).clamp(0, 2) as u8
    }
}

/// Returns the boost of a term that is so many edits from another, by the length of the shorter one. `None`: they have
/// nothing in common.
pub(super) fn similarity(edits: u8, shorter: usize) -> Option<f32> {
    let similarity = 1.0 - f32::from(edits) / shorter as f32;
    match edits {
        0 => Some(1.0),
        _ => Some(similarity).filter(|similarity| *similarity > 0.0),
    }
}

/// Automaton for the terms within a number of edits.
pub(crate) struct Levenshtein(DFA);

impl Levenshtein {
    pub(super) fn new(term: &str, edits: u8, transpositions: bool) -> Levenshtein {
        static BUILDERS: [OnceLock<LevenshteinAutomatonBuilder>; 6] = [const { OnceLock::new() }; 6];
        let slot = usize::from(edits.min(2)) * 2 + usize::from(transpositions);
        let build = || LevenshteinAutomatonBuilder::new(edits.min(2), transpositions);
        Levenshtein(match BUILDERS.get(slot) {
            Some(builder) => builder.get_or_init(build).build_dfa(term),
            None => build().build_dfa(term),
        })
    }

    /// Returns the number of edits of a state, if it is within the limit.
    pub(super) fn distance(&self, state: u32) -> Option<u8> {
        match self.0.distance(state) {
            Distance::Exact(edits) => Some(edits),
            Distance::AtLeast(_) => None,
        }
    }
}

impl Automaton for Levenshtein {
    type State = u32;

    fn start(&self) -> u32 {
        self.0.initial_state()
    }

    fn is_match(&self, state: &u32) -> bool {
        self.distance(*state).is_some()
    }

    fn can_match(&self, state: &u32) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, state: &u32, byte: u8) -> u32 {
        self.0.transition(*state, byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(2.0, 3, 2)]
    #[case(1.0, 3, 1)]
    #[case(7.0, 3, 2)]
    #[case(0.8, 5, 0)]
    #[case(0.8, 6, 1)]
    #[case(0.5, 3, 1)]
    #[case(0.0, 9, 0)]
    fn a_similarity_is_converted_to_edits(#[case] similarity: f32, #[case] length: usize, #[case] expected: u8) {
        assert_eq!(edits(similarity, length), expected);
    }
}

//! Automaton for the terms of one field, in the dictionary of all fields.

use tantivy_fst::Automaton;

/// State of a prefixed automaton.
#[derive(Clone, Copy, Debug)]
pub(super) enum PrefixState<S> {
    /// This many bytes of the prefix have matched.
    Prefix(usize),
    /// The prefix has matched.
    Inside(S),
    Failed,
}

/// An automaton that matches a fixed prefix, then `inner`.
pub(super) struct Prefixed<'a, A> {
    pub(super) prefix: &'a [u8],
    pub(super) inner: A,
}

impl<A: Automaton> Automaton for Prefixed<'_, A> {
    type State = PrefixState<A::State>;

    fn start(&self) -> Self::State {
        if self.prefix.is_empty() {
            PrefixState::Inside(self.inner.start())
        } else {
            PrefixState::Prefix(0)
        }
    }

    fn is_match(&self, state: &Self::State) -> bool {
        matches!(state, PrefixState::Inside(state) if self.inner.is_match(state))
    }

    fn can_match(&self, state: &Self::State) -> bool {
        match state {
            PrefixState::Prefix(_) => true,
            PrefixState::Inside(state) => self.inner.can_match(state),
            PrefixState::Failed => false,
        }
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        match state {
            PrefixState::Prefix(met) if self.prefix.get(*met) == Some(&byte) => {
                if met + 1 == self.prefix.len() {
                    PrefixState::Inside(self.inner.start())
                } else {
                    PrefixState::Prefix(met + 1)
                }
            }
            PrefixState::Inside(state) => PrefixState::Inside(self.inner.accept(state, byte)),
            _ => PrefixState::Failed,
        }
    }
}

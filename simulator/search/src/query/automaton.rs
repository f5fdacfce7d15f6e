//! An automaton over the terms of one field in the dictionary of all fields: the field's character first, then what it is told.

use tantivy_fst::Automaton;

/// Where in a key the automaton is.
#[derive(Clone, Copy, Debug)]
pub(super) enum At<S> {
    /// So many bytes of the prefix have been met.
    Prefix(usize),
    Inside(S),
    Lost,
}

/// `inner`, behind a fixed prefix.
pub(super) struct Behind<'a, A> {
    pub(super) prefix: &'a [u8],
    pub(super) inner: A,
}

impl<A: Automaton> Automaton for Behind<'_, A> {
    type State = At<A::State>;

    fn start(&self) -> Self::State {
        if self.prefix.is_empty() {
            At::Inside(self.inner.start())
        } else {
            At::Prefix(0)
        }
    }

    fn is_match(&self, state: &Self::State) -> bool {
        matches!(state, At::Inside(state) if self.inner.is_match(state))
    }

    fn can_match(&self, state: &Self::State) -> bool {
        match state {
            At::Prefix(_) => true,
            At::Inside(state) => self.inner.can_match(state),
            At::Lost => false,
        }
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        match state {
            At::Prefix(met) if self.prefix.get(*met) == Some(&byte) => {
                if met + 1 == self.prefix.len() {
                    At::Inside(self.inner.start())
                } else {
                    At::Prefix(met + 1)
                }
            }
            At::Inside(state) => At::Inside(self.inner.accept(state, byte)),
            _ => At::Lost,
        }
    }
}

//! Texts that character filters change, and their offsets in the original text.

/// A filtered text and its offset corrections.
pub(super) struct FilteredText {
    pub(super) text: String,
    /// Offsets of the filtered text, each with the difference to the original offset from there on.
    shifts: Vec<(usize, isize)>,
}

impl FilteredText {
    /// Returns the offset in the original text.
    pub(super) fn correct_offset(&self, offset: usize, text: &str) -> usize {
        let at = self.shifts.partition_point(|(from, _)| *from <= offset);
        let shift = at
            .checked_sub(1)
            .and_then(|at| self.shifts.get(at))
            .map_or(0, |(_, shift)| *shift);
        let mut original = offset.saturating_add_signed(shift).min(text.len());
        while !text.is_char_boundary(original) {
            original -= 1;
        }
        original
    }
}

/// Builds a filtered text from left to right.
#[derive(Default)]
pub(super) struct Builder {
    text: String,
    shifts: Vec<(usize, isize)>,
    shift: isize,
}

impl Builder {
    /// Adds an unchanged part.
    pub(super) fn keep(&mut self, part: &str) {
        self.text.push_str(part);
    }

    /// Replaces `length` bytes by `new`.
    pub(super) fn replace(&mut self, length: usize, new: &str) {
        let start = self.text.len();
        self.text.push_str(new);
        // What is longer than before ends where the last character before it starts.
        for at in length..new.len() {
            self.shift -= 1;
            self.shifts.push((start + at, self.shift));
        }
        if let Some(removed) = length.checked_sub(new.len()).filter(|removed| *removed > 0) {
            self.shift = self.shift.saturating_add_unsigned(removed);
            self.shifts.push((self.text.len(), self.shift));
        }
    }

    pub(super) fn finish(self) -> FilteredText {
        FilteredText {
            text: self.text,
            shifts: self.shifts,
        }
    }
}

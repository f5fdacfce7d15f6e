//! Matcher of an exact phrase of frequent words.
//!
//! Documents and positions are read in windows of consecutive documents: the documents that have all words are found by
//! bit sets, and their positions are read in one run per word. For rare words, [`Phrase`](super::phrase::Phrase), which
//! moves from document to document, is faster.

use tantivy::positions::PositionReader;
use tantivy::postings::BlockSegmentPostings;

use super::END;
use super::match_scorer::DocMatcher;
use super::term_score::TermScore;

/// Number of documents of the first window, and of the first one after a gap.
const SMALLEST_WINDOW: u32 = 256;
/// Number of documents of the largest window.
const LARGEST_WINDOW: u32 = 4_096;
/// How many times more documents the most frequent word may have than the rarest one.
const LARGEST_RATIO: u32 = 16;
/// Number of documents from which on a word is frequent.
const FREQUENT: u32 = 1_024;

/// Word of the phrase.
pub(super) struct Word {
    blocks: BlockSegmentPostings,
    /// Number of the next document in the current block.
    at: usize,
    positions: PositionReader,
    /// Number of positions of the documents before.
    passed: u64,
    /// Added to each position, so that the positions of a match are equal.
    shift: u32,
    /// Documents of the window, as bits from its start.
    bits: Vec<u64>,
    /// Start and number of the positions of each of these documents, by its distance to the start.
    places: Vec<(u32, u32)>,
    /// Number of the positions of the window.
    count: u32,
    /// Their positions, each as the distance to the previous one of the document, and one more number.
    distances: Vec<u32>,
}

impl Word {
    pub(super) fn new(blocks: BlockSegmentPostings, positions: PositionReader, shift: u32) -> Word {
        Word {
            blocks,
            at: 0,
            positions,
            passed: 0,
            shift,
            bits: Vec::new(),
            places: Vec::new(),
            count: 0,
            distances: Vec::new(),
        }
    }

    /// Returns the next document from `target` on.
    fn seek(&mut self, target: u32) -> Option<u32> {
        loop {
            let last = *self.blocks.docs().last()?;
            if last >= target {
                break;
            }
            self.pass(usize::MAX);
            self.blocks.advance();
            self.at = 0;
        }
        let ahead = self.blocks.docs().get(self.at..)?;
        self.pass(self.at + ahead.partition_point(|doc| *doc < target));
        self.blocks.docs().get(self.at).copied()
    }

    /// Passes the documents of the block up to number `until`.
    fn pass(&mut self, until: usize) {
        let until = until.min(self.blocks.block_len());
        let frequencies = self.blocks.freqs().get(self.at..until).unwrap_or_default();
        self.passed += u64::from(frequencies.iter().sum::<u32>());
        self.at = until;
    }

    /// Reads the documents of a window.
    fn read_docs(&mut self, start: u32, width: u32) {
        self.bits.clear();
        self.bits.resize(width.div_ceil(64) as usize, 0);
        self.places.resize(LARGEST_WINDOW as usize, (0, 0));
        self.count = 0;
        loop {
            let docs = self.blocks.docs().get(self.at..).unwrap_or_default();
            let count = docs.partition_point(|doc| *doc < start + width);
            let frequencies = self.blocks.freqs().get(self.at..).unwrap_or_default();
            let (mut word, mut bits) = (0, 0_u64);
            for (doc, frequency) in docs.iter().zip(frequencies).take(count) {
                let at = (doc - start) as usize;
                if at / 64 != word {
                    add_bits(&mut self.bits, word, bits);
                    (word, bits) = (at / 64, 0);
                }
                bits |= 1 << (at % 64);
                if let Some(place) = self.places.get_mut(at) {
                    *place = (self.count, *frequency);
                }
                self.count += frequency;
            }
            add_bits(&mut self.bits, word, bits);
            self.at += count;
            if self.blocks.block_len() == 0 || self.at < self.blocks.block_len() {
                return;
            }
            self.blocks.advance();
            self.at = 0;
        }
    }

    /// Reads the positions of the window.
    fn read_positions(&mut self) {
        let count = self.count as usize;
        self.distances.resize(count + 1, 0);
        if let Some(distances) = self.distances.get_mut(..count) {
            self.positions.read(self.passed, distances);
        }
    }

    /// Distances of the positions of a document and of those after it, and the number of those of the document.
    fn distances_in(&self, doc: usize) -> (&[u32], usize) {
        let (start, count) = self.places.get(doc).copied().unwrap_or_default();
        let distances = self.distances.get(start as usize..).unwrap_or_default();
        (distances, count as usize)
    }

    /// Positions in a document of the window, which has the word.
    fn positions_in(&self, doc: usize) -> Positions<'_> {
        let (distances, count) = self.distances_in(doc);
        let mut positions = Positions {
            position: self.shift,
            left: distances.get(..count).unwrap_or_default(),
        };
        positions.step();
        positions
    }

    /// Positions in a document of the window, which has the word, as bits. `None` if one is too large.
    ///
    /// Most documents have a word once or twice, which takes no branch that depends on it.
    fn position_bits_in(&self, doc: usize) -> Option<u64> {
        let (distances, count) = self.distances_in(doc);
        let ([first, second], rest) = distances.split_first_chunk()?;
        let first = self.shift + first;
        let mut last = if count > 1 { first.wrapping_add(*second) } else { first };
        let mut bits = 1_u64.checked_shl(first)? | 1_u64.checked_shl(last)?;
        if count > 2 {
            for distance in rest.get(..count - 2)? {
                last += distance;
                bits |= 1_u64.checked_shl(last)?;
            }
        }
        Some(bits)
    }
}

/// Positions of a word in a document: the current one, and the distances from there.
struct Positions<'a> {
    position: u32,
    left: &'a [u32],
}

impl Positions<'_> {
    /// Moves to the next position. Returns whether there is one.
    fn step(&mut self) -> bool {
        let Some((distance, left)) = self.left.split_first() else {
            return false;
        };
        self.position += distance;
        self.left = left;
        true
    }
}

fn add_bits(words: &mut [u64], at: usize, bits: u64) {
    if let Some(word) = words.get_mut(at) {
        *word |= bits;
    }
}

/// Matcher of the phrase.
pub(super) struct FrequentPhrase {
    words: Vec<Word>,
    score: TermScore,
    /// End of the window.
    end: u32,
    width: u32,
    /// Matches of the window with their frequencies, in descending order.
    matches: Vec<(u32, f32)>,
    frequency: f32,
}

impl FrequentPhrase {
    /// Returns whether a phrase of words with these numbers of documents is to be matched in windows.
    pub(super) fn suits(counts: impl Iterator<Item = u32> + Clone) -> bool {
        let most = counts.clone().max().unwrap_or(0);
        most >= FREQUENT && counts.min().unwrap_or(0) >= most / LARGEST_RATIO
    }

    pub(super) fn new(words: Vec<Word>, score: TermScore) -> FrequentPhrase {
        FrequentPhrase {
            words,
            score,
            end: 0,
            width: SMALLEST_WINDOW / 2,
            matches: Vec::new(),
            frequency: 0.0,
        }
    }

    /// Reads the next window from `target` on. Returns whether there is one.
    fn read_window(&mut self, target: u32) -> bool {
        let mut start = target.max(self.end);
        self.width = if start == self.end {
            (2 * self.width).min(LARGEST_WINDOW)
        } else {
            SMALLEST_WINDOW
        };
        for word in &mut self.words {
            let Some(doc) = word.seek(start) else { return false };
            start = start.max(doc);
        }
        self.end = start + self.width;
        for word in &mut self.words {
            if word.seek(start).is_none() {
                return false;
            }
            word.read_docs(start, self.width);
        }
        self.find(start);
        for word in &mut self.words {
            word.passed += u64::from(word.count);
        }
        true
    }

    /// Finds the matches of the window.
    fn find(&mut self, start: u32) {
        let mut has_positions = false;
        for at in 0..self.width.div_ceil(64) as usize {
            let bits = self.words.iter().map(|word| word.bits.get(at).copied().unwrap_or(0));
            let mut all = bits.fold(u64::MAX, |all, bits| all & bits);
            if all != 0 && !has_positions {
                self.words.iter_mut().for_each(Word::read_positions);
                has_positions = true;
            }
            while all != 0 {
                let doc = 64 * at as u32 + all.trailing_zeros();
                let frequency = self.frequency_in(doc as usize);
                if frequency > 0 {
                    self.matches.push((start + doc, frequency as f32));
                }
                all &= all - 1;
            }
        }
        self.matches.reverse();
    }

    /// Returns how often a document of the window has the phrase.
    fn frequency_in(&self, doc: usize) -> u32 {
        let mut bits = self.words.iter().map(|word| word.position_bits_in(doc));
        if let Some(common) = bits.try_fold(u64::MAX, |common, bits| Some(common & bits?)) {
            return common.count_ones();
        }
        let Some((first, rest)) = self.words.split_first() else {
            return 0;
        };
        let mut rest: Vec<Positions<'_>> = rest.iter().map(|word| word.positions_in(doc)).collect();
        common(first.positions_in(doc), &mut rest)
    }
}

/// Returns how many positions of the first word all others have, too.
#[inline]
fn common(mut first: Positions<'_>, rest: &mut [Positions<'_>]) -> u32 {
    let mut frequency = 0;
    loop {
        let mut is_match = true;
        for word in rest.iter_mut() {
            while word.position < first.position {
                if !word.step() {
                    return frequency;
                }
            }
            is_match &= word.position == first.position;
        }
        frequency += u32::from(is_match);
        if !first.step() {
            return frequency;
        }
    }
}

impl DocMatcher for FrequentPhrase {
    fn next_match(&mut self, target: u32) -> u32 {
        loop {
            while let Some((doc, frequency)) = self.matches.pop() {
                if doc >= target {
                    self.frequency = frequency;
                    return doc;
                }
            }
            if !self.read_window(target) {
                return END;
            }
        }
    }

    fn score(&mut self, doc: u32) -> f32 {
        self.score.of_sloppy(doc, self.frequency)
    }
}

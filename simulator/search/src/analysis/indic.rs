//! Normalization of the scripts of India.
//!
//! Source: the Unicode charts, and Lucene 4.10's `IndicNormalizationFilter` and `HindiNormalizationFilter`.

/// First character of the first script, Devanagari.
const FIRST: u32 = 0x900;
/// Number of scripts, from Devanagari to Malayalam. Each has 128 characters in the same order.
const SCRIPTS: u32 = 9;
const SCRIPT_SIZE: u32 = 0x80;
const BENGALI_TA: &str = "\u{09A4}\u{09CD}\u{200D}";

/// Sequences that are replaced by one character, the longest first: the first character, the others, the replacement,
/// and the scripts to which this applies, from 0. All characters are relative to their script.
const COMPOSITIONS: [(u32, &[u32], u32, &str); 66] = [
    (0x05, &[0x3E, 0x45], 0x11, "03"),
    (0x05, &[0x3E, 0x46], 0x12, "0"),
    (0x05, &[0x3E, 0x47], 0x13, "03"),
    (0x05, &[0x3E, 0x48], 0x14, "03"),
    (0x46, &[0x42, 0x55], 0x4B, "7"),
    (0x2C, &[0x41, 0x41], 0x0B, "6"),
    (0x05, &[0x3E], 0x06, "01234"),
    (0x05, &[0x45], 0x0D, "3"),
    (0x05, &[0x45], 0x72, "0"),
    (0x05, &[0x46], 0x04, "0"),
    (0x05, &[0x47], 0x0F, "3"),
    (0x05, &[0x48], 0x10, "23"),
    (0x05, &[0x49], 0x11, "03"),
    (0x05, &[0x4A], 0x12, "0"),
    (0x05, &[0x4B], 0x13, "03"),
    (0x05, &[0x4C], 0x14, "023"),
    (0x06, &[0x45], 0x11, "03"),
    (0x06, &[0x46], 0x12, "0"),
    (0x06, &[0x47], 0x13, "03"),
    (0x06, &[0x48], 0x14, "03"),
    (0x07, &[0x57], 0x08, "8"),
    (0x09, &[0x41], 0x0A, "0"),
    (0x09, &[0x57], 0x0A, "58"),
    (0x0E, &[0x46], 0x10, "8"),
    (0x0F, &[0x45], 0x0D, "0"),
    (0x0F, &[0x46], 0x0E, "0"),
    (0x0F, &[0x47], 0x10, "0"),
    (0x0F, &[0x57], 0x10, "4"),
    (0x12, &[0x3E], 0x13, "8"),
    (0x12, &[0x4C], 0x14, "67"),
    (0x12, &[0x55], 0x13, "6"),
    (0x12, &[0x57], 0x14, "58"),
    (0x13, &[0x57], 0x14, "4"),
    (0x15, &[0x3C], 0x58, "0"),
    (0x16, &[0x3C], 0x59, "02"),
    (0x17, &[0x3C], 0x5A, "02"),
    (0x1C, &[0x3C], 0x5B, "02"),
    (0x21, &[0x3C], 0x5C, "014"),
    (0x22, &[0x3C], 0x5D, "014"),
    (0x28, &[0x3C], 0x29, "0"),
    (0x2B, &[0x3C], 0x5E, "02"),
    (0x2F, &[0x3C], 0x5F, "01"),
    (0x30, &[0x3C], 0x31, "0"),
    (0x33, &[0x3C], 0x34, "0"),
    (0x35, &[0x41], 0x2E, "6"),
    (0x3E, &[0x45], 0x49, "03"),
    (0x3E, &[0x46], 0x4A, "0"),
    (0x3E, &[0x47], 0x4B, "03"),
    (0x3E, &[0x48], 0x4C, "03"),
    (0x3F, &[0x55], 0x40, "7"),
    (0x41, &[0x41], 0x42, "2"),
    (0x46, &[0x3E], 0x4A, "58"),
    (0x46, &[0x42], 0x4A, "7"),
    (0x46, &[0x46], 0x48, "8"),
    (0x46, &[0x55], 0x47, "67"),
    (0x46, &[0x56], 0x48, "67"),
    (0x46, &[0x57], 0x4C, "58"),
    (0x47, &[0x3E], 0x4B, "1458"),
    (0x47, &[0x57], 0x4C, "14"),
    (0x4A, &[0x55], 0x4B, "7"),
    (0x72, &[0x3F], 0x07, "2"),
    (0x72, &[0x40], 0x08, "2"),
    (0x72, &[0x47], 0x0F, "2"),
    (0x73, &[0x41], 0x09, "2"),
    (0x73, &[0x42], 0x0A, "2"),
    (0x73, &[0x4B], 0x13, "2"),
];

/// Replaces sequences of characters that look like one character by that character.
pub(super) fn indic(text: &str) -> String {
    let chars: Vec<u32> = text.replace(BENGALI_TA, "\u{09CE}").chars().map(u32::from).collect();
    let mut rest = chars.as_slice();
    let mut made = String::with_capacity(text.len());
    while let Some((first, others)) = rest.split_first() {
        let (c, length) = composed(*first, others).unwrap_or((*first, 0));
        made.extend(char::from_u32(c));
        rest = others.get(length..).unwrap_or(&[]);
    }
    made
}

/// Returns the replacement of a sequence, and its number of characters after the first.
fn composed(first: u32, others: &[u32]) -> Option<(u32, usize)> {
    let offset = first
        .checked_sub(FIRST)
        .filter(|offset| *offset < SCRIPTS * SCRIPT_SIZE)?;
    let script = char::from_digit(offset / SCRIPT_SIZE, 10)?;
    let base = first - offset % SCRIPT_SIZE;
    let matching = |(own, rest, _, scripts): &&(u32, &[u32], u32, &str)| {
        base + own == first
            && scripts.contains(script)
            && others.len() >= rest.len()
            && rest.iter().zip(others).all(|(own, other)| base + own == *other)
    };
    let (_, rest, replacement, _) = COMPOSITIONS.iter().find(matching)?;
    Some((base + replacement, rest.len()))
}

/// Removes differences of spelling in Hindi: nasal consonants, dots, short and long vowels.
pub(super) fn hindi(text: &str) -> String {
    text.replace("\u{0928}\u{094D}", "\u{0902}")
        .chars()
        .filter_map(|c| match c {
            '\u{0901}' => Some('\u{0902}'),
            '\u{0906}' | '\u{0972}' => Some('\u{0905}'),
            '\u{0908}' => Some('\u{0907}'),
            '\u{090A}' => Some('\u{0909}'),
            '\u{090D}' | '\u{090E}' | '\u{0910}' => Some('\u{090F}'),
            '\u{0911}' | '\u{0912}' | '\u{0914}' => Some('\u{0913}'),
            '\u{0929}' => Some('\u{0928}'),
            '\u{0931}' => Some('\u{0930}'),
            '\u{0934}' => Some('\u{0933}'),
            '\u{0940}' => Some('\u{093F}'),
            '\u{0942}' => Some('\u{0941}'),
            '\u{0944}' => Some('\u{0943}'),
            '\u{0945}' | '\u{0946}' | '\u{0948}' => Some('\u{0947}'),
            '\u{0949}' | '\u{094A}' | '\u{094C}' => Some('\u{094B}'),
            '\u{0958}' => Some('\u{0915}'),
            '\u{0959}' => Some('\u{0916}'),
            '\u{095A}' => Some('\u{0917}'),
            '\u{095B}' => Some('\u{091C}'),
            '\u{095C}' => Some('\u{0921}'),
            '\u{095D}' => Some('\u{0922}'),
            '\u{095E}' => Some('\u{092B}'),
            '\u{095F}' => Some('\u{092F}'),
            '\u{0960}' => Some('\u{090B}'),
            '\u{0961}' => Some('\u{090C}'),
            '\u{0963}' => Some('\u{0962}'),
            '\u{093C}' | '\u{094D}' | '\u{200C}' | '\u{200D}' => None,
            other => Some(other),
        })
        .collect()
}

//! Fast vector highlighter: fragments around matches; phrases are marked as a whole.
//!
//! Source: Lucene 4.10's `BaseFragListBuilder`, `BaseFragmentsBuilder` and `SimpleBoundaryScanner`.

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::highlight::clause::Clause;
use crate::highlight::phrases::{Match, Phrases};
use crate::highlight::settings::Settings;
use crate::highlight::token::{Units, tokens_of_values};
use crate::mapping::Field;

/// How often the offset of a match must fit into a fragment.
const OFFSETS_IN_FRAGMENT: usize = 3;

/// A fragment of the text with its matches.
struct Fragment {
    start: usize,
    end: usize,
    matches: Vec<Match>,
}

/// Merges the matches of several fields. Matches that overlap or touch become one.
fn merged(mut all: Vec<Match>) -> Vec<Match> {
    all.sort_by(|a, b| {
        (a.start(), a.end())
            .cmp(&(b.start(), b.end()))
            .then(a.boost.total_cmp(&b.boost))
    });
    let mut merged: Vec<Match> = Vec::new();
    for next in all {
        match merged.last_mut() {
            Some(last) if next.start() <= last.end() => {
                last.boost += next.boost;
                last.parts.extend(next.parts);
                last.parts.sort_unstable();
                let mut parts: Vec<(usize, usize)> = Vec::new();
                for part in &last.parts {
                    match parts.last_mut() {
                        Some(before) if part.0 <= before.1 => before.1 = before.1.max(part.1),
                        _ => parts.push(*part),
                    }
                }
                last.parts = parts;
            }
            _ => merged.push(next),
        }
    }
    merged
}

/// Creates fragments of one size around the matches.
fn fragments_around(matches: Vec<Match>, settings: &Settings) -> Result<Vec<Fragment>> {
    let size = match settings.fragments {
        0 => i32::MAX,
        _ => settings.fragment_size,
    };
    let least = settings.fragment_offset.saturating_mul(OFFSETS_IN_FRAGMENT).max(1);
    let size = usize::try_from(size)
        .ok()
        .filter(|size| *size >= least)
        .ok_or_else(|| {
            SearchError::argument(format!(
                "fragCharSize({size}) is too small. It must be {least} or higher."
            ))
        })?;
    let accepted = |own: &Match, length: usize| own.parts.len() <= 1 || length <= size;
    let mut fragments = Vec::new();
    let mut start = 0;
    let mut queue = matches.into_iter().peekable();
    while let Some(first) = queue.next() {
        if first.start() < start {
            continue;
        }
        let (from, mut to) = (first.start(), first.end());
        let span_end = to.max(from.saturating_sub(settings.fragment_offset).max(start) + size);
        let mut own = Vec::new();
        if accepted(&first, to - from) {
            own.push(first);
        }
        while let Some(next) = queue.next_if(|next| next.end() <= span_end) {
            to = next.end();
            if accepted(&next, to - from) {
                own.push(next);
            }
        }
        if own.is_empty() {
            continue;
        }
        let length = to - from;
        // Center the matches.
        let margin = size.saturating_sub(length) / 2;
        let span_start = from.saturating_sub(margin).max(start);
        let end = span_start + length.max(size);
        start = end;
        fragments.push(Fragment {
            start: span_start,
            end,
            matches: own,
        });
    }
    Ok(fragments)
}

/// Splits fragments at the boundaries of values. A match that is in several values is marked in none.
fn by_value(fragments: Vec<Fragment>, values: &[(usize, usize)]) -> Vec<Fragment> {
    let mut found = Vec::new();
    for mut fragment in fragments {
        for (start, end) in values {
            if fragment.start >= *start && fragment.end <= *end {
                found.push(fragment);
                break;
            }
            let Some(first) = fragment.matches.first() else {
                break;
            };
            if fragment.start >= *end || first.start() >= *end {
                continue;
            }
            let mut inside = Vec::new();
            for own in &mut fragment.matches {
                let is_inside = |part: &mut (usize, usize)| part.0 >= *start && part.1 <= *end;
                let parts: Vec<(usize, usize)> = own.parts.extract_if(.., is_inside).collect();
                if !parts.is_empty() {
                    inside.push(Match { parts, ..*own });
                }
            }
            fragment.matches.retain(|own| !own.parts.is_empty());
            found.push(Fragment {
                start: fragment.start.max(*start),
                end: fragment.end.min(*end),
                matches: inside,
            });
        }
    }
    found.sort_by_key(|fragment| fragment.start);
    found
}

/// The text of a field, which grows by the values that the fragments need.
struct Text<'a> {
    units: &'a Units,
    /// Ends of the values that the text does not have yet.
    ends: &'a [usize],
    /// Length of the text, with a separator after each value.
    len: usize,
}

impl Text<'_> {
    fn grow(&mut self, end: usize) {
        while let [next, rest @ ..] = self.ends
            && self.len < end
        {
            (self.len, self.ends) = (*next, rest);
        }
    }
}

/// Returns the best fragments of the values of a field. `fields` are the matched ones, `clauses` those of all fields.
///
/// # Errors
/// A size or a number of fragments that is too small; a list of tags without any.
pub(super) fn fragments(
    values: &[String],
    fields: &[&Field],
    clauses: &[Clause],
    settings: &Settings,
) -> Result<Vec<String>> {
    let mut all = Vec::new();
    let (mut buffer, mut value_ranges, mut ends) = (String::new(), Vec::new(), Vec::new());
    let mut end = 0;
    for value in values {
        let start = end;
        end += value.encode_utf16().count() + 1;
        buffer.push_str(value);
        buffer.push(' ');
        ends.push(end);
        if !value.is_empty() {
            value_ranges.push((start, end));
        }
    }
    for field in fields {
        let phrases = Phrases::of(clauses, settings.match_field.then_some(&*field.name));
        all.extend(phrases.matches(&tokens_of_values(field, values), settings.phrase_limit));
    }
    let all = if fields.len() > 1 { merged(all) } else { all };
    let mut fragments = match (settings.whole, all.is_empty()) {
        (true, false) => vec![Fragment {
            start: 0,
            end: usize::MAX,
            matches: all,
        }],
        (true, true) => vec![],
        _ => fragments_around(all, settings)?,
    };
    let mut limit = match settings.fragments {
        0 => usize::MAX,
        limit => usize::try_from(limit)
            .map_err(|_| SearchError::argument(format!("maxNumFragments({limit}) must be positive number.")))?,
    };
    let split = |fragments| match values.len() {
        2.. => by_value(fragments, &value_ranges),
        _ => fragments,
    };
    fragments = split(fragments);
    if fragments.is_empty() && settings.no_match_size > 0 && !values.is_empty() {
        limit = 1;
        fragments = split(vec![Fragment {
            start: 0,
            end: settings.no_match_size,
            matches: vec![],
        }]);
    }
    if settings.by_score {
        let weight = |fragment: &Fragment| fragment.matches.iter().map(|own| own.boost).sum::<f32>();
        fragments.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.start.cmp(&b.start)));
    }
    fragments.truncate(limit);
    let has_matches = fragments.iter().any(|fragment| !fragment.matches.is_empty());
    if has_matches && settings.lacks_tags() {
        return Err(SearchError::new(500, Exception::Arithmetic, "/ by zero"));
    }
    let mut text = Text {
        units: &Units::of(&buffer),
        ends: &ends,
        len: 0,
    };
    let texts = fragments.iter().map(|fragment| render(fragment, &mut text, settings));
    Ok(texts.collect())
}

fn render(fragment: &Fragment, text: &mut Text<'_>, settings: &Settings) -> String {
    text.grow(fragment.end);
    // The text ends with a separator.
    let length = text.len.saturating_sub(1);
    let end = if length < fragment.end {
        length
    } else {
        boundary_after(text, fragment.end, settings)
    };
    let mut at = boundary_before(text, fragment.start, settings);
    let mut rendered = String::new();
    for own in &fragment.matches {
        for (from, to) in &own.parts {
            rendered.push_str(&settings.encode(&text.units.slice(at, *from)));
            rendered.push_str(&settings.mark(&text.units.slice(*from, *to), own.number));
            at = *to;
        }
    }
    rendered.push_str(&settings.encode(&text.units.slice(at, end)));
    rendered
}

fn is_boundary(text: &Text<'_>, at: usize, settings: &Settings) -> bool {
    let c = text.units.char_at(at);
    c.is_some_and(|c| settings.boundary_chars.contains(c))
}

fn boundary_before(text: &Text<'_>, start: usize, settings: &Settings) -> usize {
    if start > text.len || start < 1 {
        return start;
    }
    let min = start.saturating_sub(settings.boundary_max_scan);
    let found = (min + 1..=start).rev().find(|at| is_boundary(text, at - 1, settings));
    match found {
        Some(at) => at,
        None if min == 0 => 0,
        None => start,
    }
}

fn boundary_after(text: &Text<'_>, end: usize, settings: &Settings) -> usize {
    let limit = end.saturating_add(settings.boundary_max_scan).min(text.len);
    (end..limit).find(|at| is_boundary(text, *at, settings)).unwrap_or(end)
}

//! Writes the tables and plots of `docs/performance.md` from the figures of a run.

use std::{collections::BTreeMap, fs, path::Path};

use crate::{
    client::Outcome,
    elasticsearch,
    plot::{Plot, Series},
    results::{self, Row},
};

/// Sections in order, with the meaning of their sizes.
const SECTIONS: [(&str, &str); 13] = [
    ("Start-up", "objects"),
    ("Memory", "objects"),
    ("Copies of a cluster", "copies"),
    ("Reads", "connections"),
    ("Writes", "connections"),
    ("Watches", "watchers"),
    ("Proxy", "connections"),
    ("Recorded sessions", "size"),
    ("Suite", "size"),
    ("Log search", "lines"),
    (elasticsearch::SECTION, "lines"),
    ("Stores", "connections"),
    ("Living cluster", "pods"),
];

/// Returns the meaning of the sizes of a section.
pub(crate) fn size_of(section: &str) -> &'static str {
    SECTIONS
        .iter()
        .find(|(name, _)| *name == section)
        .map_or("size", |(_, size)| size)
}

/// Returns the position of a section.
pub(crate) fn place(section: &str) -> usize {
    SECTIONS
        .iter()
        .position(|(name, _)| *name == section)
        .unwrap_or(SECTIONS.len())
}

/// Reads the figures of a file.
pub(crate) fn read(results: &Path) -> Outcome<Vec<Row>> {
    Ok(serde_json::from_slice(&fs::read(results)?)?)
}

/// Writes the tables and plots.
pub(crate) fn write(results: &Path, docs: &Path) -> Outcome {
    let rows = read(results)?;
    let images = docs.join("images").join("performance");
    fs::create_dir_all(&images)?;
    let mut text = results::tables(&rows, size_of);
    text.push_str("\n### How it grows\n\n");
    for (section, unit, plot) in plots(&rows) {
        let file = format!("{}.svg", name(&section, &unit));
        plot.draw(&images.join(&file))?;
        text.push_str(&format!("![{section}, {unit}](images/performance/{file})\n"));
    }
    replace(&docs.join("performance.md"), &text)
}

/// Points of each line of a plot, by name.
type Lines<'a> = BTreeMap<&'a str, Vec<(f64, f64)>>;

/// Returns one plot per section and unit with several sizes.
fn plots(rows: &[Row]) -> Vec<(String, String, Plot)> {
    let mut series: BTreeMap<(usize, &str), Lines> = BTreeMap::new();
    for row in rows {
        if let Some(size) = row.size.filter(|size| *size > 0.0) {
            let lines = series.entry((place(&row.section), &row.unit)).or_default();
            lines.entry(&row.name).or_default().push((size, row.value));
        }
    }
    let plots = series.into_iter().filter_map(|((place, unit), lines)| {
        let (section, size) = SECTIONS.get(place)?;
        let lines = lines.into_iter().filter(|(_, points)| points.len() > 1);
        let series: Vec<Series> = lines.map(|(name, points)| Series::new(name, points)).collect();
        let plot = Plot {
            title: format!("{section}: {unit} by {size}"),
            series,
        };
        (!plot.series.is_empty()).then(|| ((*section).to_owned(), unit.to_owned(), plot))
    });
    plots.collect()
}

/// Returns a file name of letters, digits and dashes.
fn name(section: &str, unit: &str) -> String {
    let text = format!("{section} {unit}")
        .to_lowercase()
        .replace('µ', "u")
        .replace('%', "percent");
    let words = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

const BEGIN: &str = "<!-- written by ci/bench.sh: begin -->\n";
const END: &str = "<!-- written by ci/bench.sh: end -->";

/// Replaces the text between the marks of a document.
pub(crate) fn replace(document: &Path, text: &str) -> Outcome {
    let before = fs::read_to_string(document)?;
    let missing = || format!("{} has no marks", document.display());
    let (head, rest) = before.split_once(BEGIN).ok_or_else(missing)?;
    let (_, tail) = rest.split_once(END).ok_or_else(missing)?;
    Ok(fs::write(document, format!("{head}{BEGIN}{text}\n{END}{tail}"))?)
}

//! Figures as data and as tables.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::{elasticsearch, statistics::median};

/// Target of a figure.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Bar {
    /// Minimum of the figure.
    AtLeast(f64),
    /// Maximum of the figure.
    AtMost(f64),
    /// Minimum of the ratio to the other server.
    RatioAtLeast(f64),
    /// Maximum of the ratio to the other server.
    RatioAtMost(f64),
}

/// One figure: the median of its rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Heading of the table and of the plot.
    pub(crate) section: String,
    /// Name of the measurement.
    pub(crate) name: String,
    /// Size at which it was measured: connections, objects, watchers.
    pub(crate) size: Option<f64>,
    /// Figure.
    pub(crate) value: f64,
    /// Unit.
    pub(crate) unit: String,
    /// Figure of bare hyper, and the median of the ratios of the rounds in which bare hyper's is not 0.
    pub(crate) bare: Option<(f64, Option<f64>)>,
    /// Target.
    pub(crate) bar: Option<Bar>,
}

impl Row {
    pub(crate) fn new(section: &str, name: &str, value: f64, unit: &str) -> Self {
        Self {
            section: section.to_owned(),
            name: name.to_owned(),
            size: None,
            value,
            unit: unit.to_owned(),
            bare: None,
            bar: None,
        }
    }

    /// Returns the row of several rounds, compared with those of bare hyper.
    pub(crate) fn beside(section: &str, name: &str, ours: &[f64], bare: &[f64], unit: &str) -> Self {
        let measured = ours.iter().zip(bare).filter(|(_, bare)| **bare != 0.0);
        let ratios: Vec<f64> = measured.map(|(ours, bare)| ours / bare).collect();
        Self {
            bare: Some((median(bare), (!ratios.is_empty()).then(|| median(&ratios)))),
            ..Self::new(section, name, median(ours), unit)
        }
    }

    pub(crate) fn at(self, size: usize) -> Self {
        Self {
            size: Some(size as f64),
            ..self
        }
    }

    pub(crate) fn bar(self, bar: Bar) -> Self {
        Self { bar: Some(bar), ..self }
    }

    /// Sets `bar` if the condition holds.
    pub(crate) fn bar_if(self, holds: bool, bar: Bar) -> Self {
        if holds { self.bar(bar) } else { self }
    }

    fn ratio(&self) -> Option<f64> {
        self.bare.and_then(|(_, ratio)| ratio)
    }

    fn is_met(&self) -> Option<bool> {
        Some(match self.bar? {
            Bar::AtLeast(bar) => self.value >= bar,
            Bar::AtMost(bar) => self.value <= bar,
            Bar::RatioAtLeast(bar) => self.ratio().is_some_and(|ratio| ratio >= bar),
            Bar::RatioAtMost(bar) => self.ratio().is_some_and(|ratio| ratio <= bar),
        })
    }

    fn columns(&self) -> [String; 7] {
        let optional = |value: Option<f64>| value.map(number).unwrap_or_default();
        let bar = self.bar.map(|bar| match bar {
            Bar::AtLeast(bar) => format!("≥ {}", number(bar)),
            Bar::AtMost(bar) => format!("≤ {}", number(bar)),
            Bar::RatioAtLeast(bar) => format!("ratio ≥ {bar}"),
            Bar::RatioAtMost(bar) => format!("ratio ≤ {bar}"),
        });
        let met = self.is_met().map(|met| if met { ", met" } else { ", **missed**" });
        [
            self.name.clone(),
            optional(self.size),
            number(self.value),
            self.unit.clone(),
            optional(self.bare.map(|(bare, _)| bare)),
            self.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            format!("{}{}", bar.unwrap_or_default(), met.unwrap_or_default()),
        ]
    }

    pub(crate) fn line(&self) -> String {
        format!("| {} |", self.columns().join(" | "))
    }
}

/// Formats a number with three significant digits or thousands separators.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        n if n == n.trunc() && n < 1e4 => return format!("{value:.0}"),
        n if n >= 1000.0 => {
            let whole = format!("{value:.0}");
            let mut parts: Vec<&str> = whole
                .as_bytes()
                .rchunks(3)
                .map(|part| std::str::from_utf8(part).unwrap_or_default())
                .collect();
            parts.reverse();
            return parts.join(",");
        }
        n if n >= 100.0 => 0,
        n if n >= 10.0 => 1,
        n if n >= 0.1 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Returns the head of a table. `size` is the meaning of its sizes.
pub(crate) fn head(section: &str, size: &str) -> String {
    let other = match section {
        elasticsearch::SECTION => "Elasticsearch",
        _ => "bare hyper",
    };
    format!(
        "\n### {section}\n\n| what | {size} | figure | unit | {other} | ratio | bar |\n\
         |---|---:|---:|---|---:|---:|---|"
    )
}

/// Formats the tables of all rows.
pub(crate) fn tables(rows: &[Row], size_of: impl Fn(&str) -> &'static str) -> String {
    let (mut out, mut last) = (String::new(), "");
    for row in rows {
        if row.section != last {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{}", head(&row.section, size_of(&row.section)));
            last = &row.section;
        }
        let _ = writeln!(out, "{}", row.line());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_in_which_bare_hyper_takes_no_measurable_time_has_no_ratio() {
        let unmeasured = Row::beside("s", "n", &[1.0, 2.0], &[0.0, 0.0], "µs");
        let once = Row::beside("s", "n", &[1.0, 2.0], &[0.0, 4.0], "µs");
        let saved = serde_json::to_string(&[unmeasured, once]).unwrap();
        let read: Vec<Row> = serde_json::from_str(&saved).unwrap();
        assert_eq!(read.iter().map(Row::ratio).collect::<Vec<_>>(), [None, Some(0.5)]);
    }
}

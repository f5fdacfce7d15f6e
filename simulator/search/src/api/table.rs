//! Tables, as `_cat` shows them.

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::rest::{Answer, RestRequest};

/// A table: its columns with their short names, its rows.
pub(super) struct Table {
    columns: Vec<(&'static str, &'static str, bool)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Columns as `name|short`; one that starts with `>` is set to the right.
    pub(super) fn new(columns: &[&'static str]) -> Table {
        let columns = columns.iter().map(|column| {
            let right = column.starts_with('>');
            let (name, short) = column
                .trim_start_matches('>')
                .split_once('|')
                .unwrap_or((column.trim_start_matches('>'), ""));
            (name, short, right)
        });
        Table {
            columns: columns.collect(),
            rows: vec![],
        }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text or JSON, with the columns that the request wants.
    pub(super) fn answer(self, request: &RestRequest) -> Result<Answer> {
        if request.flag("help") {
            return Ok(Answer::text(
                self.columns
                    .iter()
                    .map(|(name, short, _)| format!("{name} | {short} | {name}\n"))
                    .collect(),
            ));
        }
        let places: Vec<(String, usize)> = match request.param("h") {
            None => self
                .columns
                .iter()
                .enumerate()
                .map(|(at, (name, _, _))| ((*name).to_owned(), at))
                .collect(),
            Some(wanted) => wanted
                .split(',')
                .filter_map(|wanted| {
                    self.columns
                        .iter()
                        .position(|(name, short, _)| *name == wanted || *short == wanted)
                        .map(|at| (wanted.to_owned(), at))
                })
                .collect(),
        };
        let cell = |row: &[String], at: usize| row.get(at).cloned().unwrap_or_default();
        if request.param("format") == Some("json") {
            let rows: Vec<Value> = self
                .rows
                .iter()
                .map(|row| {
                    places
                        .iter()
                        .map(|(name, at)| (name.clone(), json!(cell(row, *at))))
                        .collect::<Map<_, _>>()
                        .into()
                })
                .collect();
            return Ok(Answer::ok(rows.into()));
        }
        let mut lines: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| places.iter().map(|(_, at)| cell(row, *at)).collect())
            .collect();
        if request.flag("v") {
            lines.insert(0, places.iter().map(|(name, _)| name.clone()).collect());
        }
        let widths: Vec<usize> = (0..places.len())
            .map(|at| {
                lines
                    .iter()
                    .map(|line| line.get(at).map_or(0, |cell| cell.chars().count()))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for line in lines {
            for (((_, at), cell), width) in places.iter().zip(line).zip(&widths) {
                let right = self.columns.get(*at).is_some_and(|(_, _, right)| *right);
                text.push_str(&if right {
                    format!("{cell:>width$} ")
                } else {
                    format!("{cell:<width$} ")
                });
            }
            text.push('\n');
        }
        Ok(Answer::text(text))
    }
}

//! Tables of `_cat`, in text, YAML or JSON.
//!
//! Source: `RestTable` of Elasticsearch 1.5. `columns.txt` has the names, aliases and descriptions of its `help`
//! output.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::api::human;
use crate::error::Result;
use crate::rest::{Answer, RestRequest};

/// Columns of all pages, one per line: page, name, aliases, flags (`>` aligned right, `+` shown by default),
/// description.
const COLUMNS: &str = include_str!("columns.txt");

/// A column of a page.
struct Column {
    name: Cow<'static, str>,
    aliases: &'static str,
    right: bool,
    shown: bool,
    description: &'static str,
}

fn columns(page: &str) -> Vec<Column> {
    COLUMNS
        .lines()
        .filter_map(|line| {
            let mut parts = line.splitn(5, '|');
            let mut part = || parts.next();
            let (own, name, aliases, flags, description) = (part()?, part()?, part()?, part()?, part()?);
            (own == page).then(|| Column {
                name: name.into(),
                aliases,
                right: flags.contains('>'),
                shown: flags.contains('+'),
                description,
            })
        })
        .collect()
}

/// A row: cells by column, and statistics for the columns without a cell.
#[derive(Default)]
pub(super) struct Row {
    cells: BTreeMap<String, String>,
    statistics: Value,
}

impl Row {
    pub(super) fn new(cells: &[(&str, String)]) -> Row {
        Row {
            cells: cells
                .iter()
                .map(|(name, text)| ((*name).to_owned(), text.clone()))
                .collect(),
            statistics: Value::Null,
        }
    }

    /// Adds statistics, in the sections of `_stats`.
    pub(super) fn with(self, statistics: Value) -> Row {
        Row { statistics, ..self }
    }

    pub(super) fn set(&mut self, name: &str, text: String) {
        self.cells.insert(name.to_owned(), text);
    }

    /// Returns the text of a cell. `None`: it has no value.
    fn cell(&self, column: &str, request: &RestRequest) -> Option<String> {
        if let Some(text) = self.cells.get(column) {
            return Some(text.clone());
        }
        let column = column.strip_prefix("pri.").unwrap_or(column);
        let (section, name) = column.split_once('.')?;
        // Some columns have other names than their statistics.
        let name = match (section, name) {
            ("get" | "percolate" | "suggest", "time") => "time",
            ("refresh", "time") => "total_time",
            ("segments", "fixed_bitset_memory") => "fixed_bit_set_memory",
            (_, name) => name,
        };
        let found = self.statistics.get(section);
        let number = |name: &str| found.and_then(|section| section.get(name)).and_then(Value::as_i64);
        if let Some(number) = number(name) {
            return Some(number.to_string());
        }
        if let Some(bytes) = number(&format!("{name}_in_bytes")) {
            return Some(u64::try_from(bytes).map_or_else(|_| format!("{bytes}b"), |bytes| size(bytes, request)));
        }
        let millis = number(&format!("{name}_in_millis"))?;
        u64::try_from(millis).ok().map(human::time)
    }
}

/// Formats a size, in the unit of the parameter `bytes`.
pub(super) fn size(bytes: u64, request: &RestRequest) -> String {
    let shift = match request.param("bytes") {
        Some("b") => 0,
        Some("k" | "kb") => 10,
        Some("m" | "mb") => 20,
        Some("g" | "gb") => 30,
        _ => return crate::sizes::size(bytes),
    };
    (bytes >> shift).to_string()
}

/// A page of `_cat`.
pub(super) struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Table {
    pub(super) fn new(page: &str) -> Table {
        Table {
            columns: columns(page),
            rows: vec![],
        }
    }

    /// Adds a column that is not in `columns.txt`, such as one for a field.
    pub(super) fn add_column(&mut self, name: &str) {
        self.columns.push(Column {
            name: name.to_owned().into(),
            aliases: "",
            right: true,
            shown: true,
            description: "",
        });
    }

    pub(super) fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    fn help(&self) -> String {
        let width = |text: fn(&Column) -> &str| self.columns.iter().map(|column| text(column).len()).max().unwrap_or(0);
        let (names, aliases, descriptions) = (
            width(|column| &column.name),
            width(|column| column.aliases),
            width(|column| column.description),
        );
        let line = |column: &Column| {
            format!(
                "{:names$} | {:aliases$} | {:descriptions$}\n",
                column.name, column.aliases, column.description
            )
        };
        self.columns.iter().map(line).collect()
    }

    /// Returns the requested columns with their headers.
    fn wanted(&self, request: &RestRequest) -> Vec<(String, &Column)> {
        let Some(wanted) = request.param("h") else {
            let shown = self.columns.iter().filter(|column| column.shown);
            return shown.map(|column| (column.name.to_string(), column)).collect();
        };
        let mut found = Vec::new();
        for header in wanted.split(',').map(str::trim).filter(|header| !header.is_empty()) {
            let by_name = self.columns.iter().find(|column| column.name == header);
            // The last column with the alias has it.
            let by_alias = || {
                self.columns
                    .iter()
                    .rfind(|column| column.aliases.split(',').any(|alias| alias == header))
            };
            found.extend(by_name.or_else(by_alias).map(|column| (header.to_owned(), column)));
        }
        found
    }

    /// Renders the table.
    pub(super) fn answer(self, request: &RestRequest) -> Result<Answer> {
        if request.flag("help") {
            return Ok(Answer::text(self.help()));
        }
        let wanted = self.wanted(request);
        let cells = |row: &Row| -> Vec<Option<String>> {
            wanted
                .iter()
                .map(|(_, column)| row.cell(&column.name, request))
                .collect()
        };
        let format = request.param("format").unwrap_or(&request.media_type);
        if matches!(format, "json" | "application/json" | "yaml" | "application/yaml") {
            let rows = self.rows.iter().map(|row| -> Value {
                let cells = wanted.iter().zip(cells(row));
                cells
                    .map(|((name, _), cell)| (name.clone(), cell.into()))
                    .collect::<Map<_, _>>()
                    .into()
            });
            return Ok(Answer::ok(rows.collect()));
        }
        let texts = |row: &Row| cells(row).into_iter().map(Option::unwrap_or_default).collect();
        let mut lines: Vec<Vec<String>> = self.rows.iter().map(texts).collect();
        if request.flag("v") {
            lines.insert(0, wanted.iter().map(|(name, _)| name.clone()).collect());
        }
        let width = |at: usize| {
            let cells = lines.iter().filter_map(|line| line.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..wanted.len()).map(width).collect();
        let mut text = String::new();
        for line in lines {
            for (((_, column), cell), width) in wanted.iter().zip(line).zip(&widths) {
                text.push_str(&if column.right {
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

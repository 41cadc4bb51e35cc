//! A table in one of the formats: text for people, CSV, JSON, Arrow.

use std::collections::HashMap;
use std::fmt;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, UInt64Builder};
use arrow_schema::DataType;
use netwarp_records::table::{self, BATCH_ROWS, Table};

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns
    Text,
    /// RFC 4180; absent values are empty
    Csv,
    /// An array of objects; absent values are null
    Json,
    /// An Arrow IPC stream
    Arrow,
}

/// The kind of values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Count,
    Time,
    Real,
}

/// A value that is present.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Text(String),
    Count(u64),
    /// Nanoseconds, which may be negative
    Time(i64),
    Real(f64),
}

impl fmt::Display for Cell {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => out.write_str(text),
            Self::Count(count) => write!(out, "{count}"),
            Self::Time(ns) => write!(out, "{ns}"),
            Self::Real(real) => write!(out, "{real}"),
        }
    }
}

/// A column's name and kind.
pub type Column = (&'static str, Kind);

/// A table that is being written.
pub struct Output {
    columns: Vec<Column>,
    writer: Writer,
    rows: usize,
}

/// The destination of a table.
pub type Sink = Box<dyn Write + Send>;

enum Writer {
    Text(BufWriter<Sink>, Vec<Vec<String>>),
    Csv(BufWriter<Sink>),
    Json(BufWriter<Sink>),
    Arrow(Box<Table>, Vec<Builder>),
}

enum Builder {
    Text(StringBuilder),
    Count(UInt64Builder),
    Time(Int64Builder),
    Real(Float64Builder),
}

const BUFFER_BYTES: usize = 1 << 16;

impl Output {
    /// Begins a table and writes its heading.
    pub fn new(format: Format, out: Sink, columns: &[Column]) -> Result<Self> {
        let buffered = |out| BufWriter::with_capacity(BUFFER_BYTES, out);
        let writer = match format {
            Format::Text => Writer::Text(buffered(out), Vec::new()),
            Format::Csv => {
                let mut out = buffered(out);
                let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
                writeln!(out, "{}", names.join(","))?;
                Writer::Csv(out)
            }
            Format::Json => Writer::Json(buffered(out)),
            Format::Arrow => {
                let typed: Vec<table::Column> = columns.iter().map(in_table).collect();
                let table = Table::begin(out, &typed, HashMap::new())?;
                let builders = columns.iter().map(|(_, kind)| Builder::new(*kind));
                Writer::Arrow(Box::new(table), builders.collect())
            }
        };
        Ok(Self {
            columns: columns.to_vec(),
            writer,
            rows: 0,
        })
    }

    /// Adds a row: its cells in the order of the columns.
    pub fn row(&mut self, cells: impl Iterator<Item = Option<Cell>>) -> Result<()> {
        self.rows += 1;
        match &mut self.writer {
            Writer::Text(_, rows) => rows.push(cells.map(|cell| shown(cell.as_ref())).collect()),
            Writer::Csv(out) => {
                for (number, cell) in cells.enumerate() {
                    if number > 0 {
                        out.write_all(b",")?;
                    }
                    match cell {
                        None => {}
                        Some(Cell::Text(text)) => out.write_all(quoted(&text).as_bytes())?,
                        Some(cell) => write!(out, "{cell}")?,
                    }
                }
                out.write_all(b"\n")?;
            }
            Writer::Json(out) => {
                out.write_all(if self.rows == 1 { b"[\n" } else { b",\n" })?;
                for (number, ((name, _), cell)) in self.columns.iter().zip(cells).enumerate() {
                    out.write_all(if number == 0 { b"{" } else { b"," })?;
                    write!(out, "\"{name}\":{}", json(cell))?;
                }
                out.write_all(b"}")?;
            }
            Writer::Arrow(table, builders) => {
                for (builder, cell) in builders.iter_mut().zip(cells) {
                    builder.push(cell);
                }
                if self.rows.is_multiple_of(BATCH_ROWS) {
                    flush(table, builders)?;
                }
            }
        }
        Ok(())
    }

    /// Ends the table.
    pub fn finish(self) -> Result<()> {
        match self.writer {
            Writer::Text(mut out, rows) => {
                write_aligned(&mut out, &self.columns, &rows)?;
                out.flush()?;
            }
            Writer::Csv(mut out) => out.flush()?,
            Writer::Json(mut out) => {
                out.write_all(if self.rows == 0 { b"[]\n" } else { b"\n]\n" })?;
                out.flush()?;
            }
            Writer::Arrow(mut table, mut builders) => {
                flush(&mut table, &mut builders)?;
                table.finish()?;
            }
        }
        Ok(())
    }
}

/// The column of the Arrow schema, which has only its type; docs/pcap.md explains columns.
fn in_table((name, kind): &Column) -> table::Column {
    table::Column {
        name,
        kind: match kind {
            Kind::Text => DataType::Utf8,
            Kind::Count => DataType::UInt64,
            Kind::Time => DataType::Int64,
            Kind::Real => DataType::Float64,
        },
        nullable: true,
        unit: "",
        meaning: "",
    }
}

fn flush(table: &mut Table, builders: &mut [Builder]) -> Result<()> {
    table.write(builders.iter_mut().map(Builder::finish).collect())
}

impl Builder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::Count => Self::Count(UInt64Builder::new()),
            Kind::Time => Self::Time(Int64Builder::new()),
            Kind::Real => Self::Real(Float64Builder::new()),
        }
    }

    /// Adds a cell; one of another kind than the column's is absent.
    fn push(&mut self, cell: Option<Cell>) {
        match (self, cell) {
            (Self::Text(builder), Some(Cell::Text(text))) => builder.append_value(text),
            (Self::Count(builder), Some(Cell::Count(count))) => builder.append_value(count),
            (Self::Time(builder), Some(Cell::Time(ns))) => builder.append_value(ns),
            (Self::Real(builder), Some(Cell::Real(real))) => builder.append_value(real),
            (Self::Text(builder), _) => builder.append_null(),
            (Self::Count(builder), _) => builder.append_null(),
            (Self::Time(builder), _) => builder.append_null(),
            (Self::Real(builder), _) => builder.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Count(builder) => Arc::new(builder.finish()),
            Self::Time(builder) => Arc::new(builder.finish()),
            Self::Real(builder) => Arc::new(builder.finish()),
        }
    }
}

fn json(cell: Option<Cell>) -> serde_json::Value {
    match cell {
        None => serde_json::Value::Null,
        Some(Cell::Text(text)) => text.into(),
        Some(Cell::Count(count)) => count.into(),
        Some(Cell::Time(ns)) => ns.into(),
        Some(Cell::Real(real)) => real.into(),
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A value for people: three significant digits, – if absent.
fn shown(cell: Option<&Cell>) -> String {
    match cell {
        None => "–".to_owned(),
        Some(Cell::Real(real)) => {
            let digits = match real.abs() {
                big if big >= 100.0 => 0,
                big if big >= 10.0 => 1,
                big if big >= 1.0 || big == 0.0 => 2,
                _ => 3,
            };
            format!("{real:.digits$}")
        }
        Some(cell) => cell.to_string(),
    }
}

fn write_aligned<W: Write>(out: &mut W, columns: &[Column], rows: &[Vec<String>]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let heading: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let width = |at: usize| {
        let lengths = rows.iter().chain([&heading]).filter_map(|row| row.get(at));
        lengths.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    for row in [&heading].into_iter().chain(rows) {
        let mut line = String::new();
        for ((cell, width), (_, kind)) in row.iter().zip(&widths).zip(columns) {
            let space = " ".repeat(width.saturating_sub(cell.chars().count()));
            let (left, right) = if *kind == Kind::Text {
                ("", space.as_str())
            } else {
                (space.as_str(), "")
            };
            line += &format!("{left}{cell}{right}  ");
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

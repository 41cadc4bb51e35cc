//! Sockets as columns of an Arrow table. Values are collected in buffers that become the arrays, without an object for
//! each row.

use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};
use arrow_schema::DataType::{self, Boolean, Int64, UInt8, UInt16, UInt32, UInt64, Utf8};

use super::field::{Field, Width};
use super::socket::Socket;
use crate::table;
use crate::tables::sockets::COLUMNS;

/// The process that holds a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The kernel's name: at most 15 bytes.
    pub name: String,
    /// Process id in the namespace of the caller.
    pub pid: u32,
}

/// A socket at one instant, for one row.
pub struct Entry<'a> {
    /// When it was sampled.
    pub time_ns: i64,
    /// The lab's node; empty in the monitor.
    pub node: &'a str,
    /// The kernel's report.
    pub socket: Socket<'a>,
    /// None if it is not requested or not known.
    pub process: Option<Arc<Process>>,
}

/// Number of entries to pass at once: they stay in the processor's cache while one column after the other is read from
/// them.
pub const ENTRIES: usize = 32;

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// When the socket was sampled.
    Time,
    /// The lab's node.
    Node,
    /// The kernel's number for the socket.
    Cookie,
    /// The address of this end …
    Source,
    /// … and its port.
    SourcePort,
    /// The address of the other end …
    Destination,
    /// … and its port.
    DestinationPort,
    /// The name of the congestion control.
    CongestionControl,
    /// The name of the process that holds the socket.
    Process,
    /// The id of that process.
    Pid,
    /// A number that the kernel reports.
    Number(&'static Field),
}

impl Column {
    /// The name in the table's heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time_ns",
            Self::Node => "node",
            Self::Cookie => "cookie",
            Self::Source => "source",
            Self::SourcePort => "source_port",
            Self::Destination => "destination",
            Self::DestinationPort => "destination_port",
            Self::CongestionControl => "congestion_control",
            Self::Process => "process",
            Self::Pid => "pid",
            Self::Number(field) => field.name,
        }
    }

    /// The column of `sockets.arrows`; columns that only the monitor has are not in that table.
    pub fn in_table(self) -> table::Column {
        if let Some(column) = COLUMNS.iter().find(|c| c.name == self.name()) {
            return column.clone();
        }
        let kind = match self {
            Self::Process => Utf8,
            Self::Number(field) => kind(field.width),
            _ => UInt32,
        };
        table::Column {
            name: self.name(),
            kind,
            nullable: true,
            unit: "",
            meaning: "",
        }
    }
}

fn kind(width: Width) -> DataType {
    match width {
        Width::U8 | Width::Bits(..) => UInt8,
        Width::U16 => UInt16,
        Width::U32 | Width::Estimate | Width::Vegas | Width::Variation => UInt32,
        Width::U64 | Width::Rate => UInt64,
        Width::Flag => Boolean,
    }
}

/// Rows of the chosen columns, until they are taken as arrays.
pub struct Columns {
    parts: Vec<(Column, Buffer)>,
    rows: usize,
}

impl Columns {
    /// Makes an empty set of these columns.
    pub fn new(columns: &[Column]) -> Self {
        let parts = columns.iter().map(|&c| (c, Buffer::of(c))).collect();
        Self { parts, rows: 0 }
    }

    /// The columns in the form of a table.
    pub fn in_table(&self) -> Vec<table::Column> {
        self.parts.iter().map(|(c, _)| c.in_table()).collect()
    }

    /// Number of rows that have not been taken.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds one row for each entry, column by column, so that each column's kind is checked once.
    pub fn extend(&mut self, entries: &[Entry]) {
        for (column, buffer) in &mut self.parts {
            match column {
                Column::Number(field) => buffer.field(field, entries),
                Column::Time => buffer.times(entries),
                Column::Cookie => buffer.numbers(entries, |e| Some(e.socket.cookie())),
                Column::SourcePort => buffer.numbers(entries, |e| Some(e.socket.source_port())),
                Column::DestinationPort => {
                    buffer.numbers(entries, |e| Some(e.socket.destination_port()));
                }
                Column::Pid => buffer.numbers(entries, |e| e.process.as_ref().map(|p| p.pid)),
                Column::Source => buffer.addresses(entries.iter().map(|e| e.socket.source())),
                Column::Destination => {
                    buffer.addresses(entries.iter().map(|e| e.socket.destination()));
                }
                Column::Node => buffer.texts(entries, |e| Some(e.node)),
                Column::CongestionControl => {
                    buffer.texts(entries, |e| Some(e.socket.congestion_control()));
                }
                Column::Process => {
                    buffer.texts(entries, |e| e.process.as_ref().map(|p| p.name.as_str()))
                }
            }
        }
        self.rows += entries.len();
    }

    /// Takes the rows so far, as arrays in the order of the columns.
    pub fn take(&mut self) -> Vec<ArrayRef> {
        self.rows = 0;
        self.parts.iter_mut().map(|(_, b)| b.take()).collect()
    }
}

enum Buffer {
    Time(Vec<i64>),
    U8(Vec<u8>, NullBufferBuilder),
    U16(Vec<u16>, NullBufferBuilder),
    U32(Vec<u32>, NullBufferBuilder),
    U64(Vec<u64>, NullBufferBuilder),
    Flag(BooleanBufferBuilder, NullBufferBuilder),
    Text(StringBuilder),
}

impl Buffer {
    fn of(column: Column) -> Self {
        let present = NullBufferBuilder::new(0);
        match column.in_table().kind {
            UInt8 => Self::U8(Vec::new(), present),
            UInt16 => Self::U16(Vec::new(), present),
            UInt32 => Self::U32(Vec::new(), present),
            Int64 => Self::Time(Vec::new()),
            Boolean => Self::Flag(BooleanBufferBuilder::new(0), present),
            Utf8 => Self::Text(StringBuilder::new()),
            _ => Self::U64(Vec::new(), present),
        }
    }

    /// Adds a number of the kernel. If every entry has it, or none, single entries are not checked.
    fn field(&mut self, field: &Field, entries: &[Entry]) {
        match field.width {
            Width::U32 => self.plain(field, entries, u32::from_ne_bytes),
            Width::U64 => self.plain(field, entries, u64::from_ne_bytes),
            _ => self.numbers(entries, |e| e.socket.read(field)),
        }
    }

    fn plain<const N: usize, T: Into<u64>>(
        &mut self,
        field: &Field,
        entries: &[Entry],
        number: impl Fn([u8; N]) -> T,
    ) {
        self.numbers(entries, |e| {
            let bytes = e.socket.block(field.block);
            let word = bytes.get(field.offset..field.offset + N)?;
            Some(number(word.try_into().ok()?))
        });
    }

    fn numbers<T: Into<u64>>(&mut self, entries: &[Entry], get: impl Fn(&Entry) -> Option<T>) {
        let get = |entry: &Entry| get(entry).map(Into::into);
        match self {
            Self::U8(values, present) => extend(values, present, entries, get, |v| v as u8),
            Self::U16(values, present) => extend(values, present, entries, get, |v| v as u16),
            Self::U32(values, present) => extend(values, present, entries, get, |v| v as u32),
            Self::U64(values, present) => extend(values, present, entries, get, |v| v),
            Self::Flag(values, present) => {
                for entry in entries {
                    let value = get(entry);
                    values.append(value.unwrap_or_default() != 0);
                    present.append(value.is_some());
                }
            }
            Self::Time(_) | Self::Text(_) => {}
        }
    }

    fn times(&mut self, entries: &[Entry]) {
        if let Self::Time(values) = self {
            values.extend(entries.iter().map(|e| e.time_ns));
        }
    }

    fn texts<'a>(&mut self, entries: &'a [Entry], get: impl Fn(&'a Entry) -> Option<&'a str>) {
        if let Self::Text(builder) = self {
            builder.extend(entries.iter().map(get));
        }
    }

    fn addresses(&mut self, all: impl Iterator<Item = IpAddr>) {
        if let Self::Text(builder) = self {
            let mut text = Vec::with_capacity(48);
            for ip in all {
                text.clear();
                write_address(&mut text, ip);
                builder.append_value(std::str::from_utf8(&text).unwrap_or_default());
            }
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::Time(values) => array::<Int64Type>(values, &mut NullBufferBuilder::new(0)),
            Self::U8(values, present) => array::<UInt8Type>(values, present),
            Self::U16(values, present) => array::<UInt16Type>(values, present),
            Self::U32(values, present) => array::<UInt32Type>(values, present),
            Self::U64(values, present) => array::<UInt64Type>(values, present),
            Self::Flag(values, present) => {
                Arc::new(BooleanArray::new(values.finish(), present.finish()))
            }
            Self::Text(builder) => Arc::new(builder.finish()),
        }
    }
}

/// The next batch is likely to be as long, so the new buffer has room for it.
fn array<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    present: &mut NullBufferBuilder,
) -> ArrayRef {
    let room = Vec::with_capacity(values.len());
    let values = std::mem::replace(values, room);
    Arc::new(PrimitiveArray::<T>::new(values.into(), present.finish()))
}

fn extend<T: Default>(
    values: &mut Vec<T>,
    present: &mut NullBufferBuilder,
    entries: &[Entry],
    get: impl Fn(&Entry) -> Option<u64>,
    narrow: impl Fn(u64) -> T,
) {
    let begin = values.len();
    let mut there = 0;
    values.extend(entries.iter().map(|entry| {
        let value = get(entry);
        there += usize::from(value.is_some());
        value.map(&narrow).unwrap_or_default()
    }));
    let count = values.len() - begin;
    if there == count {
        present.append_n_non_nulls(count);
    } else if there == 0 {
        present.append_n_nulls(count);
    } else {
        entries
            .iter()
            .for_each(|e| present.append(get(e).is_some()));
    }
}

/// Writes an address as text; with hundreds of thousands a second, the standard library's formatting is too slow.
pub fn write_address(text: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(v4) => {
            for octet in v4.octets() {
                text.extend_from_slice(itoa::Buffer::new().format(octet).as_bytes());
                text.push(b'.');
            }
            text.pop();
        }
        // Writing to a vector cannot fail.
        IpAddr::V6(v6) => drop(write!(text, "{v6}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockets::recorded;

    #[test]
    fn the_decoder_collects_what_the_table_has() {
        let names: Vec<&str> = recorded().into_iter().map(Column::name).collect();
        let columns: Vec<&str> = COLUMNS.iter().map(|c| c.name).collect();
        assert_eq!(names, columns);
    }

    #[test]
    fn a_number_has_the_type_of_its_column() {
        for column in recorded() {
            if let Column::Number(field) = column {
                assert_eq!(kind(field.width), column.in_table().kind, "{}", field.name);
            }
        }
    }
}

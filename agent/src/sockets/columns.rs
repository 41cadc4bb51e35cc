//! Sockets as columns of an Arrow table. Values are collected in buffers that the arrays then take over: no row is
//! ever a thing of its own.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};
use arrow_schema::DataType::{self, Boolean, Int64, UInt8, UInt16, UInt32, UInt64, Utf8};

use super::Socket;
use super::field::{Field, Width};
use crate::table;

/// The process that holds a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub name: String,
    pub pid: u32,
}

/// A socket at one instant, as a row gets it.
pub struct Entry<'a> {
    pub time_ns: i64,
    /// The lab's node; empty for the monitor, which knows none.
    pub node: &'a str,
    pub socket: &'a Socket<'a>,
    pub process: Option<&'a Process>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Time,
    Node,
    Cookie,
    Source,
    SourcePort,
    Destination,
    DestinationPort,
    CongestionControl,
    Process,
    Pid,
    Number(&'static Field),
}

impl Column {
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

    /// Name, type, and whether values may be absent.
    pub fn in_table(self) -> table::Column {
        let (kind, nullable) = match self {
            Self::Time => (Int64, false),
            Self::Cookie => (UInt64, false),
            Self::SourcePort | Self::DestinationPort => (UInt16, false),
            Self::Node | Self::Source | Self::Destination | Self::CongestionControl => {
                (Utf8, false)
            }
            Self::Process => (Utf8, true),
            Self::Pid => (UInt32, true),
            Self::Number(field) => (kind(field.width), *field != super::STATE),
        };
        (self.name(), kind, nullable)
    }
}

fn kind(width: Width) -> DataType {
    match width {
        Width::U8 | Width::Bits(..) => UInt8,
        Width::U16 => UInt16,
        Width::U32 => UInt32,
        Width::U64 | Width::Rate => UInt64,
        Width::Flag => Boolean,
    }
}

/// Rows of the columns that were asked for, until they are taken as arrays.
pub struct Columns {
    parts: Vec<(Column, Buffer)>,
    rows: usize,
}

impl Columns {
    pub fn new(columns: &[Column]) -> Self {
        let parts = columns.iter().map(|&c| (c, Buffer::of(c))).collect();
        Self { parts, rows: 0 }
    }

    pub fn in_table(&self) -> Vec<table::Column> {
        self.parts.iter().map(|(c, _)| c.in_table()).collect()
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn push(&mut self, entry: &Entry) {
        let socket = entry.socket;
        for (column, buffer) in &mut self.parts {
            match column {
                Column::Number(field) => buffer.number(socket.read(field)),
                Column::Time => buffer.time(entry.time_ns),
                Column::Cookie => buffer.number(Some(socket.cookie())),
                Column::SourcePort => buffer.number(Some(socket.source_port().into())),
                Column::DestinationPort => buffer.number(Some(socket.destination_port().into())),
                Column::Pid => buffer.number(entry.process.map(|p| p.pid.into())),
                Column::Source => buffer.text(Some(socket.source())),
                Column::Destination => buffer.text(Some(socket.destination())),
                Column::Node => buffer.text(Some(entry.node)),
                Column::CongestionControl => buffer.text(Some(socket.congestion_control())),
                Column::Process => buffer.text(entry.process.map(|p| &p.name)),
            }
        }
        self.rows += 1;
    }

    /// The rows so far, as arrays in the order of the columns; none are left.
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
        match column.in_table().1 {
            UInt8 => Self::U8(Vec::new(), present),
            UInt16 => Self::U16(Vec::new(), present),
            UInt32 => Self::U32(Vec::new(), present),
            Int64 => Self::Time(Vec::new()),
            Boolean => Self::Flag(BooleanBufferBuilder::new(0), present),
            Utf8 => Self::Text(StringBuilder::new()),
            _ => Self::U64(Vec::new(), present),
        }
    }

    #[inline]
    fn number(&mut self, value: Option<u64>) {
        let number = value.unwrap_or_default();
        let present = match self {
            Self::U8(values, present) => {
                values.push(number as u8);
                present
            }
            Self::U16(values, present) => {
                values.push(number as u16);
                present
            }
            Self::U32(values, present) => {
                values.push(number as u32);
                present
            }
            Self::U64(values, present) => {
                values.push(number);
                present
            }
            Self::Flag(values, present) => {
                values.append(number != 0);
                present
            }
            Self::Time(_) | Self::Text(_) => return,
        };
        present.append(value.is_some());
    }

    fn time(&mut self, value: i64) {
        if let Self::Time(values) = self {
            values.push(value);
        }
    }

    fn text(&mut self, value: Option<impl std::fmt::Display>) {
        if let Self::Text(builder) = self {
            match value {
                // Writing to a string builder cannot fail.
                Some(value) => {
                    let _ = write!(builder, "{value}");
                    builder.append_value("");
                }
                None => builder.append_null(),
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

/// The next batch is likely to be as long: the new buffer has room for it.
fn array<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    present: &mut NullBufferBuilder,
) -> ArrayRef {
    let room = Vec::with_capacity(values.len());
    let values = std::mem::replace(values, room);
    Arc::new(PrimitiveArray::<T>::new(values.into(), present.finish()))
}

//! Arrow IPC streams, written batch by batch, readable up to the last batch if the writer dies. Their buffers are
//! compressed, each for itself. The columns of a run's tables are in `tables.rs`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::builder::{ArrayBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};

/// Rows in a batch: a fixed number, so that the same rows give the same bytes.
pub const BATCH_ROWS: usize = 65_536;

/// Level of zstd: rows of packets become nine times smaller, for about a tenth of a microsecond each; level 3 takes
/// longer for little more. The same version of zstd, with one thread, gives the same bytes.
const COMPRESSION_LEVEL: i32 = 1;

/// A stream that is being written.
pub struct Table {
    schema: Arc<Schema>,
    writer: StreamWriter<BufWriter<Box<dyn Write + Send>>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name in the table.
    pub name: &'static str,
    /// The type of its values.
    pub kind: DataType,
    /// Whether values may be absent.
    pub nullable: bool,
    /// The unit of its values; empty if they have none.
    pub unit: &'static str,
    /// Its description; empty if none is written into the table.
    pub meaning: &'static str,
}

impl Column {
    fn field(&self) -> Field {
        let about = [("unit", self.unit), ("meaning", self.meaning)];
        let about = about.map(|(key, text)| (key.to_string(), text.to_string()));
        let field = Field::new(self.name, self.kind.clone(), self.nullable);
        if self.meaning.is_empty() {
            field
        } else {
            field.with_metadata(about.into())
        }
    }
}

impl Table {
    /// Creates `path`; the schema is written at once, so that an empty table is still readable.
    pub fn create(path: &Path, columns: &[Column]) -> Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Self::begin(Box::new(file), columns, HashMap::new())
    }

    /// Begins a table in any writer; `metadata` goes into the schema.
    pub fn begin(
        out: Box<dyn Write + Send>,
        columns: &[Column],
        metadata: HashMap<String, String>,
    ) -> Result<Self> {
        let fields: Vec<Field> = columns.iter().map(Column::field).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let options = IpcWriteOptions::default()
            .try_with_compression(Some(CompressionType::ZSTD))?
            .try_with_compression_level(Some(COMPRESSION_LEVEL))?;
        let out = BufWriter::with_capacity(1 << 18, out);
        let writer = StreamWriter::try_new_with_options(out, &schema, options)?;
        Ok(Self { schema, writer })
    }

    /// Writes one batch; `columns` in the order of the schema, of equal length.
    pub fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        self.writer.write(&batch)?;
        Ok(())
    }

    /// Writes every complete batch to the file system.
    pub fn flush(&mut self) -> Result<()> {
        self.writer.get_mut().flush()?;
        Ok(())
    }

    /// Ends the stream and writes all bytes to the file system: nothing may be written afterwards.
    pub fn finish(&mut self) -> Result<()> {
        self.writer.finish()?;
        self.writer.get_mut().flush()?;
        Ok(())
    }
}

/// Rows of one kind of table, until they are taken as arrays; `tables!` makes the types.
pub trait Rows: Default {
    /// Name of the table; with `.arrows` that of its file.
    const NAME: &'static str;
    /// Columns in the table's order.
    const COLUMNS: &'static [Column];
    /// The values of one row.
    type Row<'r>;

    /// Adds a row.
    fn push(&mut self, row: Self::Row<'_>);
    /// Takes the columns in their order; no row is left.
    fn take(&mut self) -> Vec<ArrayRef>;
}

/// A table of a run directory: collects rows and writes them in batches.
pub struct Batch<R: Rows> {
    table: Table,
    rows: R,
    len: usize,
}

impl<R: Rows> Batch<R> {
    /// Creates the table's file in `dir`.
    pub fn create(dir: &Path) -> Result<Self> {
        let path = dir.join(format!("{}.arrows", R::NAME));
        Ok(Self {
            table: Table::create(&path, R::COLUMNS)?,
            rows: R::default(),
            len: 0,
        })
    }

    /// Adds a row; every `BATCH_ROWS` rows are written.
    pub fn push(&mut self, row: R::Row<'_>) -> Result<()> {
        self.rows.push(row);
        self.len += 1;
        if self.len == BATCH_ROWS {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes the remaining rows, and ends the table.
    pub fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.table.finish()
    }

    fn flush(&mut self) -> Result<()> {
        self.len = 0;
        self.table.write(self.rows.take())
    }
}

/// Collects the values of one column.
pub trait Builder {
    /// The type of the column.
    const KIND: DataType;
    /// A row's value for this column.
    type Value<'r>;

    /// Adds a value.
    fn push(&mut self, value: Option<Self::Value<'_>>);
    /// Takes the values so far; none is left.
    fn take(&mut self) -> ArrayRef;
}

impl<T: ArrowPrimitiveType> Builder for PrimitiveBuilder<T> {
    const KIND: DataType = T::DATA_TYPE;
    type Value<'r> = T::Native;

    fn push(&mut self, value: Option<T::Native>) {
        self.append_option(value);
    }
    fn take(&mut self) -> ArrayRef {
        ArrayBuilder::finish(self)
    }
}

impl Builder for BooleanBuilder {
    const KIND: DataType = DataType::Boolean;
    type Value<'r> = bool;

    fn push(&mut self, value: Option<bool>) {
        self.append_option(value);
    }
    fn take(&mut self) -> ArrayRef {
        ArrayBuilder::finish(self)
    }
}

impl Builder for StringBuilder {
    const KIND: DataType = DataType::Utf8;
    type Value<'r> = &'r str;

    fn push(&mut self, value: Option<&str>) {
        self.append_option(value);
    }
    fn take(&mut self) -> ArrayRef {
        ArrayBuilder::finish(self)
    }
}

/// Defines a module for each table: its columns, the `Row` that a writer gives, and the `Rows` that collect them.
/// A line is `name: type of a row's value = builder, whether values may be absent, unit, meaning;`.
macro_rules! tables {
    ($($(#[$about:meta])* $table:ident $(<$life:lifetime>)? {
        $($column:ident: $value:ty = $builder:ident, $nullable:literal, $unit:literal, $meaning:literal;)*
    })*) => {$(
        $(#[$about])*
        pub mod $table {
            use arrow_array::ArrayRef;
            #[allow(unused_imports)] // a table has columns of some of these types
            use arrow_array::builder::{
                BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, StringBuilder, UInt8Builder, UInt16Builder,
                UInt32Builder, UInt64Builder,
            };
            use $crate::table::{Builder, Column};

            /// One row.
            pub struct Row $(<$life>)? {
                $(#[doc = $meaning] pub $column: $value,)*
            }

            /// The rows of a batch.
            #[derive(Default)]
            pub struct Rows {
                $($column: $builder,)*
            }

            impl $crate::table::Rows for Rows {
                const NAME: &'static str = stringify!($table);
                const COLUMNS: &'static [Column] = &[$(Column {
                    name: stringify!($column),
                    kind: <$builder as Builder>::KIND,
                    nullable: $nullable,
                    unit: $unit,
                    meaning: $meaning,
                }),*];
                type Row<'r> = Row $(<$life>)?;

                fn push(&mut self, row: Self::Row<'_>) {
                    $(Builder::push(&mut self.$column, row.$column.into());)*
                }

                fn take(&mut self) -> Vec<ArrayRef> {
                    vec![$(Builder::take(&mut self.$column)),*]
                }
            }
        }
    )*};
}

/// Defines only the columns of a table whose writer collects them itself.
macro_rules! columns {
    ($($(#[$about:meta])* $table:ident {
        $($column:ident: $value:ty = $builder:ident, $nullable:literal, $unit:literal, $meaning:literal;)*
    })*) => {$(
        $(#[$about])*
        pub mod $table {
            use arrow_array::builder::*;
            use $crate::table::{Builder, Column};

            /// Columns in the table's order.
            pub const COLUMNS: &[Column] = &[$(Column {
                name: stringify!($column),
                kind: <$builder as Builder>::KIND,
                nullable: $nullable,
                unit: $unit,
                meaning: $meaning,
            }),*];
        }
    )*};
}

pub(crate) use {columns, tables};

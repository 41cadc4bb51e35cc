//! Arrow IPC streams, written batch by batch, readable up to the last batch if the writer dies. Their buffers are
//! compressed, each for itself. The columns of a run's tables are in `tables.rs`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};

pub use crate::builder::BATCH_ROWS;

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
            use $crate::builder::Builder;
            use $crate::table::Column;

            /// One row.
            pub struct Row $(<$life>)? {
                $(#[doc = $meaning] pub $column: $value,)*
            }

            $crate::table::rows! { Row $(<$life>)? {$($column = $builder,)*} }

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
                    self.add(row);
                }

                fn take(&mut self) -> Vec<ArrayRef> {
                    self.spread();
                    vec![$(Builder::take(&mut self.$column)),*]
                }
            }
        }
    )*};
}

/// Defines the `Rows` of a table: the values of some rows go to the columns together, of a row that borrows some at
/// once.
macro_rules! rows {
    (Row {$($column:ident = $builder:ident,)*}) => {
        /// The rows of a batch.
        #[derive(Default)]
        pub struct Rows {
            staged: Vec<Row>,
            $($column: $builder,)*
        }

        impl Rows {
            fn add(&mut self, row: Row) {
                self.staged.push(row);
                if self.staged.len() == $crate::builder::STAGED_ROWS {
                    self.spread();
                }
            }

            fn spread(&mut self) {
                $(Builder::extend(&mut self.$column, &self.staged, |row| row.$column.into());)*
                self.staged.clear();
            }
        }
    };
    (Row <$life:lifetime> {$($column:ident = $builder:ident,)*}) => {
        /// The rows of a batch.
        #[derive(Default)]
        pub struct Rows {
            $($column: $builder,)*
        }

        impl Rows {
            fn add(&mut self, row: Row<'_>) {
                let rows = [row];
                $(Builder::extend(&mut self.$column, &rows, |row| row.$column.into());)*
            }

            #[allow(clippy::unused_self)] // none is staged
            fn spread(&self) {}
        }
    };
}

/// Defines only the columns of a table whose writer collects them itself.
macro_rules! columns {
    ($($(#[$about:meta])* $table:ident {
        $($column:ident: $value:ty = $builder:ident, $nullable:literal, $unit:literal, $meaning:literal;)*
    })*) => {$(
        $(#[$about])*
        pub mod $table {
            use arrow_array::builder::*;
            use $crate::builder::Builder;
            use $crate::table::Column;

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

pub(crate) use {columns, rows, tables};

#[cfg(test)]
mod tests {
    use arrow_array::{Array, Int64Array};

    use super::*;
    use crate::builder::STAGED_ROWS;
    use crate::tables::packets;
    use crate::tables::states::{Row, Rows as States};

    fn packet(enqueue_ns: i64, dequeue_ns: Option<i64>) -> packets::Row {
        packets::Row {
            interface_index: 1,
            tuple_id: 2,
            packet_bytes: 1514,
            segments: 1,
            enqueue_ns,
            dequeue_ns,
            drop_ns: None,
            length_pkts: 3,
            length_after_pkts: Some(4),
            backlog_bytes: 5,
            fate: 0,
            drop_reason: None,
            ecn_in: 0,
            ecn_out: None,
        }
    }

    /// Rows go to the columns in groups: of these one has all values, one has none, one has some, and one is not full.
    #[test]
    fn columns_are_those_of_one_row_after_the_other() {
        let rows = 3 * STAGED_ROWS as i64 + 17;
        let dequeue_ns = |at: i64| match at / STAGED_ROWS as i64 {
            0 => Some(-at),
            1 => None,
            _ => (at % 3 > 0).then_some(7 * at),
        };
        let mut collected = packets::Rows::default();
        for _ in 0..2 {
            (0..rows).for_each(|at| collected.push(packet(at, dequeue_ns(at))));
            let columns = collected.take();
            let column = |name| packets::Rows::COLUMNS.iter().position(|c| c.name == name);
            let values = |name| &columns[column(name).unwrap_or(usize::MAX)];
            let enqueued: Int64Array = (0..rows).map(Some).collect();
            let dequeued: Int64Array = (0..rows).map(dequeue_ns).collect();
            assert_eq!(values("enqueue_ns").to_data(), enqueued.to_data());
            assert_eq!(values("dequeue_ns").to_data(), dequeued.to_data());
            assert_eq!(values("drop_ns").null_count() as i64, rows);
            assert_eq!(values("length_after_pkts").null_count(), 0);
            assert!(columns.iter().all(|c| c.len() as i64 == rows));
        }
    }

    #[test]
    fn a_full_batch_leaves_no_row_behind() {
        let mut collected = States::default();
        for rows in [BATCH_ROWS, BATCH_ROWS, 1, 0] {
            for at in 0..rows {
                collected.push(Row {
                    time_ns: at as i64,
                    tuple_id: 0,
                    variable_id: 0,
                    value: -(at as i64),
                });
            }
            let columns = collected.take();
            let expected: Int64Array = (0..rows as i64).map(|at| Some(-at)).collect();
            assert_eq!(columns[3].to_data(), expected.to_data());
        }
    }
}

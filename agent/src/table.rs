//! Arrow IPC streams, written batch by batch, readable up to the last batch if the writer dies.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};

/// Rows in a batch: fixed, so that the same rows give the same bytes.
pub const BATCH_ROWS: usize = 65_536;

/// A table under construction.
pub struct Table {
    schema: Arc<Schema>,
    writer: StreamWriter<BufWriter<Box<dyn Write + Send>>>,
}

/// A column: name, type, whether values may be absent.
pub type Column = (&'static str, DataType, bool);

impl Table {
    /// Creates `path`; the schema is written at once, so that an empty table is still a table.
    pub fn create(path: &Path, columns: &[Column]) -> Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Self::begin(Box::new(file), columns, HashMap::new())
    }

    /// Likewise, into anything; `metadata` goes into the schema.
    pub fn begin(
        out: Box<dyn Write + Send>,
        columns: &[Column],
        metadata: HashMap<String, String>,
    ) -> Result<Self> {
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, kind, nullable)| Field::new(*name, kind.clone(), *nullable))
            .collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let writer = StreamWriter::try_new(BufWriter::with_capacity(1 << 18, out), &schema)?;
        Ok(Self { schema, writer })
    }

    /// Writes one batch; `columns` in the order of the schema, of equal length.
    pub fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        self.writer.write(&batch)?;
        Ok(())
    }

    /// Hands every whole batch to the file system.
    pub fn flush(&mut self) -> Result<()> {
        self.writer.get_mut().flush()?;
        Ok(())
    }

    /// Ends the stream and hands every byte to the file system.
    pub fn finish(mut self) -> Result<()> {
        self.end()
    }

    /// Likewise, for a table that several own: nothing may be written afterwards.
    pub fn end(&mut self) -> Result<()> {
        self.writer.finish()?;
        self.writer.get_mut().flush()?;
        Ok(())
    }
}

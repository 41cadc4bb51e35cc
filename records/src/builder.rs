//! The builders of columns.

use arrow_array::ArrayRef;
use arrow_array::builder::{ArrayBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::ArrowPrimitiveType;
use arrow_schema::DataType;

/// Rows in a batch: a fixed number, so that the same rows give the same bytes.
pub const BATCH_ROWS: usize = 65_536;

/// Rows that are kept until their values go to the columns together, which takes a fraction of the time of one by one:
/// as many as the nearest cache holds.
pub(crate) const STAGED_ROWS: usize = 256;

/// Collects the values of one column.
pub trait Builder {
    /// The type of the column.
    const KIND: DataType;
    /// A row's value for this column.
    type Value<'r>;

    /// Adds the values of some rows.
    fn extend<'r, R>(&mut self, rows: &[R], value: impl Fn(&R) -> Option<Self::Value<'r>>);
    /// Takes the values so far; none is left.
    fn take(&mut self) -> ArrayRef;
}

impl<T: ArrowPrimitiveType> Builder for PrimitiveBuilder<T> {
    const KIND: DataType = T::DATA_TYPE;
    type Value<'r> = T::Native;

    fn extend<'r, R>(&mut self, rows: &[R], value: impl Fn(&R) -> Option<Self::Value<'r>>) {
        for rows in rows.chunks(STAGED_ROWS) {
            let absent = rows.iter().filter(|row| value(row).is_none()).count();
            if absent == 0 && rows.len() == STAGED_ROWS {
                let mut values = [T::Native::default(); STAGED_ROWS];
                for (kept, row) in values.iter_mut().zip(rows) {
                    *kept = value(row).unwrap_or_default();
                }
                self.append_slice(&values);
            } else if absent == rows.len() {
                self.append_nulls(absent);
            } else {
                rows.iter().for_each(|row| self.append_option(value(row)));
            }
        }
    }
    fn take(&mut self) -> ArrayRef {
        let rows = self.len();
        let taken = ArrayBuilder::finish(self);
        if rows == BATCH_ROWS {
            // The next batch will probably be as long, so that its columns need not grow step by step.
            *self = Self::with_capacity(rows);
        }
        taken
    }
}

impl Builder for BooleanBuilder {
    const KIND: DataType = DataType::Boolean;
    type Value<'r> = bool;

    fn extend<'r, R>(&mut self, rows: &[R], value: impl Fn(&R) -> Option<Self::Value<'r>>) {
        rows.iter().for_each(|row| self.append_option(value(row)));
    }
    fn take(&mut self) -> ArrayRef {
        ArrayBuilder::finish(self)
    }
}

impl Builder for StringBuilder {
    const KIND: DataType = DataType::Utf8;
    type Value<'r> = &'r str;

    fn extend<'r, R>(&mut self, rows: &[R], value: impl Fn(&R) -> Option<Self::Value<'r>>) {
        rows.iter().for_each(|row| self.append_option(value(row)));
    }
    fn take(&mut self) -> ArrayRef {
        ArrayBuilder::finish(self)
    }
}

//! Cells of the tables, in their units.

use super::output::Cell;

pub fn text(value: impl ToString) -> Option<Cell> {
    Some(Cell::Text(value.to_string()))
}

pub fn count(value: impl Into<u64>) -> Option<Cell> {
    Some(Cell::Count(value.into()))
}

pub fn ms(ns: f64) -> Option<Cell> {
    Some(Cell::Real(ns / 1e6))
}

/// A rate; absent if no time passed.
pub fn mbps(bytes: u64, seconds: f64) -> Option<Cell> {
    (seconds > 0.0).then(|| Cell::Real(bytes as f64 * 8.0 / seconds / 1e6))
}

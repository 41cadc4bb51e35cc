//! `rate_control.arrows`: the state of the senders of adaptive streams after each report.

use super::occasional::Occasional;
use netwarp_records::tables::rate_control;
pub use netwarp_records::tables::rate_control::Row;

/// The table.
pub type RateControl = Occasional<rate_control::Rows>;

//! Filters of sockets in ss's grammar (ss(8), "FILTER"), with congestion control and process added.

mod bytecode;
mod expression;
mod host;
mod parse;
mod words;

pub use bytecode::bytecode;
pub use expression::Filter;
pub use parse::parse;

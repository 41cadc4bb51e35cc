//! Which sockets are watched: ss's own grammar (ss(8), "FILTER"), with congestion control and process added.

mod bytecode;
mod expression;
mod host;
mod parse;
mod words;

pub use bytecode::bytecode;
pub use expression::Filter;
pub use parse::parse;

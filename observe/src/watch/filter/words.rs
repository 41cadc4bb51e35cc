//! Splits a filter's text into words, and reports errors that point at one.

use std::fmt;
use std::ops::Range;

/// A word or sign, and its position in the text (bytes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub at: Range<usize>,
}

/// An error in a filter, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    filter: String,
    message: String,
    at: Range<usize>,
}

impl FilterError {
    pub fn new(filter: &str, at: Range<usize>, message: String) -> Self {
        Self {
            filter: filter.to_string(),
            message,
            at,
        }
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.filter.is_empty() {
            return write!(f, "the filter: {}", self.message);
        }
        let columns = |range: Range<usize>| self.filter.get(range).map_or(0, |t| t.chars().count());
        let before = columns(0..self.at.start);
        let under = columns(self.at.clone()).max(1);
        writeln!(f, "the filter: {}", self.message)?;
        writeln!(f, "  {}", self.filter)?;
        write!(f, "  {}{}", " ".repeat(before), "^".repeat(under))
    }
}

impl std::error::Error for FilterError {}

/// Signs that need no blanks around them, longer ones first.
const SIGNS: &[&str] = &[
    "==", "!=", ">=", "<=", "&&", "||", "=", ">", "<", "!", "&", "|", "(", ")",
];

/// Maximum number of words and signs in a filter. Every level of nesting and every operator takes one, so this also
/// bounds the depth of the filter, and with it the stack of functions that traverse it.
const MAX_WORDS: usize = 1000;

/// Splits a filter into words. A name with blanks is in double quotes.
pub fn words(filter: &str) -> Result<Vec<Word>, FilterError> {
    let mut found = Vec::new();
    let mut rest = filter;
    loop {
        rest = rest.trim_start();
        let begin = filter.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            return Ok(found);
        };
        let (text, len) = if first == '"' {
            let inside = rest[1..].split_once('"').ok_or_else(|| {
                let message = "the quotation does not end".to_string();
                FilterError::new(filter, begin..filter.len(), message)
            })?;
            (inside.0, inside.0.len() + 2)
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            (*sign, sign.len())
        } else {
            let len = rest
                .find(|c: char| c.is_whitespace() || "=!<>&|()\"".contains(c))
                .unwrap_or(rest.len());
            (&rest[..len], len)
        };
        if found.len() == MAX_WORDS {
            let message =
                format!("it has more than {MAX_WORDS} words and signs; take a shorter one");
            return Err(FilterError::new("", 0..0, message));
        }
        found.push(Word {
            text: text.to_string(),
            at: begin..begin + len,
        });
        rest = &rest[len..];
    }
}

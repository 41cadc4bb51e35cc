//! Questions of a machine about the keyboard of a session's user, and the guard's answers.
//!
//! A question goes through the pipe into which a command prints, as a piece of a stream that is otherwise unused then.
//! It is longer than the pipe's capacity, so the machine's kernel waits in write() until the guard has read all of it.
//! The guard first writes the answer, then reads on, and the machine's time stands still. The answer is a file in
//! the run directory, since files are all that a machine has of the host.

use anyhow::{Context, Result, bail};

/// More than the pipe's capacity (`PIPE_BYTES`), the rest of an earlier piece and one read of the guard together; less
/// than a piece of the kernel (PIECE_BYTES).
pub const QUESTION_BYTES: usize = 16 << 10;
/// Capacity of a session's pipe: the smallest that Linux allows (F_SETPIPE_SZ).
pub const PIPE_BYTES: usize = 4 << 10;
/// A file in the run directory that exists while keys have been pressed that the machine has not asked for.
pub const PRESSED: &str = ".keyboard";
/// Length of the part of a question that is read before it is answered.
pub const HEAD_BYTES: usize = 16;

const FOR_KEYS: u32 = 1;
const AT_ONCE: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// Counted from 1.
    pub number: u32,
    /// Whether the machine waits until a key is pressed.
    pub waits: bool,
    /// The machine's clock when it asks.
    pub time_ns: i64,
}

impl Question {
    pub fn to_bytes(self) -> Vec<u8> {
        let kind = if self.waits { FOR_KEYS } else { AT_ONCE };
        let mut bytes = vec![0; QUESTION_BYTES];
        bytes[..4].copy_from_slice(&kind.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.number.to_ne_bytes());
        bytes[8..HEAD_BYTES].copy_from_slice(&self.time_ns.to_ne_bytes());
        bytes
    }

    /// Parses the head of a question.
    pub fn parse(bytes: &[u8; HEAD_BYTES]) -> Result<Self> {
        let [a, b, c, d, e, f, g, h, time @ ..] = *bytes;
        let waits = match u32::from_ne_bytes([a, b, c, d]) {
            FOR_KEYS => true,
            AT_ONCE => false,
            other => bail!("the machine asks the keyboard for {other}"),
        };
        Ok(Self {
            number: u32::from_ne_bytes([e, f, g, h]),
            waits,
            time_ns: i64::from_ne_bytes(time),
        })
    }

    /// Path of the answer's file, relative to the run directory.
    pub fn file(self) -> String {
        format!(".keyboard-{}", self.number)
    }
}

/// Keys typed since the last answer, and the terminal's size now.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Answer {
    pub rows: u16,
    pub columns: u16,
    /// Whether the user has closed the terminal.
    pub is_closed: bool,
    pub bytes: Vec<u8>,
}

impl Answer {
    /// Encodes the answer as a line `ROWS COLUMNS CLOSED` followed by the bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let line = format!(
            "{} {} {}\n",
            self.rows,
            self.columns,
            u8::from(self.is_closed)
        );
        [line.as_bytes(), &self.bytes].concat()
    }

    pub fn parse(text: &[u8]) -> Result<Self> {
        let end = text
            .iter()
            .position(|&byte| byte == b'\n')
            .context("an answer of the keyboard without a line")?;
        let line = std::str::from_utf8(&text[..end])?;
        let numbers: Vec<u16> = line
            .split(' ')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| format!("an answer of the keyboard begins with {line:?}"))?;
        let [rows, columns, closed] = numbers[..] else {
            bail!("an answer of the keyboard begins with {line:?}");
        };
        Ok(Self {
            rows,
            columns,
            is_closed: closed != 0,
            bytes: text[end + 1..].to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_answers_come_back_as_they_were() -> Result<()> {
        for waits in [true, false] {
            let question = Question {
                number: 7,
                waits,
                time_ns: -5,
            };
            let bytes = question.to_bytes();
            assert!(bytes.len() > 2 * PIPE_BYTES + 2 * HEAD_BYTES);
            let head = bytes.first_chunk().context("a head")?;
            assert_eq!(Question::parse(head)?, question);
        }
        let answer = Answer {
            rows: 24,
            columns: 80,
            is_closed: false,
            bytes: b"ls\n\x03".to_vec(),
        };
        assert_eq!(Answer::parse(&answer.to_bytes())?, answer);
        assert!(Question::parse(&[0; HEAD_BYTES]).is_err());
        for wrong in [&b"24 80 0"[..], b"24 80\n", b"", b"x 80 0\n"] {
            assert!(Answer::parse(wrong).is_err(), "{wrong:?}");
        }
        Ok(())
    }
}

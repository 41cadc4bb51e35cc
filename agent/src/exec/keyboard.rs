//! The keyboard of a session's user, as the machine sees it.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::keyboard::{Answer, PRESSED, Question};
use crate::time::monotonic_ns;

pub struct Keyboard {
    questions: File,
    dir: PathBuf,
    asked: u32,
    /// Whether the guard sets the speed of time, so that it has to be asked.
    is_paced: bool,
}

impl Keyboard {
    /// Creates a keyboard; the guard reads `questions`, and `dir` is the run directory.
    pub fn new(questions: File, dir: PathBuf, is_paced: bool) -> Self {
        Self {
            questions,
            dir,
            asked: 0,
            is_paced,
        }
    }

    /// Waits for a key. No time passes meanwhile.
    pub fn wait(&mut self) -> Result<Answer> {
        self.ask(true)?.context("the keyboard was not read")
    }

    /// Returns the keys typed while time passed, if any.
    pub fn look(&mut self) -> Result<Option<Answer>> {
        if !self.is_paced && self.asked > 0 && !self.dir.join(PRESSED).exists() {
            return Ok(None);
        }
        self.ask(false)
    }

    fn ask(&mut self, waits: bool) -> Result<Option<Answer>> {
        self.asked += 1;
        let question = Question {
            number: self.asked,
            waits,
            time_ns: monotonic_ns(),
        };
        self.questions
            .write_all(&question.to_bytes())
            .context("asking for the keyboard")?;
        let path = self.dir.join(question.file());
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e).context("the keyboard"),
        };
        let _ = std::fs::remove_file(&path);
        Answer::parse(&text).map(Some)
    }
}

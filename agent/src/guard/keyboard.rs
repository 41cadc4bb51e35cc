//! The keyboard of whoever sits at a session (`netwarp shell`): what is typed goes to the machine when that asks for it.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::keyboard::{Answer, PRESSED, Question};

/// What was typed, one key after the other.
const NAME: &str = "command.in";
/// More than this is not read before the machine has taken it: the terminal holds the rest.
const MAX_TYPED: usize = 64 << 10;
/// Of the file: who pastes without end must not fill the disk.
const MAX_WRITTEN: u64 = 16 << 20;
const INTERRUPT: u8 = 3;
/// So many of it that the machine does not take end it: no program in it would get them.
const INTERRUPTS: usize = 3;

pub struct Keyboard {
    terminal: File,
    dir: PathBuf,
    file: File,
    written: u64,
    typed: Vec<u8>,
    is_closed: bool,
    question: Option<Question>,
    /// As the machine knows it: rows and columns.
    size: (u16, u16),
    pace: Option<Pace>,
    /// The file of the answer before, which a machine that has ended has not removed.
    last: Option<PathBuf>,
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.forget();
        let _ = std::fs::remove_file(self.dir.join(PRESSED));
    }
}

/// No more than so many seconds of the machine's time in one of real time, counted from an instant of both.
struct Pace {
    rate: f64,
    since: Option<(i64, Instant)>,
}

impl Keyboard {
    /// `terminal` is in raw mode; `pace` is the most seconds of the machine's time in one of real time.
    pub fn create(dir: &Path, terminal: File, pace: Option<f64>) -> Result<Self> {
        let path = dir.join(NAME);
        Ok(Self {
            terminal,
            dir: dir.to_path_buf(),
            file: File::create(&path)
                .with_context(|| format!("cannot create {}", path.display()))?,
            written: 0,
            typed: Vec::new(),
            is_closed: false,
            question: None,
            size: (0, 0),
            pace: pace.map(|rate| Pace { rate, since: None }),
            last: None,
        })
    }

    /// What to wait for, as long as there is something to come and room for it.
    pub fn terminal(&self) -> Option<BorrowedFd<'_>> {
        (!self.is_closed && self.typed.len() < MAX_TYPED).then(|| self.terminal.as_fd())
    }

    /// Whether the machine waits for an answer: until then no more of its output is read.
    pub fn is_asked(&self) -> bool {
        self.question.is_some()
    }

    pub fn ask(&mut self, question: Question) {
        self.question = Some(question);
    }

    /// Reads what has been typed, and has the machine know that there is something.
    pub fn read(&mut self) {
        let had = self.typed.len();
        self.read_some();
        if self.typed.len() > had || self.is_closed {
            // A machine that fills its directory hears of it later.
            let _ = File::create(self.dir.join(PRESSED));
        }
    }

    fn read_some(&mut self) {
        let mut buffer = [0; 4096];
        match self.terminal.read(&mut buffer) {
            Ok(0) => self.is_closed = true,
            Ok(got) => self.typed.extend_from_slice(&buffer[..got]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // A terminal that has hung up.
            Err(_) => self.is_closed = true,
        }
    }

    /// Whether somebody wants it to end and the machine does not listen.
    pub fn is_interrupted(&self) -> bool {
        let keys = self.typed.iter().filter(|&&key| key == INTERRUPT).count();
        self.question.is_none() && keys >= INTERRUPTS
    }

    /// Answers the question that there is, if there is something to say. The machine goes on after that.
    pub fn answer(&mut self) -> Result<()> {
        let Some(question) = self.question else {
            return Ok(());
        };
        let size = self.size_now();
        let is_news = !self.typed.is_empty() || self.is_closed || size != self.size;
        if !is_news && (question.waits || self.delay() > Duration::ZERO) {
            return Ok(());
        }
        if is_news {
            let answer = Answer {
                rows: size.0,
                columns: size.1,
                is_closed: self.is_closed,
                bytes: std::mem::take(&mut self.typed),
            };
            self.write_down(&answer.bytes)?;
            let path = self.dir.join(question.file());
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path)
                .and_then(|mut file| file.write_all(&answer.to_bytes()))
                .with_context(|| format!("cannot write {}", path.display()))?;
            self.forget();
            let _ = std::fs::remove_file(self.dir.join(PRESSED));
            self.last = Some(path);
            self.size = size;
        }
        if let Some(pace) = &mut self.pace {
            // Time at the prompt, which is none of the machine's, is not made up for.
            if question.waits || pace.since.is_none() {
                pace.since = Some((question.time_ns, Instant::now()));
            }
        }
        self.question = None;
        Ok(())
    }

    /// For how long the answer is put off, so that the machine is not faster than it should be.
    pub fn delay(&self) -> Duration {
        let since = self.pace.as_ref().and_then(|p| Some((p.rate, p.since?)));
        let (Some((rate, (from_ns, from))), Some(question)) = (since, self.question) else {
            return Duration::ZERO;
        };
        let ahead_s = (question.time_ns - from_ns) as f64 / 1e9 / rate;
        Duration::try_from_secs_f64(ahead_s)
            .unwrap_or_default()
            .saturating_sub(from.elapsed())
    }

    fn forget(&mut self) {
        if let Some(path) = self.last.take() {
            let _ = std::fs::remove_file(path);
        }
    }

    fn write_down(&mut self, keys: &[u8]) -> Result<()> {
        let room = usize::try_from(MAX_WRITTEN - self.written)
            .unwrap_or(0)
            .min(keys.len());
        self.written += room as u64;
        self.file
            .write_all(&keys[..room])
            .context("cannot write what was typed")
    }

    fn size_now(&self) -> (u16, u16) {
        let mut size = libc::winsize {
            ws_row: 0,
            ws_col: 0,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: the ioctl fills a structure that outlives the call; if it fails the structure stays as it is.
        unsafe { libc::ioctl(self.terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
        (size.ws_row, size.ws_col)
    }
}

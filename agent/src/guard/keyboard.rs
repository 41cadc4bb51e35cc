//! The keyboard of a session's user (`netwarp shell`): its keys go to the machine when that asks for them.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::keyboard::{Answer, PRESSED, Question};

/// File with all typed keys, in order.
const NAME: &str = "command.in";
/// Number of bytes that are read before the machine takes them; the terminal holds the rest.
const MAX_TYPED: usize = 64 << 10;
/// Limit of the file: endless pasting must not fill the disk.
const MAX_WRITTEN: u64 = 16 << 20;
const INTERRUPT: u8 = 3;
/// Number of interrupts after which the machine is ended if it takes none: no program in it would get them.
const INTERRUPTS: usize = 3;

pub struct Keyboard {
    terminal: File,
    dir: PathBuf,
    file: File,
    written: u64,
    typed: Vec<u8>,
    is_closed: bool,
    question: Option<Question>,
    /// The terminal's size that the machine knows: rows and columns.
    size: (u16, u16),
    pace: Option<Pace>,
    /// The file of the previous answer, which a machine that has ended has not removed.
    last: Option<PathBuf>,
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.forget();
        let _ = std::fs::remove_file(self.dir.join(PRESSED));
    }
}

/// A limit on the machine's seconds in one second of real time, counted from an instant of both clocks.
struct Pace {
    rate: f64,
    since: Option<(i64, Instant)>,
}

impl Keyboard {
    /// Creates the keyboard of `terminal`, which is in raw mode; `pace` limits the machine's seconds in one of real
    /// time.
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

    /// The descriptor to wait for, as long as keys can come and there is room for them.
    pub fn terminal(&self) -> Option<BorrowedFd<'_>> {
        (!self.is_closed && self.typed.len() < MAX_TYPED).then(|| self.terminal.as_fd())
    }

    /// Whether the machine waits for an answer: no more of its output is read before that.
    pub fn is_asked(&self) -> bool {
        self.question.is_some()
    }

    pub fn ask(&mut self, question: Question) {
        self.question = Some(question);
    }

    /// Reads typed keys, and tells the machine that there are some.
    pub fn read(&mut self) {
        let had = self.typed.len();
        self.read_some();
        if self.typed.len() > had || self.is_closed {
            // A machine that has filled its directory gets the error later.
            let _ = File::create(self.dir.join(PRESSED));
        }
    }

    fn read_some(&mut self) {
        let mut buffer = [0; 4096];
        match self.terminal.read(&mut buffer) {
            Ok(0) => self.is_closed = true,
            Ok(got) => self.typed.extend_from_slice(&buffer[..got]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // The terminal has hung up.
            Err(_) => self.is_closed = true,
        }
    }

    /// Whether the user has asked for the end and the machine does not listen.
    pub fn is_interrupted(&self) -> bool {
        let keys = self.typed.iter().filter(|&&key| key == INTERRUPT).count();
        self.question.is_none() && keys >= INTERRUPTS
    }

    /// Answers the pending question, if there is anything to say. The machine continues after that.
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
            // Time at the prompt, which is not the machine's, is not caught up on.
            if question.waits || pace.since.is_none() {
                pace.since = Some((question.time_ns, Instant::now()));
            }
        }
        self.question = None;
        Ok(())
    }

    /// Time by which the answer is delayed, so that the machine is not faster than allowed.
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
        // SAFETY: the ioctl fills a structure that outlives the call; if it fails, the structure is unchanged.
        unsafe { libc::ioctl(self.terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
        (size.ws_row, size.ws_col)
    }
}

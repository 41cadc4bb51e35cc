//! console.log, and the kernel's answers in it.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

/// More console than this is cut: a program that floods it must not fill the disk.
const CONSOLE_LIMIT: u64 = 16 << 20;
/// Length of the console's end that is searched for an answer.
const RECENT_BYTES: usize = 8 << 10;
/// Prefix of the kernel's answer.
const ANSWER: &str = "netwarp: running: ";
/// Prefix of the kernel's answer about itself: the time, and where it is.
const STUCK: &str = "netwarp: stuck: ";

/// The kernel's answer to a question: netwarp_answer() in arch/um/kernel/netwarp_time.c.
#[derive(Serialize)]
pub struct Running {
    /// CLOCK_MONOTONIC of the guest
    time_ns: i64,
    pid: u32,
    address: String,
    name: String,
    command: String,
}

impl Running {
    /// Parses `TIME PID ADDRESS NAME: COMMAND LINE`; a name may have blanks in it.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.trim().splitn(4, ' ');
        let (time, pid, address) = (words.next()?, words.next()?, words.next()?);
        let (name, command) = words.next()?.split_once(": ")?;
        Some(Self {
            time_ns: time.parse().ok()?,
            pid: pid.parse().ok()?,
            address: address.to_string(),
            name: name.to_string(),
            command: command.trim().to_string(),
        })
    }
}

/// console.log
pub struct Console {
    file: File,
    pub written: u64,
    buffer: Vec<u8>,
    /// The end of the console's text
    recent: Vec<u8>,
}

impl Console {
    pub fn create(path: &Path) -> Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self {
            file,
            written: 0,
            buffer: vec![0; 1 << 16],
            recent: Vec::new(),
        })
    }

    pub fn copy_from(&mut self, stream: &mut Option<File>) -> Result<()> {
        let Some(file) = stream.as_mut() else {
            return Ok(());
        };
        let got = file.read(&mut self.buffer).context("console")?;
        if got == 0 {
            *stream = None;
        }
        let room = usize::try_from(CONSOLE_LIMIT - self.written)
            .unwrap_or(0)
            .min(got);
        self.file
            .write_all(&self.buffer[..room])
            .context("cannot write console.log")?;
        self.written += room as u64;
        self.recent.extend_from_slice(&self.buffer[..got]);
        let old = self.recent.len().saturating_sub(RECENT_BYTES);
        self.recent.drain(..old);
        Ok(())
    }

    /// CLOCK_MONOTONIC of the guest in the kernel's last answer about itself.
    pub fn stuck_at(&self) -> Option<u64> {
        let text = String::from_utf8_lossy(&self.recent);
        let (_, answer) = text.rsplit_once(STUCK)?;
        answer.split_whitespace().next()?.parse().ok()
    }

    /// The kernel's answer to `Machine::ask`, once it is complete.
    pub fn answer(&self) -> Option<Running> {
        let text = String::from_utf8_lossy(&self.recent);
        let (_, answer) = text.rsplit_once(ANSWER)?;
        let (line, _) = answer.split_once('\n')?;
        Running::parse(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_apart() {
        let line = "10000000000 57 0x7f0000001234 my prog: sh -c while :; do :; done ";
        let answer = Running::parse(line).map(|r| (r.time_ns, r.pid, r.address, r.name, r.command));
        let [address, name, command] =
            ["0x7f0000001234", "my prog", "sh -c while :; do :; done"].map(String::from);
        assert_eq!(answer, Some((10_000_000_000, 57, address, name, command)));
        assert!(Running::parse("nothing of the kind").is_none());
    }
}

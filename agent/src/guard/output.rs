//! The output of a command (arch/um/kernel/netwarp_output.c): written into two files of the run directory, and live to
//! the caller, in the order in which it was printed.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, FromRawFd, RawFd};
use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::keyboard::Question;

const NAMES: [&str; 2] = ["command.out", "command.err"];
/// struct netwarp_output
const HEADER_BYTES: usize = 8;
const CHUNK: usize = 1 << 16;

pub struct Output {
    streams: [Stream; 2],
    buffer: Vec<u8>,
    questions: Questions,
}

/// Whether the second stream has questions to the keyboard instead of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Questions {
    Absent,
    /// No question is on its way.
    Expected,
    /// A question has been read in part and passed on; the rest of it is padding.
    Asked,
}

/// Result of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    All,
    /// The reader of the live output is gone.
    NoMore,
    /// The machine asks this, and waits until it is answered and more is read.
    Question(Question),
}

struct Stream {
    file: File,
    written: u64,
    /// Maximum that is kept: a program that floods its output must not fill the disk.
    limit: u64,
    is_cut: bool,
    /// A copy of the output, as long as its reader is there.
    live: Option<File>,
}

impl Output {
    /// `live` are descriptors of the guard's caller for output and errors, if it wants copies. In a session with a
    /// keyboard the machine `asks`. At most `limit` bytes of each stream are kept.
    pub fn create(dir: &Path, live: [Option<RawFd>; 2], asks: bool, limit: u64) -> Result<Self> {
        let stream = |number: usize| -> Result<Stream> {
            let path = dir.join(NAMES[number]);
            Ok(Stream {
                file: File::create(&path)
                    .with_context(|| format!("cannot create {}", path.display()))?,
                written: 0,
                limit,
                is_cut: false,
                live: live[number].map(take_over).transpose()?,
            })
        };
        Ok(Self {
            streams: [stream(0)?, stream(1)?],
            buffer: Vec::new(),
            questions: match asks {
                true => Questions::Expected,
                false => Questions::Absent,
            },
        })
    }

    /// The files of the streams that were cut at the limit.
    pub fn cut(&self) -> Vec<&'static str> {
        let streams = self.streams.iter().zip(NAMES);
        streams
            .filter_map(|(stream, name)| stream.is_cut.then_some(name))
            .collect()
    }

    /// Reads what is available; `stream` is `None` once it has ended.
    pub fn read_from(&mut self, stream: &mut Option<File>) -> Result<Taken> {
        let Some(file) = stream.as_mut() else {
            return Ok(Taken::All);
        };
        let filled = self.buffer.len();
        self.buffer.resize(filled + CHUNK, 0);
        let got = file
            .read(&mut self.buffer[filled..])
            .context("stream of output")?;
        self.buffer.truncate(filled + got);
        if got == 0 {
            *stream = None;
        }
        self.pass_on()
    }

    /// Passes on complete pieces, and the beginning of a question.
    fn pass_on(&mut self) -> Result<Taken> {
        let mut at = 0;
        let mut taken = Taken::All;
        loop {
            if let Some(question) = self.question_at(at)? {
                self.questions = Questions::Asked;
                taken = Taken::Question(question);
                break;
            }
            let Some((stream, bytes)) = piece(&self.buffer[at..]) else {
                break;
            };
            if stream == 2 && self.questions != Questions::Absent {
                self.questions = Questions::Expected;
            } else {
                let number = match stream {
                    1 => 0,
                    2 => 1,
                    other => bail!("the stream of output has a piece of stream {other}"),
                };
                if !self.streams[number].write(bytes)? {
                    taken = Taken::NoMore;
                }
            }
            at += HEADER_BYTES + bytes.len();
        }
        self.buffer.drain(..at);
        Ok(taken)
    }

    /// The question that begins there, if there is one that has not been passed on.
    fn question_at(&self, at: usize) -> Result<Option<Question>> {
        let Some((head, rest)) = self.buffer[at..].split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        if self.questions != Questions::Expected || head[..4] != 2_u32.to_ne_bytes() {
            return Ok(None);
        }
        rest.first_chunk().map(Question::parse).transpose()
    }
}

impl Stream {
    fn write(&mut self, bytes: &[u8]) -> Result<bool> {
        let room = usize::try_from(self.limit - self.written)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        self.is_cut |= room < bytes.len();
        self.file
            .write_all(&bytes[..room])
            .context("cannot write what the command printed")?;
        self.written += room as u64;
        let Some(live) = self.live.as_mut() else {
            return Ok(true);
        };
        match write_whole(live, bytes) {
            Ok(()) => Ok(true),
            Err(e) => {
                self.live = None;
                // A terminal that is gone is not an error of the run.
                Ok(e.kind() != ErrorKind::BrokenPipe)
            }
        }
    }
}

/// Takes over a descriptor that the guard's caller opened for this purpose, and that the machine does not get.
pub fn take_over(fd: RawFd) -> Result<File> {
    // SAFETY: the guard's caller gave it this descriptor, and nothing else here uses or closes it.
    let file = unsafe { File::from_raw_fd(fd) };
    fcntl(&file, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))
        .context("a descriptor of the guard's caller")?;
    Ok(file)
}

/// The first piece, if it is complete: its stream and its bytes.
fn piece(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_at_checked(HEADER_BYTES)?;
    let number = |at: usize| -> Option<u32> {
        Some(u32::from_ne_bytes(head.get(at..at + 4)?.try_into().ok()?))
    };
    let length = usize::try_from(number(4)?).ok()?;
    Some((number(0)?, rest.get(..length)?))
}

/// Writes all bytes, also to a descriptor in non-blocking mode.
fn write_whole(file: &mut File, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                let _ = poll(
                    &mut [PollFd::new(file.as_fd(), PollFlags::POLLOUT)],
                    PollTimeout::NONE,
                );
            }
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENOUGH: u64 = 1 << 20;

    fn packed(stream: u32, text: &str) -> Vec<u8> {
        let length = text.len() as u32;
        [
            &stream.to_ne_bytes()[..],
            &length.to_ne_bytes(),
            text.as_bytes(),
        ]
        .concat()
    }

    #[test]
    fn pieces_are_taken_as_they_become_whole() -> Result<()> {
        let dir = std::env::temp_dir().join(format!("netwarp-output-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let mut output = Output::create(&dir, [None, None], false, ENOUGH)?;
        let bytes = [packed(1, "one "), packed(2, "oops"), packed(1, "two")].concat();
        for part in bytes.chunks(5) {
            output.buffer.extend_from_slice(part);
            assert_eq!(output.pass_on()?, Taken::All);
        }
        let read = |number: usize| std::fs::read_to_string(dir.join(NAMES[number]));
        let printed = (read(0)?, read(1)?);
        std::fs::remove_dir_all(&dir)?;
        assert_eq!(printed, ("one two".to_string(), "oops".to_string()));
        assert!(output.buffer.is_empty());
        Ok(())
    }

    #[test]
    fn what_is_longer_than_what_is_kept_is_cut_and_named() -> Result<()> {
        let dir = std::env::temp_dir().join(format!("netwarp-output-c-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let mut output = Output::create(&dir, [None, None], false, 4)?;
        output.buffer = [packed(1, "four"), packed(2, "fi"), packed(2, "ve!")].concat();
        let taken = output.pass_on();
        let read = |number: usize| std::fs::read_to_string(dir.join(NAMES[number]));
        let printed = (read(0)?, read(1)?);
        std::fs::remove_dir_all(&dir)?;
        assert_eq!(taken?, Taken::All);
        assert_eq!(printed, ("four".to_string(), "five".to_string()));
        assert_eq!(output.cut(), [NAMES[1]]);
        Ok(())
    }

    #[test]
    fn a_stream_that_there_is_not_is_an_error() -> Result<()> {
        let dir = std::env::temp_dir().join(format!("netwarp-output-x-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let mut output = Output::create(&dir, [None, None], false, ENOUGH)?;
        output.buffer = packed(3, "x");
        let refused = output.pass_on().is_err();
        std::fs::remove_dir_all(&dir)?;
        assert!(refused);
        Ok(())
    }

    #[test]
    fn a_question_is_handed_on_before_it_is_whole() -> Result<()> {
        let dir = std::env::temp_dir().join(format!("netwarp-output-q-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let mut output = Output::create(&dir, [None, None], true, ENOUGH)?;
        let question = Question {
            number: 1,
            waits: true,
            time_ns: 5,
        };
        let asked = String::from_utf8(question.to_bytes())?;
        let bytes = [packed(1, "$ "), packed(2, &asked), packed(1, "ls")].concat();
        let mut seen = Vec::new();
        for part in bytes.chunks(4096) {
            output.buffer.extend_from_slice(part);
            seen.push(output.pass_on()?);
        }
        let printed = std::fs::read_to_string(dir.join(NAMES[0]))?;
        std::fs::remove_dir_all(&dir)?;
        assert_eq!(printed, "$ ls");
        assert_eq!(seen[0], Taken::Question(question));
        assert!(seen[1..].iter().all(|&taken| taken == Taken::All));
        Ok(())
    }
}

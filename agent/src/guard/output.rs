//! The output of a command (arch/um/kernel/netwarp_output.c): written into two files of the run directory, and live to
//! the caller, in the order in which it was printed.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, FromRawFd, RawFd};
use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// More than this of either stream is cut: a program that floods it must not fill the disk.
const LIMIT: u64 = 256 << 20;
const NAMES: [&str; 2] = ["command.out", "command.err"];
/// struct netwarp_output
const HEADER_BYTES: usize = 8;
const CHUNK: usize = 1 << 16;

pub struct Output {
    streams: [Stream; 2],
    buffer: Vec<u8>,
}

struct Stream {
    file: File,
    written: u64,
    /// Where it also goes, as long as somebody takes it.
    live: Option<File>,
}

impl Output {
    /// `live` are the descriptors of who started the machine, its output and its errors; none: nobody looks.
    pub fn create(dir: &Path, live: [Option<RawFd>; 2]) -> Result<Self> {
        let stream = |number: usize| -> Result<Stream> {
            let path = dir.join(NAMES[number]);
            Ok(Stream {
                file: File::create(&path)
                    .with_context(|| format!("cannot create {}", path.display()))?,
                written: 0,
                live: live[number].map(take_over).transpose()?,
            })
        };
        Ok(Self {
            streams: [stream(0)?, stream(1)?],
            buffer: Vec::new(),
        })
    }

    /// Reads what there is, until the stream has ended and is `None`. False when nobody takes the output any more.
    pub fn read_from(&mut self, stream: &mut Option<File>) -> Result<bool> {
        let Some(file) = stream.as_mut() else {
            return Ok(true);
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

    /// The pieces that are whole.
    fn pass_on(&mut self) -> Result<bool> {
        let mut at = 0;
        let mut taken = true;
        while let Some((stream, bytes)) = piece(&self.buffer[at..]) {
            let number = match stream {
                1 => 0,
                2 => 1,
                other => bail!("the stream of output has a piece of stream {other}"),
            };
            taken &= self.streams[number].write(bytes)?;
            at += HEADER_BYTES + bytes.len();
        }
        self.buffer.drain(..at);
        Ok(taken)
    }
}

impl Stream {
    fn write(&mut self, bytes: &[u8]) -> Result<bool> {
        let room = usize::try_from(LIMIT - self.written)
            .unwrap_or(0)
            .min(bytes.len());
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
                // A terminal that is gone is no error of the run's.
                Ok(e.kind() != ErrorKind::BrokenPipe)
            }
        }
    }
}

/// A descriptor that whoever started the guard gave it for this, and that the machine does not get.
fn take_over(fd: RawFd) -> Result<File> {
    // SAFETY: as said.
    let file = unsafe { File::from_raw_fd(fd) };
    fcntl(&file, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).context("the live output")?;
    Ok(file)
}

/// The first piece, if it is whole: its stream and its bytes.
fn piece(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_at_checked(HEADER_BYTES)?;
    let number = |at: usize| -> Option<u32> {
        Some(u32::from_ne_bytes(head.get(at..at + 4)?.try_into().ok()?))
    };
    let length = usize::try_from(number(4)?).ok()?;
    Some((number(0)?, rest.get(..length)?))
}

/// Also to a descriptor that somebody has set not to wait.
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
        let mut output = Output::create(&dir, [None, None])?;
        let bytes = [packed(1, "one "), packed(2, "oops"), packed(1, "two")].concat();
        for part in bytes.chunks(5) {
            output.buffer.extend_from_slice(part);
            assert!(output.pass_on()?);
        }
        let read = |number: usize| std::fs::read_to_string(dir.join(NAMES[number]));
        let printed = (read(0)?, read(1)?);
        std::fs::remove_dir_all(&dir)?;
        assert_eq!(printed, ("one two".to_string(), "oops".to_string()));
        assert!(output.buffer.is_empty());
        Ok(())
    }

    #[test]
    fn a_stream_that_there_is_not_is_an_error() -> Result<()> {
        let dir = std::env::temp_dir().join(format!("netwarp-output-x-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let mut output = Output::create(&dir, [None, None])?;
        output.buffer = packed(3, "x");
        let refused = output.pass_on().is_err();
        std::fs::remove_dir_all(&dir)?;
        assert!(refused);
        Ok(())
    }
}

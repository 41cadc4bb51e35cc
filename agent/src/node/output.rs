//! Output of a session: a line of JSON for each answer, and files, each after a line with its name and its size.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, poll};
use serde::Serialize;

/// Longest time that a write may block, in milliseconds; then its reader counts as gone.
const PATIENCE_MS: u16 = 20_000;
const CHUNK: usize = 1 << 16;

/// Standard output, which never blocks.
pub struct Output;

impl Output {
    pub fn open() -> Result<Self> {
        let out = std::io::stdout();
        let flags = OFlag::from_bits_retain(fcntl(out.as_fd(), FcntlArg::F_GETFL)?);
        fcntl(out.as_fd(), FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        Ok(Self)
    }

    pub fn answer(&self, value: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.write(&line)
    }

    /// Sends every file in a directory and below; links, which programs may have made, are not followed.
    pub fn files(&self, root: &Path, place: &Path) -> Result<()> {
        let mut entries: Vec<_> = std::fs::read_dir(place)
            .with_context(|| place.display().to_string())?
            .collect::<Result<_, _>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                self.files(root, &path)?;
            } else if kind.is_file() {
                self.file(root, &path)?;
            }
        }
        Ok(())
    }

    fn file(&self, root: &Path, path: &Path) -> Result<()> {
        let mut file = File::open(path).with_context(|| path.display().to_string())?;
        let mut left = file.metadata()?.len();
        let name = path.strip_prefix(root)?;
        self.answer(&serde_json::json!({"file": name, "bytes": left}))?;
        let mut bytes = vec![0; CHUNK];
        while left > 0 {
            let want = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            file.read_exact(&mut bytes[..want])?;
            self.write(&bytes[..want])?;
            left -= want as u64;
        }
        Ok(())
    }

    fn write(&self, mut bytes: &[u8]) -> Result<()> {
        let out = std::io::stdout();
        while !bytes.is_empty() {
            // SAFETY: the pointer and the length are those of a slice.
            let wrote = unsafe { libc::write(out.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
            if let Ok(wrote) = usize::try_from(wrote) {
                bytes = &bytes[wrote..];
                continue;
            }
            match Errno::last() {
                Errno::EINTR => {}
                Errno::EAGAIN => {
                    let mut fds = [PollFd::new(out.as_fd(), PollFlags::POLLOUT)];
                    ensure!(
                        poll(&mut fds, PATIENCE_MS).unwrap_or(1) > 0,
                        "netwarp no longer reads the session's output"
                    );
                }
                e => return Err(e.into()),
            }
        }
        Ok(())
    }
}

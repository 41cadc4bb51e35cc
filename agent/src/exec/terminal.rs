//! An interactive terminal of the machine: a pseudo-terminal whose other end is the keyboard and the screen of
//! netwarp's user.
//!
//! The machine's time stands still while the program in the foreground waits for keys, and passes while it does anything else.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::keyboard::Keyboard;
use crate::backend::Backend;
use crate::keyboard::Answer;

const MULTIPLEXER: &str = "/dev/ptmx";
/// Interval of looking at the keyboard while a command runs, in milliseconds. It grows while the command prints
/// nothing, since each look takes time that the user notices.
const LOOK_MS: u16 = 50;
const LOOKS: u32 = 8;
const MAX_DOUBLED: u32 = 4;
/// Time that a program in the foreground that reads keys and has a socket gets to receive an answer over the network
/// (ssh), in milliseconds.
const REPLY_MS: u16 = 1000;
const CHUNK: usize = 1 << 14;

/// A pseudo-terminal, held at its near end.
pub struct Terminal {
    near: File,
    far: OwnedFd,
}

impl Terminal {
    /// Opens a new pseudo-terminal of the calling thread's /dev/pts.
    pub fn open() -> Result<Self> {
        let near = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK)
            .open(MULTIPLEXER)
            .context(MULTIPLEXER)?;
        let unlocked: libc::c_int = 0;
        // SAFETY: the ioctl reads an integer that outlives the call.
        Errno::result(unsafe {
            libc::ioctl(near.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked)
        })
        .context("a terminal")?;
        let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
        // SAFETY: the ioctl takes an integer and returns a new descriptor.
        let far = Errno::result(unsafe { libc::ioctl(near.as_raw_fd(), libc::TIOCGPTPEER, flags) })
            .context("a terminal")?;
        Ok(Self {
            near,
            // SAFETY: the descriptor is new, and nothing else owns it.
            far: unsafe { OwnedFd::from_raw_fd(far) },
        })
    }

    /// Makes it the command's controlling terminal, in a new session.
    pub fn give_to(&self, command: &mut Command) -> Result<()> {
        command
            .stdin(self.far.try_clone()?)
            .stdout(self.far.try_clone()?)
            .stderr(self.far.try_clone()?);
        // SAFETY: both calls are async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                Errno::result(libc::setsid())?;
                Errno::result(libc::ioctl(0, libc::TIOCSCTTY, 0))?;
                Ok(())
            });
        }
        Ok(())
    }

    /// Carries keys in and output out until `ended` is readable, which is when the command has ended.
    pub fn relay(
        self,
        backend: &dyn Backend,
        mut keyboard: Keyboard,
        mut screen: File,
        ended: impl AsFd,
    ) -> Result<()> {
        // The far end stays open here as well: otherwise the near end is always readable.
        let Self { mut near, far } = self;
        let mut typed: Vec<u8> = Vec::new();
        let mut looks = 0;
        if let Some(answer) = keyboard.look()? {
            take(&near, &answer, &mut typed);
        }
        loop {
            let (has_output, has_ended) = happens(&near, &ended, 0)?;
            if has_output {
                copy(&mut near, &mut screen)?;
                looks = 0;
                continue;
            }
            if has_ended {
                return Ok(());
            }
            if !typed.is_empty() {
                write_some(&mut near, &mut typed)?;
            }
            // All programs that can act at this instant do so first: a program that still waits afterwards waits for
            // input.
            backend.rest();
            if happens(&near, &ended, 0)? != (false, false) {
                continue;
            }
            let group = foreground(&near);
            let reads_keys = typed.is_empty() && reads_keys(&near);
            let patience = if reads_keys && has_socket(group) {
                REPLY_MS
            } else if reads_keys {
                0
            } else {
                looks += 1;
                LOOK_MS << (looks / LOOKS).min(MAX_DOUBLED)
            };
            if patience > 0 && happens(&near, &ended, patience)? != (false, false) {
                continue;
            }
            let answer = if reads_keys {
                Some(keyboard.wait()?)
            } else {
                keyboard.look()?
            };
            let Some(answer) = answer else { continue };
            if answer.is_closed {
                // Closing the terminal sends SIGHUP to the programs that read from it.
                drop((near, far));
                return Ok(());
            }
            take(&near, &answer, &mut typed);
        }
    }
}

/// Waits up to this many milliseconds; returns whether there is output, and whether the command has ended.
fn happens(near: &File, ended: &impl AsFd, patience_ms: u16) -> Result<(bool, bool)> {
    let mut fds = [
        PollFd::new(near.as_fd(), PollFlags::POLLIN),
        PollFd::new(ended.as_fd(), PollFlags::POLLIN),
    ];
    poll(&mut fds, PollTimeout::from(patience_ms))?;
    let has = |fd: &PollFd, wanted| fd.revents().is_some_and(|r| r.intersects(wanted));
    Ok((
        has(&fds[0], PollFlags::POLLIN),
        has(&fds[1], PollFlags::POLLIN | PollFlags::POLLHUP),
    ))
}

fn copy(near: &mut File, screen: &mut File) -> Result<()> {
    let mut buffer = [0; CHUNK];
    match near.read(&mut buffer) {
        Ok(got) => screen.write_all(&buffer[..got]).context("the screen"),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock) => Ok(()),
        Err(e) => Err(e).context("a terminal"),
    }
}

/// Writes as many keys as there is room for, which a program that does not read leaves full.
fn write_some(near: &mut File, typed: &mut Vec<u8>) -> Result<()> {
    match near.write(typed) {
        Ok(written) => drop(typed.drain(..written)),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock) => {}
        Err(e) => return Err(e).context("a terminal"),
    }
    Ok(())
}

fn take(near: &File, answer: &Answer, typed: &mut Vec<u8>) {
    typed.extend_from_slice(&answer.bytes);
    if answer.rows == 0 || answer.columns == 0 {
        return;
    }
    let size = libc::winsize {
        ws_row: answer.rows,
        ws_col: answer.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the ioctl reads a structure that outlives the call. Its failure is harmless: a terminal that is gone
    // needs no size.
    unsafe { libc::ioctl(near.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
}

/// The process group in the foreground.
fn foreground(near: &File) -> libc::pid_t {
    let mut group: libc::pid_t = 0;
    // SAFETY: the ioctl writes an integer. At the near end it returns the far end's group.
    unsafe { libc::ioctl(near.as_raw_fd(), libc::TIOCGPGRP, &raw mut group) };
    group
}

/// Whether the program in the foreground reads single keys, as a shell at its prompt does and a command does not.
///
/// Whether a program is waiting in a read of a whole line cannot be seen from outside.
fn reads_keys(near: &File) -> bool {
    let mut settings = std::mem::MaybeUninit::<libc::termios>::uninit();
    // SAFETY: tcgetattr fills the structure if it succeeds. At the near end it returns the far end's settings.
    let settings = unsafe {
        if libc::tcgetattr(near.as_raw_fd(), settings.as_mut_ptr()) != 0 {
            return false;
        }
        settings.assume_init()
    };
    settings.c_lflag & libc::ICANON == 0
}

/// Whether a process of this group has a socket.
fn has_socket(group: libc::pid_t) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    processes
        .flatten()
        .filter(|process| group_of(&process.path().join("stat")) == Some(group))
        .filter_map(|process| std::fs::read_dir(process.path().join("fd")).ok())
        .flat_map(|files| files.flatten())
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .any(|target| target.to_string_lossy().starts_with("socket:"))
}

/// Parses /proc/PID/stat: the third field after the name, which may contain any character.
fn group_of(stat: &std::path::Path) -> Option<libc::pid_t> {
    let text = std::fs::read_to_string(stat).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    fields.split_whitespace().nth(2)?.parse().ok()
}

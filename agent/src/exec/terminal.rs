//! A terminal of the machine at which somebody sits: a pseudo-terminal whose other end is the keyboard and the screen of
//! whoever started netwarp.
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
/// How often the keyboard is looked at while a command runs, in milliseconds: less often the longer it prints nothing,
/// since each look takes time of whoever sits there.
const LOOK_MS: u16 = 50;
const LOOKS: u32 = 8;
const MAX_DOUBLED: u32 = 4;
/// For how long a program in the foreground that reads keys and has a socket is left alone, to hear what answers over
/// the network (ssh), in milliseconds.
const REPLY_MS: u16 = 1000;
const CHUNK: usize = 1 << 14;

/// The near end of a pseudo-terminal.
pub struct Terminal {
    near: File,
    far: OwnedFd,
}

impl Terminal {
    /// A new one of the calling thread's /dev/pts.
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
            // SAFETY: the descriptor is new and nobody else's.
            far: unsafe { OwnedFd::from_raw_fd(far) },
        })
    }

    /// The command gets it as its controlling terminal, in a session of its own.
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

    /// Carries keys in and output out until `ended` can be read, which is when the command has ended.
    pub fn relay(
        self,
        backend: &dyn Backend,
        mut keyboard: Keyboard,
        mut screen: File,
        ended: impl AsFd,
    ) -> Result<()> {
        // The far end stays open here as well: without one the near end never comes to rest.
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
            // Whatever can be done at this instant is done after this: who waits then, waits for something.
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
                // Who reads from it is sent SIGHUP by its end.
                drop((near, far));
                return Ok(());
            }
            take(&near, &answer, &mut typed);
        }
    }
}

/// Whether there is output, and whether the command has ended, after so many milliseconds at the latest.
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

/// As much as a program that does not read leaves room for.
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
    // SAFETY: the ioctl reads a structure that outlives the call. A terminal that is gone needs no size.
    unsafe { libc::ioctl(near.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
}

/// The process group in the foreground.
fn foreground(near: &File) -> libc::pid_t {
    let mut group: libc::pid_t = 0;
    // SAFETY: the ioctl writes an integer. Of the near end it is the other's.
    unsafe { libc::ioctl(near.as_raw_fd(), libc::TIOCGPGRP, &raw mut group) };
    group
}

/// Whether who is in the foreground takes single keys, as a shell at its prompt does and a command does not.
///
/// Whether a program waits in a read of a whole line cannot be seen from outside.
fn reads_keys(near: &File) -> bool {
    let mut settings = std::mem::MaybeUninit::<libc::termios>::uninit();
    // SAFETY: tcgetattr fills the structure if it succeeds. Of the near end they are the other's.
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

/// From /proc/PID/stat: the third field behind the name, which may have anything in it.
fn group_of(stat: &std::path::Path) -> Option<libc::pid_t> {
    let text = std::fs::read_to_string(stat).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    fields.split_whitespace().nth(2)?.parse().ok()
}

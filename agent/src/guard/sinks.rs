//! The destinations of the machine's streams, and the events that the guard waits for.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};

use super::console::Console;
use super::events::Recorder;
use super::keyboard::Keyboard;
use super::machine::Machine;
use super::options::Options;
use super::output::{Output, Taken, take_over};
use crate::end::End;

/// Interval of checking the time while nothing happens, in milliseconds.
const MOMENT: u16 = 200;

/// Destinations of the machine's streams.
pub struct Sinks {
    pub console: Console,
    pub recorder: Option<Recorder>,
    pub output: Option<Output>,
    keyboard: Option<Keyboard>,
}

impl Sinks {
    pub fn create(options: &Options) -> Result<Self> {
        let live = [options.live_out, options.live_err];
        Ok(Self {
            console: Console::create(&options.dir.join("console.log"))?,
            recorder: options
                .records()
                .then(|| Recorder::create(&options.dir, &options.captures, options.t0))
                .transpose()?,
            output: options
                .output
                .then(|| {
                    let asks = options.keyboard.is_some();
                    Output::create(&options.dir, live, asks, options.kept_bytes)
                })
                .transpose()?,
            keyboard: options
                .keyboard
                .map(|fd| Keyboard::create(&options.dir, take_over(fd)?, options.pace))
                .transpose()?,
        })
    }

    /// Waits a moment for something to happen and deals with it; `Some` when the machine's life is over.
    pub fn watch(&mut self, machine: &mut Machine) -> Result<Option<End>> {
        let ready = self.ready(machine)?;
        let cancelled = ready.contains(&Source::Parent) && stdin_closed()?;
        if ready.contains(&Source::Console) {
            self.console.copy_from(&mut machine.console)?;
        }
        if ready.contains(&Source::Records) {
            read_records(&mut machine.records, self.recorder.as_mut())?;
        }
        let mut taken = Taken::All;
        if ready.contains(&Source::Output)
            && let Some(output) = self.output.as_mut()
        {
            taken = output.read_from(&mut machine.output)?;
        }
        let mut interrupted = false;
        if let Some(keyboard) = self.keyboard.as_mut() {
            if ready.contains(&Source::Keyboard) {
                keyboard.read();
            }
            if let Taken::Question(question) = taken {
                keyboard.ask(question);
            }
            keyboard.answer()?;
            interrupted = keyboard.is_interrupted();
        }
        let streams = [&machine.console, &machine.records, &machine.output];
        Ok(match taken {
            _ if ready.contains(&Source::Keeper) => Some(End::KeeperGone),
            _ if cancelled || interrupted => Some(End::Cancelled),
            Taken::NoMore => Some(End::OutputClosed),
            _ => streams.iter().all(|s| s.is_none()).then_some(End::Ended),
        })
    }

    /// The sources with something to read, or at their end, after at most a moment.
    fn ready(&self, machine: &mut Machine) -> Result<Vec<Source>> {
        let has_ended = machine.has_ended()?;
        let stdin = std::io::stdin();
        let keyboard = self.keyboard.as_ref().and_then(Keyboard::terminal);
        let output = machine.output.as_ref().filter(|_| !self.is_asked());
        // A stream that has ended is left out, since poll would return for it forever.
        let watched: Vec<(Source, BorrowedFd)> = [
            Some((Source::Parent, stdin.as_fd())),
            // The keeper ends with the machine.
            (!has_ended).then(|| (Source::Keeper, machine.keeper.end())),
            (machine.console.as_ref()).map(|f| (Source::Console, f.as_fd())),
            (machine.records.as_ref()).map(|f| (Source::Records, f.as_fd())),
            output.map(|f| (Source::Output, f.as_fd())),
            keyboard.map(|fd| (Source::Keyboard, fd)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let mut fds: Vec<PollFd> = watched
            .iter()
            .map(|(_, fd)| PollFd::new(*fd, PollFlags::POLLIN))
            .collect();
        match poll(&mut fds, self.moment()) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        let is_ready = |fd: &PollFd| fd.revents().is_some_and(|r| !r.is_empty());
        Ok(watched
            .iter()
            .zip(&fds)
            .filter(|(_, fd)| is_ready(fd))
            .map(|((source, _), _)| *source)
            .collect())
    }

    /// Whether the machine waits for the keyboard.
    fn is_asked(&self) -> bool {
        self.keyboard.as_ref().is_some_and(Keyboard::is_asked)
    }

    /// Maximum wait for an event, in milliseconds.
    fn moment(&self) -> u16 {
        let delay = self.keyboard.as_ref().map(Keyboard::delay);
        match delay.map(|d| d.as_millis().saturating_add(1)) {
            Some(ms) if ms > 1 => MOMENT.min(u16::try_from(ms).unwrap_or(MOMENT)),
            _ => MOMENT,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Parent,
    Keeper,
    Console,
    Records,
    Output,
    Keyboard,
}

/// Whether standard input has ended. netwarp never writes to the guard, so it is readable only then.
fn stdin_closed() -> Result<bool> {
    let mut byte = [0; 16];
    Ok(std::io::stdin().read(&mut byte).context("standard input")? == 0)
}

fn read_records(stream: &mut Option<File>, recorder: Option<&mut Recorder>) -> Result<()> {
    let (Some(file), Some(recorder)) = (stream.as_mut(), recorder) else {
        *stream = None;
        return Ok(());
    };
    if !recorder.read_from(file)? {
        *stream = None;
    }
    Ok(())
}

//! Work that waits for instants and descriptors, all of it in two threads: one sleeps until the next instant, the other
//! waits for descriptors. A flow whose data the kernel moves has only a few steps between long waits, for which two
//! threads of its own would take more memory than its connection.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use nix::sys::epoll::EpollFlags;

use super::threads::{lock, spawn};
use super::watch::Watch;
use crate::backend::{Pumped, Pumps};
use crate::time::{monotonic_ns, sleep_until};

/// A task's reason to wait; the instants for which it was added count in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// An event of a descriptor, which stays open as long as the task has not ended.
    Event(RawFd, EpollFlags),
    /// The end of its order to the kernel.
    Order,
    /// The next of its instants.
    Instant,
    /// Nothing: it has ended.
    Over,
}

/// Why a task takes a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It was added, or one of its instants has come, perhaps while it waits for something else.
    Instant,
    /// The event for which it waited.
    Event,
    /// Its order is over.
    Over(Pumped),
}

/// Takes the next step of the task with this number. If it has to wait on, it repeats for what.
pub type Step = Box<dyn FnMut(usize, Cause) -> Next + Send>;

/// All tasks of a run.
pub struct Steps {
    shared: Arc<Shared>,
    /// Instants of CLOCK_MONOTONIC, with the task that has something to do then; tasks of one instant in their order.
    due: BTreeSet<(i64, usize)>,
}

struct Shared {
    watch: Watch,
    pumps: Option<Arc<Pumps>>,
    tasks: Mutex<Tasks>,
}

#[derive(Default)]
struct Tasks {
    tasks: Vec<Task>,
    /// The task of each descriptor that is watched.
    by_fd: HashMap<RawFd, usize>,
}

struct Task {
    /// None: it has ended.
    step: Option<Step>,
    /// The descriptor of whose events the kernel tells. After one it tells of no more until it is asked again; to take
    /// the descriptor out would be a system call more.
    watched: Option<RawFd>,
    /// Whether the task waits for an event of it.
    waits: bool,
}

impl Steps {
    /// `pumps` take the orders of tasks, if the kernel moves data by itself.
    pub fn new(pumps: Option<Pumps>) -> Result<Self> {
        let shared = Shared {
            watch: Watch::new()?,
            pumps: pumps.map(Arc::new),
            tasks: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            due: BTreeSet::new(),
        })
    }

    /// Those that take the orders of tasks.
    pub fn pumps(&self) -> Option<Arc<Pumps>> {
        self.shared.pumps.clone()
    }

    /// Adds a task that has something to do at each of these instants; with none, it takes its first step now.
    pub fn add(&mut self, instants: &[i64], step: Step) -> Result<()> {
        let mut tasks = lock(&self.shared.tasks);
        let number = tasks.tasks.len();
        tasks.tasks.push(Task {
            step: Some(step),
            watched: None,
            waits: false,
        });
        self.due.extend(instants.iter().map(|&at| (at, number)));
        match instants.is_empty() {
            true => tasks.advance(number, Cause::Instant, &self.shared.watch),
            false => Ok(()),
        }
    }

    /// Starts the threads, if there are tasks.
    pub fn start(self) -> Result<()> {
        if lock(&self.shared.tasks).tasks.is_empty() {
            return Ok(());
        }
        let (shared, due) = (Arc::clone(&self.shared), self.due);
        if let Some(pumps) = &shared.pumps {
            shared.watch.add(pumps.as_raw_fd(), EpollFlags::EPOLLIN)?;
        }
        if !due.is_empty() {
            spawn("instants".into(), move || {
                for (at_ns, number) in due {
                    // Sleeping takes a nanosecond even if the instant has come.
                    if monotonic_ns() < at_ns {
                        sleep_until(at_ns);
                    }
                    let mut tasks = lock(&shared.tasks);
                    if tasks
                        .advance(number, Cause::Instant, &shared.watch)
                        .is_err()
                    {
                        return;
                    }
                }
            })?;
        }
        let shared = self.shared;
        spawn("events".into(), move || while shared.serve().is_ok() {})?;
        Ok(())
    }
}

impl Shared {
    fn serve(&self) -> Result<()> {
        for (fd, _) in self.watch.wait()? {
            let mut tasks = lock(&self.tasks);
            match &self.pumps {
                Some(pumps) if pumps.as_raw_fd() == fd => {
                    for (number, pumped) in pumps.over()? {
                        tasks.advance(number, Cause::Over(pumped), &self.watch)?;
                    }
                }
                _ => tasks.event(fd, &self.watch)?,
            }
        }
        Ok(())
    }
}

impl Tasks {
    /// Takes the step of the task that waits for this event, if it still does: it may have ended, or an instant may have
    /// come first.
    fn event(&mut self, fd: RawFd, watch: &Watch) -> Result<()> {
        match self.by_fd.get(&fd) {
            Some(&number) if std::mem::take(&mut self.tasks[number].waits) => {
                self.advance(number, Cause::Event, watch)
            }
            _ => Ok(()),
        }
    }

    fn advance(&mut self, number: usize, cause: Cause, watch: &Watch) -> Result<()> {
        let task = &mut self.tasks[number];
        let Some(step) = &mut task.step else {
            return Ok(());
        };
        match step(number, cause) {
            Next::Event(fd, flags) => self.watch(number, fd, flags, watch)?,
            Next::Order | Next::Instant => task.waits = false,
            Next::Over => {
                task.step = None;
                if let Some(fd) = task.watched.take() {
                    self.by_fd.remove(&fd);
                }
            }
        }
        Ok(())
    }

    fn watch(&mut self, number: usize, fd: RawFd, flags: EpollFlags, watch: &Watch) -> Result<()> {
        let task = &mut self.tasks[number];
        let once = flags | EpollFlags::EPOLLONESHOT;
        let waited = std::mem::replace(&mut task.waits, true);
        match task.watched.replace(fd) {
            Some(before) if before == fd && waited => return Ok(()),
            Some(before) if before == fd => return watch.again(fd, once),
            Some(before) => {
                self.by_fd.remove(&before);
                watch.remove(before)?;
            }
            None => {}
        }
        self.by_fd.insert(fd, number);
        watch.add(fd, once)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    /// A task that takes a byte at each event, and tells why it was called, with its number.
    fn taking(
        steps: &mut Steps,
        instants: &[i64],
        bytes: usize,
    ) -> Result<(PipeWriter, Receiver<(usize, Cause)>)> {
        let (mut reader, writer): (PipeReader, PipeWriter) = pipe()?;
        let (tell, told) = channel();
        let mut left = bytes;
        let step = move |number, cause| {
            let _ = tell.send((number, cause));
            if cause == Cause::Event {
                let _ = reader.read_exact(&mut [0]);
                left -= 1;
            }
            match left {
                0 => Next::Over,
                _ => Next::Event(reader.as_raw_fd(), EpollFlags::EPOLLIN),
            }
        };
        steps.add(instants, Box::new(step))?;
        Ok((writer, told))
    }

    #[test]
    fn a_task_is_called_once_for_each_event_for_which_it_waits() -> Result<()> {
        let mut steps = Steps::new(None)?;
        let (_silent, not_told) = taking(&mut steps, &[], 1)?;
        let (mut writer, told) = taking(&mut steps, &[], 3)?;
        steps.start()?;
        assert_eq!(told.recv()?, (1, Cause::Instant));
        for _ in 0..3 {
            assert!(told.try_recv().is_err(), "no event, no call");
            writer.write_all(&[0])?;
            assert_eq!(told.recv_timeout(SOON)?, (1, Cause::Event));
        }
        assert!(
            told.recv_timeout(SOON).is_err(),
            "it has ended, and is gone"
        );
        assert_eq!(not_told.try_iter().count(), 1, "when it was added");
        Ok(())
    }

    #[test]
    fn an_instant_does_not_end_the_wait_for_an_event() -> Result<()> {
        let mut steps = Steps::new(None)?;
        let now = monotonic_ns();
        let (mut writer, told) = taking(&mut steps, &[now, now + 2_000_000], 1)?;
        steps.start()?;
        assert_eq!(told.recv_timeout(SOON)?, (0, Cause::Instant));
        assert_eq!(told.recv_timeout(SOON)?, (0, Cause::Instant));
        writer.write_all(&[0])?;
        assert_eq!(told.recv_timeout(SOON)?, (0, Cause::Event));
        Ok(())
    }

    #[test]
    fn a_descriptor_may_be_that_of_an_ended_task() -> Result<()> {
        let mut steps = Steps::new(None)?;
        let (mut first, told_first) = taking(&mut steps, &[], 1)?;
        let shared = Arc::clone(&steps.shared);
        first.write_all(&[0])?;
        shared.serve()?;
        assert_eq!(told_first.try_iter().count(), 2, "added, and an event");
        let (mut second, told) = taking(&mut steps, &[], 1)?;
        second.write_all(&[0])?;
        shared.serve()?;
        assert_eq!(told.try_iter().last(), Some((1, Cause::Event)));
        Ok(())
    }
}

//! Work that waits for instants and descriptors, all of it in two threads: one sleeps until the next instant, the other
//! waits for descriptors. A flow whose data the kernel moves has only a few steps between long waits, for which two
//! threads of its own would take more memory than its connection.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use nix::sys::epoll::EpollFlags;

use super::threads::{lock, spawn};
use super::watch::Watch;
use crate::time::{monotonic_ns, sleep_until};

/// A task's reason to wait; the instants for which it was added count in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// An event of a descriptor.
    Event(RawFd, EpollFlags),
    /// The next of its instants.
    Instant,
    /// Nothing: it has ended.
    Over,
}

/// Takes the next step of a task. It may be called early, and then repeats what it waits for.
pub type Step = Box<dyn FnMut() -> Next + Send>;

/// All tasks of a run.
pub struct Steps {
    shared: Arc<Shared>,
    /// Instants of CLOCK_MONOTONIC, with the task that has something to do then; tasks of one instant in their order.
    due: BTreeSet<(i64, usize)>,
}

struct Shared {
    watch: Watch,
    tasks: Mutex<Tasks>,
}

#[derive(Default)]
struct Tasks {
    /// None: it has ended.
    steps: Vec<Option<Step>>,
    waiting: Vec<Option<RawFd>>,
    /// The task that waits for a descriptor.
    by_fd: HashMap<RawFd, usize>,
}

impl Steps {
    pub fn new() -> Result<Self> {
        let shared = Shared {
            watch: Watch::new()?,
            tasks: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            due: BTreeSet::new(),
        })
    }

    /// Adds a task that has something to do at each of these instants; with none, it takes its first step now.
    pub fn add(&mut self, instants: &[i64], step: Step) -> Result<()> {
        let mut tasks = lock(&self.shared.tasks);
        let number = tasks.steps.len();
        tasks.steps.push(Some(step));
        tasks.waiting.push(None);
        self.due.extend(instants.iter().map(|&at| (at, number)));
        match instants.is_empty() {
            true => tasks.advance(number, &self.shared.watch),
            false => Ok(()),
        }
    }

    /// Starts the threads, if there are tasks.
    pub fn start(self) -> Result<()> {
        if lock(&self.shared.tasks).steps.is_empty() {
            return Ok(());
        }
        let (shared, due) = (Arc::clone(&self.shared), self.due);
        if !due.is_empty() {
            spawn("instants".into(), move || {
                for (at_ns, number) in due {
                    // Sleeping takes a nanosecond even if the instant has come.
                    if monotonic_ns() < at_ns {
                        sleep_until(at_ns);
                    }
                    if lock(&shared.tasks).advance(number, &shared.watch).is_err() {
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
            // An earlier step of this batch may have ended the wait.
            if let Some(&number) = tasks.by_fd.get(&fd) {
                tasks.advance(number, &self.watch)?;
            }
        }
        Ok(())
    }
}

impl Tasks {
    fn advance(&mut self, number: usize, watch: &Watch) -> Result<()> {
        let Some(step) = self.steps[number].as_mut() else {
            return Ok(());
        };
        let next = step();
        let fd = match next {
            Next::Event(fd, _) => Some(fd),
            Next::Instant | Next::Over => None,
        };
        let before = std::mem::replace(&mut self.waiting[number], fd);
        if before != fd {
            if let Some(fd) = before {
                self.by_fd.remove(&fd);
                watch.remove(fd)?;
            }
            if let Next::Event(fd, flags) = next {
                self.by_fd.insert(fd, number);
                watch.add(fd, flags)?;
            }
        }
        if next == Next::Over {
            self.steps[number] = None;
        }
        Ok(())
    }
}

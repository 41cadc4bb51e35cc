//! Threads of generators, and what they share with the run's own.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use nix::sys::signal::SigSet;

const STACK_BYTES: usize = 64 * 1024;

/// A thread of a generator. Signals are not for it: the end of some child would wake it where it sleeps in the kernel.
pub fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    thread::Builder::new()
        .name(name)
        .stack_size(STACK_BYTES)
        .spawn(|| {
            let _ = SigSet::all().thread_block();
            work();
        })
        .context("cannot start a thread")
}

/// A generator's threads never panic while they hold a lock.
pub fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

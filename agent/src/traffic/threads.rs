//! Threads of generators, and locks that they share with the run's thread.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use nix::sys::signal::SigSet;

const STACK_BYTES: usize = 64 * 1024;

/// Starts a thread of a generator. It blocks all signals: otherwise the end of some child would wake it while it sleeps
/// in the kernel.
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

/// Locks a mutex. A generator's threads never panic while they hold a lock.
pub fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

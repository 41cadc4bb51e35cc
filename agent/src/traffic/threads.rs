//! Threads of generators, and locks that they share with the run's thread.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use nix::sys::signal::SigSet;

const STACK_BYTES: usize = 64 * 1024;
/// Enough for cryptography. Only what is used takes memory.
const DEEP_STACK_BYTES: usize = 1024 * 1024;

/// Starts a thread of a generator. It blocks all signals: otherwise the end of some child would wake it while it sleeps
/// in the kernel.
pub fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    spawn_with(STACK_BYTES, name, work)
}

/// Starts a thread as `spawn` does, for work that needs more of a stack.
pub fn spawn_deep(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    spawn_with(DEEP_STACK_BYTES, name, work)
}

fn spawn_with(
    stack_bytes: usize,
    name: String,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>> {
    thread::Builder::new()
        .name(name)
        .stack_size(stack_bytes)
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

//! The run's clock: nanoseconds of CLOCK_MONOTONIC.

use std::sync::{Mutex, PoisonError};

use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Nanoseconds since the machine booted.
pub fn monotonic_ns() -> i64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |t| t.tv_sec() * 1_000_000_000 + t.tv_nsec())
}

/// How far CLOCK_REALTIME, in which the kernel stamps packets, is ahead of CLOCK_MONOTONIC.
pub fn realtime_offset_ns() -> i64 {
    let real = clock_gettime(ClockId::CLOCK_REALTIME)
        .map_or(0, |t| t.tv_sec() * 1_000_000_000 + t.tv_nsec());
    real - monotonic_ns()
}

/// Sleeps until an instant of `monotonic_ns`; returns at once when it has passed.
pub fn sleep_until(ns: i64) {
    let when = nix::sys::time::TimeSpec::new(ns / 1_000_000_000, ns % 1_000_000_000);
    while clock_nanosleep(
        ClockId::CLOCK_MONOTONIC,
        ClockNanosleepFlags::TIMER_ABSTIME,
        &when,
    ) == Err(nix::errno::Errno::EINTR)
    {}
}

/// How late timers of a run's schedule are.
static LATENESS: Mutex<Lateness> = Mutex::new(Lateness {
    timers: 0,
    late: 0,
    max_ns: 0,
});

/// A timer that fires later than this counts as late.
const LATE_NS: i64 = 1_000_000;

/// Timers of a run's schedule so far, those of them that were late, and the worst since it was asked before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lateness {
    pub timers: u64,
    pub late: u64,
    pub max_ns: i64,
}

/// Sleeps until an instant of the run's schedule, and notes how late it is then.
pub fn wait_until(ns: i64) {
    sleep_until(ns);
    let late_ns = monotonic_ns() - ns;
    let mut all = LATENESS.lock().unwrap_or_else(PoisonError::into_inner);
    all.timers += 1;
    all.late += u64::from(late_ns > LATE_NS);
    all.max_ns = all.max_ns.max(late_ns);
}

/// What `wait_until` has noted.
pub fn take_lateness() -> Lateness {
    let mut all = LATENESS.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = *all;
    all.max_ns = 0;
    taken
}

/// Timers of this thread, and of all that it starts, fire when they are due and not up to 50 µs later.
pub fn exact_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0, 0, 0) };
}

/// This thread goes before all others that want the processor, if we may ask for that (CAP_SYS_NICE). Whether it does.
pub fn go_first() -> bool {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: the structure outlives the call; 0 means this thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &first) == 0 }
}

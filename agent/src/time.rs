//! The run's clock: nanoseconds of CLOCK_MONOTONIC.

use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{self, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Difference between this program's clocks and the machine's, set by a test only: nodes that are namespaces of one
/// machine share its clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Skew {
    /// The program's clock is ahead by this at `since_ns` of the machine's clock …
    offset_ns: i64,
    since_ns: i64,
    /// … and is faster by this share.
    drift: f64,
}

static SKEW: OnceLock<Skew> = OnceLock::new();

impl Skew {
    fn apply(self, ns: i64) -> i64 {
        ns + self.offset_ns + ((ns - self.since_ns) as f64 * self.drift) as i64
    }

    fn invert(self, ns: i64) -> i64 {
        let passed = ns - self.offset_ns - self.since_ns;
        self.since_ns + (passed as f64 / (1.0 + self.drift)).round() as i64
    }
}

/// Sets, for tests only, how many nanoseconds this program's clocks are ahead from now on, and how many parts in a
/// million they gain (`"OFFSET_NS DRIFT_PPM"`).
pub fn skew_clocks(words: &str) -> Result<()> {
    let (offset, drift) = words.split_once(' ').context("two numbers")?;
    let skew = Skew {
        offset_ns: offset.parse().context("offset in ns")?,
        since_ns: raw_ns(ClockId::CLOCK_MONOTONIC),
        drift: drift.parse::<f64>().context("drift in ppm")? / 1e6,
    };
    let _ = SKEW.set(skew);
    Ok(())
}

fn raw_ns(clock: ClockId) -> i64 {
    clock_gettime(clock).map_or(0, |t| t.tv_sec() * 1_000_000_000 + t.tv_nsec())
}

/// Nanoseconds since the machine booted.
pub fn monotonic_ns() -> i64 {
    let ns = raw_ns(ClockId::CLOCK_MONOTONIC);
    SKEW.get().map_or(ns, |skew| skew.apply(ns))
}

/// How far CLOCK_REALTIME, in which the kernel stamps packets, is ahead of CLOCK_MONOTONIC.
pub fn realtime_offset_ns() -> i64 {
    raw_ns(ClockId::CLOCK_REALTIME) - raw_ns(ClockId::CLOCK_MONOTONIC)
}

/// Converts the kernel's packet timestamps (CLOCK_REALTIME) to instants of `monotonic_ns`.
pub struct Stamps {
    ahead_ns: i64,
}

impl Stamps {
    pub fn new() -> Self {
        Self {
            ahead_ns: realtime_offset_ns(),
        }
    }

    pub fn monotonic_ns(&self, stamp_ns: i64) -> i64 {
        let ns = stamp_ns - self.ahead_ns;
        SKEW.get().map_or(ns, |skew| skew.apply(ns))
    }
}

/// Sleeps until an instant of `monotonic_ns`; returns at once when it has passed.
pub fn sleep_until(ns: i64) {
    let ns = SKEW.get().map_or(ns, |skew| skew.invert(ns));
    let when = TimeSpec::new(ns / 1_000_000_000, ns % 1_000_000_000);
    while clock_nanosleep(
        ClockId::CLOCK_MONOTONIC,
        ClockNanosleepFlags::TIMER_ABSTIME,
        &when,
    ) == Err(nix::errno::Errno::EINTR)
    {}
}

/// A timer that expires at an instant of CLOCK_MONOTONIC, exactly: sleeping and poll() may end later, by the
/// nanosecond of `exact_timers` and by a thousandth of poll()'s timeout (select_estimate_accuracy).
pub fn timer_at(ns: i64) -> Result<TimerFd> {
    let timer = TimerFd::new(timerfd::ClockId::CLOCK_MONOTONIC, TimerFlags::empty())?;
    let at = TimeSpec::new(ns / 1_000_000_000, ns % 1_000_000_000);
    timer.set(
        Expiration::OneShot(at),
        TimerSetTimeFlags::TFD_TIMER_ABSTIME,
    )?;
    Ok(timer)
}

/// Lateness of the timers of a run's schedule.
static LATENESS: Mutex<Lateness> = Mutex::new(Lateness {
    timers: 0,
    late: 0,
    max_ns: 0,
});

/// A timer that fires later than this counts as late.
const LATE_NS: i64 = 1_000_000;

/// Number of timers of a run's schedule so far, number of late ones, and the largest lateness since the last query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lateness {
    pub timers: u64,
    pub late: u64,
    pub max_ns: i64,
}

/// Sleeps until an instant of the run's schedule, and records how late it wakes up.
pub fn wait_until(ns: i64) {
    sleep_until(ns);
    let late_ns = monotonic_ns() - ns;
    let mut all = LATENESS.lock().unwrap_or_else(PoisonError::into_inner);
    all.timers += 1;
    all.late += u64::from(late_ns > LATE_NS);
    all.max_ns = all.max_ns.max(late_ns);
}

/// Takes the lateness that `wait_until` has recorded.
pub fn take_lateness() -> Lateness {
    let mut all = LATENESS.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = *all;
    all.max_ns = 0;
    taken
}

/// Makes timers of this thread and of all that it starts fire when they are due, rather than up to 50 µs later.
pub fn exact_timers() {
    // It fails only on kernels without this setting.
    let _ = nix::sys::prctl::set_timerslack(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_differs_is_read_and_slept_by_alike() {
        let skew = Skew {
            offset_ns: -7_000_000_000,
            since_ns: 5_000_000_000,
            drift: 100e-6,
        };
        assert_eq!(skew.apply(15_000_000_000), 8_001_000_000);
        assert_eq!(skew.invert(8_001_000_000), 15_000_000_000);
        assert!(skew_clocks("1").is_err() && skew_clocks("x 1").is_err());
    }
}

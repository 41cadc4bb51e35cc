//! The thread that asks the kernel: at each sampling instant it takes one raw dump and passes it on. It neither decodes
//! nor writes, so no slow disk or reader can delay it.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use anyhow::{Context, Result};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signalfd::SignalFd;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

use netwarp_records::netlink::Netlink;
use netwarp_records::sockets::request;

/// Number of bytes that may wait for the writer; beyond that, samples are left out until it has caught up.
const MAX_WAITING: usize = 256 << 20;

/// One dump of the sockets.
pub struct Sample {
    /// Time since the watch began.
    pub time_ns: i64,
    /// The kernel's answers (`netlink::messages`).
    pub bytes: Vec<u8>,
}

/// The request, and its instants.
pub struct Plan {
    pub states: u32,
    pub bytecode: Vec<u8>,
    pub interval_ns: i64,
    pub duration_ns: Option<i64>,
}

impl Plan {
    /// Number of instants at which a sample is due: at the beginning, and after each interval that ends before the end.
    fn instants(&self) -> i64 {
        self.duration_ns.map_or(i64::MAX, |duration| {
            duration / self.interval_ns + i64::from(duration % self.interval_ns > 0)
        })
    }

    /// The instant after this one that a sampler who is done after so long does not miss. After the end none is missed.
    fn next(&self, number: i64, elapsed_ns: i64) -> i64 {
        (elapsed_ns / self.interval_ns).clamp(number + 1, self.instants())
    }
}

/// Counts of a watch.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub samples: u64,
    /// Instants without a sample because the machine was too busy, or the last dump was not over.
    pub missed: u64,
    /// Instants without a sample because the writer was too far behind.
    pub unwritten: u64,
    /// The longest delay of a sample after its instant.
    pub latest_ns: i64,
    pub end: End,
}

/// The reason for the end.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum End {
    #[default]
    Duration,
    Signal,
    /// The writer or the viewer has ended.
    Stop,
    /// The reader of the pipe has gone.
    ReaderGone,
}

/// The channel of samples to their writer, and the one that returns their buffers.
pub struct Outlet {
    pub samples: Sender<Sample>,
    pub buffers: Receiver<Vec<u8>>,
    pub waiting: Arc<AtomicUsize>,
}

/// Descriptors that end the watch early.
pub struct Ends<'a> {
    pub signals: &'a SignalFd,
    /// Readable when the writer or the viewer has ended.
    pub stop: BorrowedFd<'a>,
    /// The output pipe, whose reader may go.
    pub pipe: Option<BorrowedFd<'a>>,
}

/// Samples until the duration is over or something ends it.
pub fn run(netlink: &mut Netlink, plan: &Plan, outlet: &Outlet, ends: &Ends) -> Result<Tally> {
    let mut tally = Tally::default();
    let begin = monotonic_ns();
    let instants = plan.instants();
    let mut number = 0; // of the instant that is next due
    while number < instants {
        let due = begin + number * plan.interval_ns;
        if let Some(end) = ends.wait_until(due)? {
            tally.end = end;
            return Ok(tally);
        }
        if outlet.waiting.load(Ordering::Relaxed) > MAX_WAITING {
            tally.unwritten += 1;
        } else {
            let now = monotonic_ns();
            tally.latest_ns = tally.latest_ns.max(now - due);
            let mut bytes = outlet.buffers.try_recv().unwrap_or_default();
            bytes.clear();
            netlink
                .dump_into(request(plan.states, true, &plan.bytecode), &mut bytes)
                .context("the kernel does not report its sockets")?;
            outlet.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
            let sample = Sample {
                time_ns: now - begin,
                bytes,
            };
            if outlet.samples.send(sample).is_err() {
                return Ok(tally);
            }
            tally.samples += 1;
        }
        let next = plan.next(number, monotonic_ns() - begin);
        tally.missed += (next - number - 1) as u64;
        number = next;
    }
    // The last sample's interval belongs to the duration.
    if let Some(duration) = plan.duration_ns {
        tally.end = ends.wait_until(begin + duration)?.unwrap_or_default();
    }
    Ok(tally)
}

/// Nanoseconds of CLOCK_MONOTONIC.
fn monotonic_ns() -> i64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |t| t.tv_sec() * 1_000_000_000 + t.tv_nsec())
}

impl Ends<'_> {
    /// Sleeps until an instant of `monotonic_ns`, unless the watch ends earlier.
    fn wait_until(&self, due: i64) -> Result<Option<End>> {
        loop {
            let left = (due - monotonic_ns()).max(0);
            let mut all = vec![
                PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.stop, PollFlags::POLLIN),
            ];
            all.extend(self.pipe.map(|p| PollFd::new(p, PollFlags::empty())));
            let timeout = TimeSpec::new(left / 1_000_000_000, left % 1_000_000_000);
            let ready = match ppoll(&mut all, Some(timeout), None) {
                Err(nix::errno::Errno::EINTR) => continue,
                other => other.context("poll")?,
            };
            if ready == 0 && monotonic_ns() >= due {
                return Ok(None);
            }
            let all_ends = [End::Signal, End::Stop, End::ReaderGone];
            if let Some(at) = all.iter().position(|fd| fd.any() == Some(true)) {
                return Ok(Some(all_ends[at]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(interval_ns: i64, duration_ns: Option<i64>) -> Plan {
        Plan {
            states: 0,
            bytecode: Vec::new(),
            interval_ns,
            duration_ns,
        }
    }

    #[test]
    fn instants_lie_before_the_end() {
        assert_eq!(plan(2, Some(1_000)).instants(), 500);
        assert_eq!(plan(3, Some(1_000)).instants(), 334);
        assert_eq!(plan(3, Some(1)).instants(), 1);
        assert_eq!(plan(3, None).instants(), i64::MAX);
    }

    #[test]
    fn what_comes_after_the_end_is_not_missed() {
        let plan = plan(2, Some(1_000));
        assert_eq!(plan.next(0, 1), 1);
        assert_eq!(
            plan.next(0, 7),
            3,
            "the instant 3 is at 6, and its sample can be taken late"
        );
        assert_eq!(plan.next(498, 1_000), 500);
        assert_eq!(plan.next(499, 5_000), 500);
    }
}

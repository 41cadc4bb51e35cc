//! The threads of a watch, and its end: this one samples, one writes, one draws.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle};

use anyhow::{Context, Result, anyhow};
use arrow_schema::ArrowError;
use nix::sys::eventfd::EventFd;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::error::WatchError;
use super::sampler::{self, End, Ends, Outlet, Plan, Tally};
use super::view::View;
use super::writer::{Inlet, Writer};
use netwarp_records::netlink::Netlink;

fn watched() -> SigSet {
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
        .into_iter()
        .collect()
}

/// Opens a descriptor for signals that end the watch, for all threads. Called before there are threads.
pub fn signals() -> Result<SignalFd> {
    watched().thread_block()?;
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    SignalFd::with_flags(&watched(), flags).context("signalfd")
}

/// Watches until the end. No tally: the reader of `pipe` has gone, so that no report is printed.
pub fn run(
    netlink: &mut Netlink,
    plan: &Plan,
    writer: Writer,
    view: Option<View>,
    signals: &SignalFd,
    pipe: Option<BorrowedFd>,
) -> Result<(Option<Tally>, Writer)> {
    let stop = Arc::new(EventFd::new()?);
    let waiting = Arc::new(AtomicUsize::new(0));
    let (to_writer, samples) = channel();
    let (to_sampler, buffers) = channel();
    let inlet = Inlet {
        samples,
        buffers: to_sampler,
        waiting: Arc::clone(&waiting),
    };
    let outlet = Outlet {
        samples: to_writer,
        buffers,
        waiting,
    };
    let viewer = view.map(|view| draw(view, &stop)).transpose()?;
    let thread = write(writer, inlet, &stop)?;
    let ends = Ends {
        signals,
        stop: stop.as_fd(),
        pipe,
    };
    // It needs few microseconds of each interval, and a busy machine must not delay it.
    go_first();
    let tally = sampler::run(netlink, plan, &outlet, &ends);
    drop(outlet);
    // A second interruption ends the wait for the writer.
    while matches!(signals.read_signal(), Ok(Some(_))) {}
    watched().thread_unblock()?;
    let (written, writer) = thread
        .join()
        .map_err(|_| anyhow!("the writer broke down"))?;
    if let Some(viewer) = viewer {
        let drawn = viewer
            .join()
            .map_err(|_| anyhow!("the viewer broke down"))?;
        drawn
            .map_err(|e| WatchError::Environment(format!("cannot draw on this terminal: {e:#}")))?;
    }
    match written {
        Err(e) if reader_gone(&e) => Ok((None, writer)),
        Err(e) => Err(WatchError::Environment(format!("cannot write any more: {e:#}")).into()),
        Ok(()) => {
            let tally = tally?;
            Ok(((tally.end != End::ReaderGone).then_some(tally), writer))
        }
    }
}

/// Gives this thread priority over all others, if permitted (CAP_SYS_NICE).
fn go_first() {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: the structure outlives the call; 0 means this thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &first) };
}

fn write(
    mut writer: Writer,
    inlet: Inlet,
    stop: &Arc<EventFd>,
) -> Result<JoinHandle<(Result<()>, Writer)>> {
    let stop = Arc::clone(stop);
    let thread = Builder::new().name("writer".to_string()).spawn(move || {
        let result = writer.run(&inlet);
        writer.sinks.clear(); // the viewer ends with its keeper
        let _ = stop.write(1); // the sampler may have ended already
        (result, writer)
    })?;
    Ok(thread)
}

fn draw(view: View, stop: &Arc<EventFd>) -> Result<JoinHandle<Result<()>>> {
    let stop = Arc::clone(stop);
    let thread = Builder::new().name("viewer".to_string()).spawn(move || {
        let result = view.run();
        let _ = stop.write(1);
        result
    })?;
    Ok(thread)
}

fn reader_gone(error: &anyhow::Error) -> bool {
    let io = error
        .chain()
        .filter_map(|e| e.downcast_ref::<std::io::Error>())
        .any(|e| e.kind() == ErrorKind::BrokenPipe);
    let arrow = |e: &ArrowError| matches!(e, ArrowError::IoError(_, io) if io.kind() == ErrorKind::BrokenPipe);
    io || error.downcast_ref().is_some_and(arrow)
}

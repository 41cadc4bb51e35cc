//! `media`: a stream of a call. Frames leave at even intervals, each as one or more datagrams. The rate is constant, or
//! follows Google Congestion Control (`gcc/`), to which the receiver reports arrivals (`feedback.rs`).

mod control;
mod feedback;
mod gcc;
mod reporter;
mod source;

use std::sync::{Arc, Mutex};

use anyhow::Result;

use self::control::Control;
use self::reporter::Reporter;
use self::source::Source;
use super::fields::MediaFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::threads::{lock, spawn};
use super::udp::{Sent, Sink, Sockets};
use crate::time::wait_until;

/// A source and its sink, or the one of them on this machine.
struct Media {
    sent: Option<Arc<Mutex<Sent>>>,
    sink: Option<End>,
}

/// The receiving end of a constant, and of an adaptive stream.
enum End {
    Silent(Sink),
    Reporting(Arc<Mutex<Reporter>>),
}

/// Opens both sockets and starts both threads.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let flow = setup.flow;
    let fields: MediaFields = flow.fields()?;
    let sockets = Sockets::open(setup)?;
    let mut media = Media {
        sent: None,
        sink: None,
    };
    if let Some(socket) = sockets.source {
        let control = match fields.adaptive {
            true => Some(Control::new(setup, &fields, socket.try_clone()?)),
            false => None,
        };
        let sender = setup.network.backend.timed_sender(socket, setup.t0_ns)?;
        let sent = Arc::new(Mutex::new(Sent::default()));
        media.sent = Some(Arc::clone(&sent));
        let mut source = Source::new(setup, fields.clone(), sender, control, Arc::clone(&sent));
        spawn(format!("from {}", flow.name), move || {
            if let Err(e) = source.run() {
                lock(&sent).error = Some(format!("{e:#}"));
            }
        })?;
    }
    if let Some(socket) = sockets.sink {
        media.sink = Some(match fields.adaptive {
            true => End::Reporting(start_reports(setup, Reporter::new(setup, socket), &fields)?),
            false => End::Silent(Sink::start(setup, socket)?),
        });
    }
    Ok(Box::new(media))
}

/// Starts the thread that reports at even intervals from the flow's start on.
fn start_reports(
    setup: &Setup,
    reporter: Reporter,
    fields: &MediaFields,
) -> Result<Arc<Mutex<Reporter>>> {
    let reporter = Arc::new(Mutex::new(reporter));
    let shared = Arc::clone(&reporter);
    let (start_ns, interval_ns) = (setup.t0_ns + setup.flow.start_ns, fields.feedback_ns);
    spawn(format!("to {}", setup.flow.name), move || {
        for number in 1.. {
            wait_until(start_ns + number * interval_ns);
            if !lock(&shared).report() {
                return;
            }
        }
    })?;
    Ok(reporter)
}

impl Generator for Media {
    /// Frames end with the flow's duration without a stop.
    fn stop(&mut self) {}

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        match &mut self.sink {
            Some(End::Silent(sink)) => sink.collect(stats),
            Some(End::Reporting(reporter)) => lock(reporter).end().add_to(stats),
            None => {}
        }
        if let Some(sent) = &self.sent {
            lock(sent).add_to(stats);
        }
        Ok(())
    }
}

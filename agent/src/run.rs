//! The life of one run: build, prepare the flows, start at t0, sample while it lasts, stop, account.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::lab::Lab;
use crate::network::Network;
use crate::record::{Sampler, exact};
use crate::time::{exact_timers, monotonic_ns, sleep_until};
use crate::traffic;

/// Runs a lab to its end and leaves its tables in `dir`.
pub fn run(lab: &Lab, dir: &Path) -> Result<()> {
    exact_timers();
    let network = Network::build(lab)?;
    let mut sampler = Sampler::open(&network, lab, dir)?;
    let mut flows = traffic::prepare(&network, lab)?;
    let ready = monotonic_ns();
    ensure!(ready < lab.t0_ns, "building the lab took until {ready} ns, past its start at {} ns", lab.t0_ns);

    if lab.record.exact {
        // What the kernel itself has to say about fresh interfaces (MLD reports) is over by then.
        sleep_until(lab.t0_ns - 1_000_000);
        exact::start(lab)?;
    }
    for event in schedule(lab) {
        sleep_until(lab.t0_ns + event.at_ns);
        match event.action {
            Action::Sample => sampler.sample(event.at_ns)?,
            Action::StopFlow(index) => flows.stop(index),
        }
    }
    flows.finish(dir)?;
    sampler.finish()?;
    if lab.record.exact {
        exact::stop()?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Sample,
    StopFlow(usize),
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_ns: i64,
    action: Action,
}

/// Everything that the main thread does, in order of time; the last sample is at the run's end.
fn schedule(lab: &Lab) -> Vec<Event> {
    let mut events = Vec::new();
    if let Some(step) = lab.record.sample_ns.filter(|&step| step > 0) {
        let mut at_ns = 0;
        while at_ns < lab.duration_ns {
            events.push(Event { at_ns, action: Action::Sample });
            at_ns += step;
        }
    }
    events.push(Event { at_ns: lab.duration_ns, action: Action::Sample });
    for (index, flow) in lab.flows.iter().enumerate() {
        let end = (flow.start_ns + flow.duration_ns).min(lab.duration_ns);
        events.push(Event { at_ns: end, action: Action::StopFlow(index) });
    }
    events.sort();
    events
}

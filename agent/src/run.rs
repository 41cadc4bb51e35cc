//! The life of one run: build, prepare the flows, start at t0, sample while it lasts, stop, write what each flow did.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};

use crate::awaited::{Awaited, Held};
use crate::backend::Backend;
use crate::lab::{Change, Lab, Wire};
use crate::machine::changes::Kept;
use crate::network::Network;
use crate::record::{Sampler, captures, wires};
use crate::time::{exact_timers, monotonic_ns, sleep_until, timer_at};
use crate::traffic::{self, Flows};
use crate::tuners::Tuners;

/// Runs a lab to its end and leaves its tables in `dir`. Returns the facts for outcome.json.
pub fn run(backend: &'static dyn Backend, lab: Lab, dir: &Path) -> Result<Map<String, Value>> {
    let mut lab = backend.part(lab)?;
    backend.configure(&lab.machine)?;
    backend.load_modules(&lab.modules)?;
    exact_timers();
    let network = Network::build(&lab, backend)?;
    // From here on, `t0_ns` is an instant of this machine's clock.
    lab.t0_ns += backend.origin_ns(&lab)?;
    let lab = &lab;
    let mut execution = Execution::prepare(&network, lab, dir)?;
    execution.start_recording()?;
    let mut awaited = Awaited::new(backend, lab);
    let mut happened = Vec::new();
    for (number, event) in schedule(lab).into_iter().enumerate() {
        let at_ns = lab.t0_ns + event.at_ns;
        while let Some(held) = awaited.wait_until(at_ns)? {
            execution.happen(&held)?;
            happened.push(held);
        }
        if event.is_exact(lab) {
            // Sleeping until an instant that has come would take a nanosecond.
            if monotonic_ns() < at_ns {
                timer_at(at_ns)?.wait()?;
            }
        } else if !backend.wait_until(at_ns)? {
            ensure!(number > 0, "it was stopped before it began");
            execution.stop_early()?;
            return Ok(execution.finish(dir, STOPPED_PATIENCE_NS)?.facts());
        }
        if number == 0 {
            backend.begun(at_ns)?;
        }
        execution.act(&event)?;
    }
    let mut facts = execution.finish(dir, PATIENCE_NS)?.facts();
    if !happened.is_empty() {
        let moment = |held: &Held| (held.number.to_string(), json!(held.at_ns));
        facts.insert("happened".into(), happened.iter().map(moment).collect());
    }
    Ok(facts)
}

/// An error if a step of the preparation ended `late_ns` after the run's start.
fn ensure_before_start(step: &str, late_ns: i64, backend: &dyn Backend) -> Result<()> {
    let reason = if backend.is_disturbed() {
        ": the machine is busy with other work; run it again"
    } else {
        ""
    };
    ensure!(
        late_ns < 0,
        "{step} {:.3} ms after the run's start{reason}",
        late_ns as f64 / 1e6
    );
    Ok(())
}

/// A network with its flows and its recorders.
pub struct Execution<'a> {
    network: &'a Network,
    lab: &'a Lab,
    tuners: Tuners,
    sampler: Sampler<'a>,
    flows: Flows,
    /// Wires that were changed, by the interface that they leave.
    wires: BTreeMap<u32, Wire>,
}

impl<'a> Execution<'a> {
    /// Prepares everything that happens from t0 on.
    pub fn prepare(network: &'a Network, lab: &'a Lab, dir: &Path) -> Result<Self> {
        let tuners = Tuners::start(network, lab, dir)?;
        let sampler = Sampler::open(network, lab, dir)?;
        let flows = traffic::prepare(network, lab, dir)?;
        captures::open(network, lab)?;
        let late_ns = monotonic_ns() - lab.t0_ns;
        ensure_before_start("the lab was built", late_ns, network.backend)?;
        Ok(Self {
            network,
            lab,
            tuners,
            sampler,
            flows,
            wires: BTreeMap::new(),
        })
    }

    /// Waits until shortly before t0, then starts all records; an error if that took too long.
    pub fn start_recording(&mut self) -> Result<()> {
        // By then the kernel's own packets of new interfaces (MLD reports) have been sent. The wait is the same with
        // and without records, since one more wake-up can move a timer by a nanosecond. On a machine that does other
        // work, records may start late although the flows begin on time.
        let backend = self.network.backend;
        let before_ns = if backend.is_disturbed() {
            100_000_000
        } else {
            1_000_000
        };
        sleep_until(self.lab.t0_ns - before_ns);
        self.tuners.check("before the run began")?;
        if self.lab.record.needs_recorder() {
            backend.start_recording(self.lab)?;
            let late_ns = monotonic_ns() - self.lab.t0_ns;
            ensure_before_start("the records began", late_ns, backend)?;
        }
        Ok(())
    }

    /// Carries out an event that is due now.
    pub fn act(&mut self, event: &Event) -> Result<()> {
        match event.action {
            Action::Sample => self
                .sampler
                .sample(event.at_ns, event.at_ns == self.lab.duration_ns)?,
            Action::StopFlow(index) => self.flows.stop(index),
            Action::Change(index) => self.change(&self.lab.changes[index])?,
        }
        Ok(())
    }

    /// Changes an end of a link now.
    pub fn change(&mut self, change: &Change) -> Result<()> {
        self.network
            .change(self.lab, change, self.wires.get(&change.index))?;
        if let Some(wire) = &change.wire {
            self.wires.insert(change.index, wire.clone());
        }
        Ok(())
    }

    /// Carries out a change whose condition holds now.
    pub fn happen(&mut self, held: &Held) -> Result<()> {
        (held.changes.iter()).try_for_each(|&index| self.change(&self.lab.changes[index]))
    }

    /// Ends the flows at this moment, which was not known before, and takes a last sample.
    pub fn stop_early(&mut self) -> Result<()> {
        let now_ns = monotonic_ns() - self.lab.t0_ns;
        (0..self.lab.flows.len()).for_each(|index| self.flows.stop(index));
        self.sampler.sample(now_ns, true)
    }

    /// Ends the records and writes what each flow did, once programs have reported or `patience_ns` is over. Returns
    /// which files of programs were kept.
    pub fn finish(mut self, dir: &Path, patience_ns: i64) -> Result<Kept> {
        let backend = self.network.backend;
        // While other programs disturb the machine, counters that are read one after another do not belong to one
        // instant.
        if !backend.is_disturbed() {
            wires::write(self.network, self.lab, dir)?;
        }
        if self.lab.record.needs_recorder() {
            backend.stop_recording()?;
        }
        self.tuners.check("before the run did")?;
        self.tuners.stop();
        let patience = monotonic_ns() + patience_ns;
        while self.flows.are_busy() && monotonic_ns() < patience {
            sleep_until(monotonic_ns() + PATIENCE_STEP_NS);
        }
        let kept = self.flows.finish(dir, self.lab.record.kept_bytes)?;
        self.sampler.finish()?;
        Ok(kept)
    }
}

/// Time that programs have after the run's end to finish the reports that they have begun.
pub const PATIENCE_NS: i64 = 30_000_000_000;
/// The same time after a run was stopped: a server may wait for a client that no longer exists.
const STOPPED_PATIENCE_NS: i64 = 2_000_000_000;
const PATIENCE_STEP_NS: i64 = 10_000_000;

/// Variants are in the order in which they happen at one instant.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    Change(usize),
    Sample,
    StopFlow(usize),
}

/// An action that is due at an instant after t0.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub at_ns: i64,
    action: Action,
}

impl Event {
    /// Whether it changes a device, whose frames are exact to the nanosecond.
    fn is_exact(&self, lab: &Lab) -> bool {
        matches!(self.action, Action::Change(index) if lab.is_device(lab.changes[index].index))
    }
}

/// Lists everything that the main thread does, in order of time; the last sample is at the run's end.
pub fn schedule(lab: &Lab) -> Vec<Event> {
    let mut events = Vec::new();
    let step = lab.record.sample_ns;
    if step > 0 {
        let mut at_ns = 0;
        while at_ns < lab.duration_ns {
            events.push(Event {
                at_ns,
                action: Action::Sample,
            });
            at_ns += step;
        }
    }
    events.push(Event {
        at_ns: lab.duration_ns,
        action: Action::Sample,
    });
    for (index, flow) in lab.flows.iter().enumerate() {
        let end = (flow.start_ns + flow.duration_ns).min(lab.duration_ns);
        events.push(Event {
            at_ns: end,
            action: Action::StopFlow(index),
        });
    }
    for (index, change) in lab.changes.iter().enumerate() {
        if change.when.is_none() {
            events.push(Event {
                at_ns: change.at_ns,
                action: Action::Change(index),
            });
        }
    }
    events.sort();
    events
}

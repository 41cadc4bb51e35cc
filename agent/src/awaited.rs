//! Changes of links that wait for a state of a flow (`when`), and happen at the ACK that brings it.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::backend::Backend;
use crate::lab::{Condition, Lab};
use crate::time::{monotonic_ns, timer_at};

/// A change of a scenario: simultaneous changes of one or more ends.
struct Step {
    condition: Condition,
    /// No ACK before this counts.
    from_ns: i64,
    /// Indices of the lab's changes.
    changes: Vec<usize>,
}

/// The changes of one link, each of which waits for its predecessor.
struct Sequence {
    steps: VecDeque<Step>,
    /// The condition of the first step, once its time has come.
    probe: Option<File>,
}

/// A condition that has held.
#[derive(Debug, PartialEq, Eq)]
pub struct Held {
    /// The change's number in the scenario.
    pub number: u32,
    /// The instant of the ACK, from t0.
    pub at_ns: i64,
    /// Indices of the lab's changes that happen now.
    pub changes: Vec<usize>,
}

/// All changes of a lab that wait for a state.
pub struct Awaited {
    backend: &'static dyn Backend,
    t0_ns: i64,
    sequences: Vec<Sequence>,
}

impl Awaited {
    /// The changes in `lab` that have a condition. `t0_ns` of the lab is an instant of this machine's clock.
    pub fn new(backend: &'static dyn Backend, lab: &Lab) -> Self {
        Self {
            backend,
            t0_ns: lab.t0_ns,
            sequences: sequences(lab),
        }
    }

    /// Waits for a condition that holds before an instant of CLOCK_MONOTONIC: None if none does, or no change waits.
    pub fn wait_until(&mut self, at_ns: i64) -> Result<Option<Held>> {
        while !self.is_over() {
            self.set_due()?;
            let next_ns = at_ns.min(self.next_due_ns().unwrap_or(i64::MAX));
            if let Some(index) = self.readable(next_ns)? {
                return self.take(index).map(Some);
            }
            if next_ns == at_ns {
                break;
            }
        }
        Ok(None)
    }

    /// Whether no change waits any more.
    fn is_over(&self) -> bool {
        self.sequences.iter().all(|found| found.steps.is_empty())
    }

    /// Sets the conditions whose time has come.
    fn set_due(&mut self) -> Result<()> {
        let now_ns = monotonic_ns() - self.t0_ns;
        for sequence in &mut self.sequences {
            if let (None, Some(step)) = (&sequence.probe, sequence.steps.front())
                && step.from_ns <= now_ns
            {
                sequence.probe = Some(self.backend.probe(&step.condition)?);
            }
        }
        Ok(())
    }

    /// The next instant at which a condition is to be set.
    fn next_due_ns(&self) -> Option<i64> {
        let waiting = self.sequences.iter().filter(|found| found.probe.is_none());
        let next = waiting
            .filter_map(|found| found.steps.front())
            .map(|step| step.from_ns);
        next.min().map(|from_ns| self.t0_ns + from_ns)
    }

    /// Waits until an instant, or until the condition of a sequence holds: its index.
    fn readable(&self, until_ns: i64) -> Result<Option<usize>> {
        let timer = timer_at(until_ns)?;
        let set: Vec<(usize, &File)> = (self.sequences.iter().enumerate())
            .filter_map(|(index, found)| Some((index, found.probe.as_ref()?)))
            .collect();
        let mut descriptors: Vec<PollFd> = set
            .iter()
            .map(|(_, probe)| PollFd::new(probe.as_fd(), PollFlags::POLLIN))
            .collect();
        descriptors.push(PollFd::new(timer.as_fd(), PollFlags::POLLIN));
        loop {
            match poll(&mut descriptors, PollTimeout::NONE) {
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error).context("waiting for a state"),
                Ok(_) => break,
            }
        }
        let held = descriptors
            .iter()
            .position(|one| one.any().unwrap_or(false));
        Ok(held
            .and_then(|place| set.get(place))
            .map(|(index, _)| *index))
    }

    fn take(&mut self, index: usize) -> Result<Held> {
        let sequence = &mut self.sequences[index];
        let mut text = String::new();
        let mut probe = sequence.probe.take().context("no condition is set")?;
        probe.read_to_string(&mut text)?;
        let step = sequence.steps.pop_front().context("no change waits")?;
        Ok(Held {
            number: step.condition.number,
            at_ns: text.trim().parse::<i64>().context("time of an ACK")? - self.t0_ns,
            changes: step.changes,
        })
    }
}

fn sequences(lab: &Lab) -> Vec<Sequence> {
    let mut of_links: BTreeMap<&str, BTreeMap<u32, Step>> = BTreeMap::new();
    for (index, change) in lab.changes.iter().enumerate() {
        if let Some(condition) = &change.when {
            let steps = of_links.entry(&change.link).or_default();
            let step = steps.entry(condition.number).or_insert_with(|| Step {
                condition: condition.clone(),
                from_ns: change.at_ns,
                changes: Vec::new(),
            });
            step.changes.push(index);
        }
    }
    let of_link = |steps: BTreeMap<u32, Step>| Sequence {
        steps: steps.into_values().collect(),
        probe: None,
    };
    of_links.into_values().map(of_link).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Result<Lab> {
        Ok(serde_json::from_str(include_str!("../testdata/lab.json"))?)
    }

    #[test]
    fn the_ends_of_a_link_change_together() -> Result<()> {
        let lab = example()?;
        let found = sequences(&lab);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].steps.len(), 1);
        assert_eq!(found[0].steps[0].changes.len(), 2);
        Ok(())
    }

    #[test]
    fn changes_of_one_link_wait_for_each_other() -> Result<()> {
        let mut lab = example()?;
        let mut later: Vec<_> = (lab.changes.iter())
            .filter(|change| change.when.is_some())
            .cloned()
            .collect();
        for when in later.iter_mut().filter_map(|change| change.when.as_mut()) {
            when.number += 1;
        }
        // The numbers decide, whatever the order in the lab.
        lab.changes.splice(0..0, later);
        let found = sequences(&lab);
        let numbers: Vec<u32> = found[0]
            .steps
            .iter()
            .map(|step| step.condition.number)
            .collect();
        assert_eq!((found.len(), numbers.len()), (1, 2));
        assert_eq!(numbers[0] + 1, numbers[1]);
        Ok(())
    }
}

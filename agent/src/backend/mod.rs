//! The differences between engines while a lab runs. A backend is a type in its own file that implements `Backend`, and
//! a line in `BACKENDS`; everything else in the agent is common to all engines.

mod base;
mod host;
mod packet_socket;
mod pump;
mod ssh;
mod uml;

use anyhow::{Context, Result};

pub use base::{Backend, Charge, Costs, Departure, TimedSender, Wiring};
pub use host::{NAME as HOST, NAME_PREFIX as HOST_NAME_PREFIX, confine_programs};
pub use pump::{Pump, PumpEnd, Pumps};
pub use ssh::{NAME as SSH, STOP as STOP_RUN, Signal as StartSignal, connect as connect_ssh};

/// All backends.
const BACKENDS: &[&dyn Backend] = &[&uml::Uml, &host::Host, &ssh::Ssh];

/// Name of the backend whose machine starts the agent as its first program.
pub const DEFAULT: &str = uml::NAME;

/// Finds the backend of an engine.
pub fn find(name: &str) -> Result<&'static dyn Backend> {
    let known = || BACKENDS.iter().map(|b| b.name()).collect::<Vec<_>>();
    BACKENDS
        .iter()
        .find(|backend| backend.name() == name)
        .copied()
        .with_context(|| {
            format!(
                "this agent has no engine {name:?}; it has {}",
                known().join(", ")
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_is_not_known_is_refused_with_those_that_are() {
        assert_eq!(find(DEFAULT).map(|b| b.name()).ok(), Some(DEFAULT));
        let refused = find("umm")
            .err()
            .map(|e| format!("{e:#}"))
            .unwrap_or_default();
        assert!(refused.starts_with("this agent has no engine \"umm\"; it has "));
    }
}

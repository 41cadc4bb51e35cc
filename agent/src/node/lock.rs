//! A lock for one lab at a time on a machine. If the state that a killed lab saved is found, the machine is restored first.

use std::fs;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::state::State;

const PLACE: &str = "/run/netwarp-node";
const STATE: &str = "/run/netwarp-node/state.json";
/// Names in the abstract namespace of unix(7), which is one of the machine's network and leaves no file: the lock, and
/// the prefix of the name that says who holds it.
const LOCK: &str = "netwarp-node";
const OWNER: &str = "netwarp-node of ";

/// Ownership of this machine, which lasts until all processes that hold the lock have ended.
pub struct Lock {
    _lock: UnixDatagram,
    _owner: Option<UnixDatagram>,
}

impl Lock {
    /// Takes the machine for a session; `whose` is the message for another session that finds the machine taken. Restores
    /// the machine first after a session that was killed; the sentence returned reports that.
    pub fn take(whose: &str) -> Result<(Self, Option<String>)> {
        let lock = match bind(LOCK) {
            Err(e) if e.kind() == ErrorKind::AddrInUse => {
                bail!("another lab is running on this machine: {}", owner())
            }
            bound => bound.context("cannot lock this machine")?,
        };
        // Only for the message to others, so a name that is too long for an address does not matter.
        let owner = bind(&format!("{OWNER}{whose}")).ok();
        let note = restore_left()?;
        Ok((
            Self {
                _lock: lock,
                _owner: owner,
            },
            note,
        ))
    }

    /// Saves the state to restore before it is changed.
    pub fn remember(&self, state: &State) -> Result<()> {
        fs::create_dir_all(PLACE).with_context(|| format!("cannot create {PLACE}"))?;
        let part = format!("{STATE}.part");
        fs::write(&part, serde_json::to_string(state)?).context(part.clone())?;
        fs::rename(&part, STATE).context(STATE)
    }
}

fn bind(name: &str) -> std::io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// The session whose lab is running, by the name that it gave itself.
fn owner() -> String {
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let named = sockets
        .lines()
        .find_map(|line| line.split_once(&format!("@{OWNER}")));
    named
        .map_or("nothing is known about it", |(_, whose)| whose)
        .trim()
        .to_string()
}

fn restore_left() -> Result<Option<String>> {
    let Ok(text) = fs::read_to_string(STATE) else {
        return Ok(None);
    };
    let state: State = serde_json::from_str(&text).with_context(|| {
        format!("an earlier agent was killed here, and what it has left in {STATE} cannot be read: restore the network \
                 by hand and remove that file")
    })?;
    let failed = state.restore();
    if !failed.is_empty() {
        bail!(
            "an earlier agent was killed here, and its changes cannot be undone: {}",
            failed.join("; ")
        );
    }
    remove_dir(&state.dir);
    forget();
    Ok(Some(
        "an earlier agent was killed here; its changes have been undone".to_string(),
    ))
}

/// Removes a run's directory, if its name shows that it is one of netwarp's.
pub fn remove_dir(dir: &Path) {
    let name = dir.file_name().map(|n| n.to_string_lossy().into_owned());
    if name.is_some_and(|name| name.starts_with("netwarp-")) {
        let _ = fs::remove_dir_all(dir);
    }
}

/// Removes the saved state: the machine is restored.
pub fn forget() {
    let _ = fs::remove_file(STATE);
    let _ = fs::remove_dir(PLACE);
}

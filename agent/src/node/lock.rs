//! A lock for one lab at a time on a machine. If a killed lab is found, the machine is restored first.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::state::State;

const PLACE: &str = "/run/netwarp-node";
const LOCK: &str = "/run/netwarp-node/lock";
const STATE: &str = "/run/netwarp-node/state.json";

/// Ownership of this machine, which lasts until all processes that hold the lock have ended.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the machine for a session; `whose` is what another session is told if it finds the machine taken. Restores
    /// the machine first after a session that was killed; the sentence returned reports that.
    pub fn take(whose: &str) -> Result<(Self, Option<String>)> {
        let mut file = loop {
            fs::create_dir_all(PLACE).with_context(|| format!("cannot create {PLACE}"))?;
            let opened = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(LOCK);
            let mut file = match opened {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                opened => opened.with_context(|| format!("cannot open {LOCK}"))?,
            };
            // SAFETY: flock takes two integers and touches no memory.
            if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
                let mut by = String::new();
                let _ = file.read_to_string(&mut by);
                bail!("another lab is running on this machine: {}", by.trim());
            }
            // The previous holder may have removed the file between opening and locking.
            let same = fs::metadata(LOCK).is_ok_and(|now| {
                file.metadata()
                    .is_ok_and(|own| (own.dev(), own.ino()) == (now.dev(), now.ino()))
            });
            if same {
                break file;
            }
        };
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(whose.as_bytes())?;
        let note = restore_left()?;
        Ok((Self { _file: file }, note))
    }

    /// Saves the state to restore before it is changed.
    pub fn remember(&self, state: &State) -> Result<()> {
        let part = format!("{STATE}.part");
        fs::write(&part, serde_json::to_string(state)?).context(part.clone())?;
        fs::rename(&part, STATE).context(STATE)
    }

    /// Removes the saved state: the machine is restored.
    pub fn forget(&self) {
        let _ = fs::remove_file(STATE);
    }

    /// Removes the lock and all other files.
    pub fn release(self) {
        self.forget();
        let _ = fs::remove_file(LOCK);
        let _ = fs::remove_dir(PLACE);
    }
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
            "an earlier agent was killed here, and what it has changed cannot be restored: {}",
            failed.join("; ")
        );
    }
    remove_dir(&state.dir);
    let _ = fs::remove_file(STATE);
    Ok(Some(
        "an earlier agent was killed here; what it had changed is as it was".to_string(),
    ))
}

/// Removes a run's directory, if its name shows that it is one of netwarp's.
pub fn remove_dir(dir: &Path) {
    let name = dir.file_name().map(|n| n.to_string_lossy().into_owned());
    if name.is_some_and(|name| name.starts_with("netwarp-")) {
        let _ = fs::remove_dir_all(dir);
    }
}

/// Removes the state and the lock of a session that is gone.
pub fn forget_all() {
    for file in [STATE, LOCK] {
        let _ = fs::remove_file(file);
    }
    let _ = fs::remove_dir(PLACE);
}

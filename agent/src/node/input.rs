//! Orders of netwarp, each a line of JSON.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

/// netwarp sends a sign of life every second, so a silent connection is broken.
const SILENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Order {
    /// Only says that netwarp is there.
    Alive {},
    /// Read the clock.
    Clock {},
    Check(Box<Check>),
    Prepare(Box<Prepare>),
    /// The run begins at this instant of the node's clock.
    Start {
        t0_ns: i64,
    },
    /// The run ends now, with its records so far.
    Stop {},
    /// Send what was recorded.
    Fetch {},
    End {},
}

/// Asks whether this machine can be this node, without any change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub node: String,
    /// Interfaces by the names of links.
    pub interfaces: BTreeMap<String, String>,
    /// None: only the machine is described.
    pub lab: Option<Value>,
    /// The question for `host-probe`.
    pub kernel: Value,
    pub programs: Vec<String>,
    pub search_path: String,
}

/// Sets up this node's part of the run's lab.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepare {
    pub node: String,
    pub interfaces: BTreeMap<String, String>,
    /// run.json
    pub run: Value,
    /// Paths that programs of the lab may read if they exist; names that end in `*` are prefixes
    pub read: Vec<String>,
    pub search_path: String,
}

impl Prepare {
    /// Lists what programs may read, by the names that exist here.
    pub fn readable(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for path in &self.read {
            match path.strip_suffix('*') {
                Some(begin) => found.extend(beginning_with(Path::new(begin))),
                None => found.push(path.into()),
            }
        }
        found
    }
}

fn beginning_with(begin: &Path) -> Vec<PathBuf> {
    let (Some(place), Some(name)) = (begin.parent(), begin.file_name()) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().as_bytes().starts_with(name.as_bytes()))
        .map(|entry| entry.path())
        .collect()
}

/// Standard input.
pub struct Input {
    bytes: Vec<u8>,
    heard: Instant,
    closed: bool,
}

impl Input {
    pub fn open() -> Self {
        Self {
            bytes: Vec::new(),
            heard: Instant::now(),
            closed: false,
        }
    }

    /// Takes the next complete order.
    pub fn next_order(&mut self) -> Result<Option<Order>> {
        let Some(end) = self.bytes.iter().position(|&byte| byte == b'\n') else {
            return Ok(None);
        };
        let line: Vec<u8> = self.bytes.drain(..=end).collect();
        serde_json::from_slice(&line)
            .map(Some)
            .context("an order that this agent does not know")
    }

    /// Whether nothing more can come.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether nothing has come for too long. Asked only when nothing waits to be taken, since the session may have
    /// been busy.
    pub fn is_silent(&self) -> bool {
        self.heard.elapsed() > SILENCE
    }

    /// Reads what has arrived.
    pub fn fill(&mut self) -> Result<()> {
        let mut bytes = vec![0; 1 << 16];
        // SAFETY: the pointer and the length are those of the vector. The buffer of std::io::stdin would hide input
        // from poll().
        let got = unsafe { libc::read(0, bytes.as_mut_ptr().cast(), bytes.len()) };
        match usize::try_from(got) {
            Ok(0) => self.closed = true,
            Ok(got) => {
                self.heard = Instant::now();
                self.bytes.extend_from_slice(&bytes[..got]);
            }
            Err(_) => match std::io::Error::last_os_error() {
                e if e.kind() == std::io::ErrorKind::Interrupted => {}
                e if e.kind() == std::io::ErrorKind::WouldBlock => {}
                _ => self.closed = true,
            },
        }
        Ok(())
    }
}

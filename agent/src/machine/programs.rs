//! The root of the programs of a lab's flows: as a command of the user's own has it (root.rs), one for all of them, with a
//! directory for each, which is kept.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use super::RUN_DIR;
use super::changes::{self, Kept};
use super::program::HOME;
use super::root::{self, Inside, Layers};

/// Where each has its directory.
const PLACE: &str = "/lab";
/// Under the run directory: what they left there.
const FILES: &str = "files";

pub struct ProgramRoot {
    namespace: File,
    layers: Layers,
}

impl ProgramRoot {
    /// With a directory for each of these programs, in a lab of these nodes.
    pub fn make(names: &[String], nodes: Vec<String>) -> Result<Self> {
        let layers = Layers::make("flows")?;
        let inside = Inside {
            nodes,
            directories: names.iter().map(|name| Self::directory(name)).collect(),
            modules: root::built_in_modules()?,
            run_dir: true,
            readable: root::readable()?,
            ..Inside::default()
        };
        // A thread of its own, since it is the caller that changes its root.
        let (namespace, layers) = std::thread::spawn(move || -> Result<(File, Layers)> {
            root::enter(Path::new(HOME), &layers, &inside)?;
            let namespace = File::open("/proc/thread-self/ns/mnt").context("a mount namespace")?;
            Ok((namespace, layers))
        })
        .join()
        .map_err(|_| anyhow!("the thread that made a root died"))??;
        Ok(Self { namespace, layers })
    }

    pub fn namespace(&self) -> &File {
        &self.namespace
    }

    /// Where the program of this name starts.
    pub fn directory(name: &str) -> PathBuf {
        Path::new(PLACE).join(name)
    }

    /// Copies what the programs left in their directories, at most `room` bytes.
    pub fn keep(&self, room: u64) -> Result<Kept> {
        let from = self.layers.upper.join(PLACE.trim_start_matches('/'));
        changes::keep(&from, &Path::new(RUN_DIR).join(FILES), room)
    }
}

//! The root of the programs of a lab's flows: a root as for a user's command (root.rs), shared by all, with a directory
//! for each program, which is kept.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use super::RUN_DIR;
use super::changes::{self, Kept};
use super::program::HOME;
use super::root::{self, Inside, Layers};

/// Parent of the programs' directories.
const PLACE: &str = "/lab";
/// Directory of their kept files, in the run directory.
const FILES: &str = "files";

pub struct ProgramRoot {
    namespace: File,
    layers: Layers,
}

impl ProgramRoot {
    /// Makes a root with a directory for each of these programs, in a lab of these nodes.
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
        // A new thread does this, since its own root changes.
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

    /// Directory in which the program of this name starts.
    pub fn directory(name: &str) -> PathBuf {
        Path::new(PLACE).join(name)
    }

    /// Copies what the programs left in their directories, at most `room` bytes.
    pub fn keep(&self, room: u64) -> Result<Kept> {
        let from = self.layers.upper.join(PLACE.trim_start_matches('/'));
        changes::keep(&from, &Path::new(RUN_DIR).join(FILES), room)
    }
}

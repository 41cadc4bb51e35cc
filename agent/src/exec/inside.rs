//! The files that a session finds in a lab: the names of its nodes, a command to reach them, and its shell's startup
//! file.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::control;
use crate::lab::{Exec, Lab};
use crate::machine::root::{self, Inside};
use crate::time::realtime_offset_ns;

/// A command that runs another command in a node.
const ON: &str = include_str!("on.sh");
const ON_PLACE: &str = "/usr/local/bin/on";
/// Startup file of an interactive shell.
const BEGINNING: &str = include_str!("shell.bash");
const BEGINNING_PLACE: &str = "/run/netwarp-shell.bash";
/// Names resolve to addresses of both versions: IPv4 first, as in flows (gai.conf(5)).
const CHOICE: &str = "precedence ::ffff:0:0/96 100\n";
const CHOICE_PLACE: &str = "/etc/gai.conf";

impl Inside {
    /// The files of a session, or of a command without a network, of the run in `dir`.
    pub fn of(lab: &Lab, exec: &Exec, dir: &Path) -> Result<Self> {
        let mut inside = Self {
            directories: vec![exec.directory.clone().into()],
            modules: root::built_in_modules()?,
            readable: root::readable()?,
            ..Self::default()
        };
        if lab.nodes.is_empty() {
            return Ok(inside);
        }
        let start_us = (lab.t0_ns + realtime_offset_ns()) / 1000;
        let beginning = format!("NETWARP_START_US={start_us}\n{BEGINNING}");
        inside.files = vec![
            (PathBuf::from(CHOICE_PLACE), CHOICE.to_string(), false),
            (PathBuf::from(ON_PLACE), ON.to_string(), true),
            (PathBuf::from(BEGINNING_PLACE), beginning, false),
        ];
        if exec.control {
            let lab = std::fs::read_to_string(dir.join("run.json"))?;
            inside
                .files
                .push((PathBuf::from(control::LAB_PLACE), lab, false));
        }
        inside.nodes = lab.nodes.iter().map(|node| node.name.clone()).collect();
        for end in lab.links.iter().flat_map(|link| &link.ends) {
            for address in &end.addresses {
                let address = address.split('/').next().unwrap_or(address);
                inside.hosts += &format!("{address}\t{}\n", end.node);
            }
        }
        Ok(inside)
    }
}

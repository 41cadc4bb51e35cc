//! Switches the kernel's own recorder (linux/netwarp.h) on and off.

use anyhow::{Context, Result};

use crate::lab::Lab;

const CONTROL: &str = "/proc/netwarp";

/// From now on: every root queue of every node's interface, every ACK and every arrival, if the lab asks for it, and
/// the captures.
pub fn start(lab: &Lab) -> Result<()> {
    let mut text = String::new();
    if lab.record.exact {
        text += "acks\narrivals\n";
        for end in lab.links.iter().flat_map(|l| &l.ends) {
            text += &format!("interface {}\n", end.index);
        }
    }
    write(&(text + "start\n"))
}

/// Whether a lab needs the recorder.
pub fn is_wanted(lab: &Lab) -> bool {
    lab.record.exact || !lab.record.captures.is_empty()
}

/// Ends recording and hands the last records to the guard.
pub fn stop() -> Result<()> {
    write("stop\n")
}

fn write(text: &str) -> Result<()> {
    std::fs::write(CONTROL, text).context("this kernel has no exact recorder (/proc/netwarp)")
}

//! Captures: taps in the kernel (linux/netwarp.h) whose packets the guard writes as pcap files.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::lab::{Capture, Lab};
use crate::network::Network;

const CONTROL: &str = "/proc/netwarp_capture";

/// Opens every capture of the lab; packets come once recording is on.
pub fn open(network: &Network, lab: &Lab) -> Result<()> {
    for (id, capture) in lab.record.captures.iter().enumerate() {
        let place = || {
            format!(
                "capture at {}:{} ({})",
                capture.link, capture.node, capture.interface
            )
        };
        let filter = capture
            .filter
            .as_deref()
            .map(compile)
            .transpose()
            .with_context(place)?
            .unwrap_or_default();
        let line = line(id, capture, &filter);
        network
            .node(&capture.node)?
            .run(|| std::fs::write(CONTROL, line))?
            .with_context(place)?;
    }
    Ok(())
}

fn line(id: usize, capture: &Capture, filter: &str) -> String {
    format!("{id} {} {} {filter}", capture.index, capture.snap)
}

/// A filter in tcpdump's words as classic BPF in numbers, made by tcpdump itself.
fn compile(words: &str) -> Result<String> {
    let output = Command::new("tcpdump")
        .args(["-ddd", "-y", "EN10MB", "--", words])
        .output()
        .context("cannot start tcpdump")?;
    ensure!(
        output.status.success(),
        "tcpdump refused {words:?}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" "))
}

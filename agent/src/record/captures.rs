//! Captures: compiles their filters; the backend takes the packets.

use anyhow::{Context, Result, ensure};

use crate::lab::Lab;
use crate::network::Network;
use crate::tools;

/// Opens every capture of the lab; packets are captured once recording is on.
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
        network
            .node(&capture.node)?
            .run(|| network.backend.open_capture(id, capture, &filter))?
            .with_context(place)?;
    }
    Ok(())
}

/// Compiles a filter in tcpdump's syntax by tcpdump to classic BPF, in numbers.
fn compile(words: &str) -> Result<String> {
    let output = tools::command("tcpdump")
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

//! Shapers and queues at a node's interfaces, through tc itself: every discipline and option works. tc's lines are in
//! the lab, made by `python/netwarp/lab/tc.py`; here they are run. What needs no tc is elsewhere: the rate of a shaper
//! changes over netlink (`shaper.rs`), as do wires (`wire.rs`), and tc does not know opportunities (`opportunity.rs`).

use std::io::Write;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::nodes::Network;
use super::site::Site;
use crate::backend::Backend;
use crate::lab::{Change, End};
use crate::tools;

/// Runs the tc lines of the chosen ends of a node in one `tc -batch`. A line that tc refuses fails the run: otherwise the lab would have
/// another queue than it says.
pub fn apply(network: &Network, node: &Site, chosen: impl Fn(&End) -> bool) -> Result<()> {
    let lines: Vec<String> = node
        .ends
        .iter()
        .filter(|(own, _)| chosen(own))
        .flat_map(|(own, _)| own.tc.clone())
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    network
        .node(node.name)?
        .run(|| batch(network.backend, node.name, &lines))?
}

/// Changes the queue at an end of a node.
pub fn change(network: &Network, change: &Change) -> Result<()> {
    network
        .node(&change.node)?
        .run(|| batch(network.backend, &change.node, &change.tc))?
}

/// Runs tc lines in the namespace of this thread, which is that of `node`. Random numbers that a discipline draws when
/// it is made depend only on the node and the lines.
fn batch(backend: &dyn Backend, node: &str, lines: &[String]) -> Result<()> {
    let first = lines.first().map_or("", String::as_str);
    backend.name_randomness(&format!("tc {node} {first}"))?;
    let mut child = tools::command("tc")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start tc")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all((lines.join("\n") + "\n").as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    bail!("{}", explain(lines, &message))
}

/// Combines tc's message with the line that it is about ("Command failed -:3" counts from 1).
fn explain(lines: &[String], message: &str) -> String {
    let number = message
        .lines()
        .find_map(|l| l.strip_prefix("Command failed -:"))
        .and_then(|n| n.trim().parse::<usize>().ok());
    let line = number
        .and_then(|n| lines.get(n.wrapping_sub(1)))
        .map_or("(unknown line)", String::as_str);
    let words: Vec<&str> = message
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with("Command failed"))
        .take(3)
        .collect();
    format!("tc refused `{line}`: {}", words.join(" / "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refused_line_is_named() {
        let message =
            "What is \"limmit\"?\nUsage: ... pfifo [ limit PACKETS ]\nCommand failed -:2\n";
        let text = explain(&["qdisc add a", "qdisc add b"].map(String::from), message);
        assert!(
            text.starts_with("tc refused `qdisc add b`: What is \"limmit\"?"),
            "{text}"
        );
    }
}

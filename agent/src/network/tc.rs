//! Sets up shapers and queues at a node's interfaces by tc itself, so every discipline and option works. Only this
//! module makes tc's arguments; `python/netwarp/lab/tc.py` prints the same for people, and a test compares what both
//! build.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::nodes::Network;
use super::site::Site;
use crate::backend::Backend;
use crate::lab::{End, NewQueue};

/// Environment variable of everything in a lab that names the directory of tc's tables and plug-ins.
pub const DIRECTORY: &str = crate::machine::TC_DIRECTORY;

/// Runs all of a node's tc lines in one `tc -batch`. A line that tc refuses fails the run: otherwise the lab would have
/// another queue than it says.
pub fn apply(network: &Network, node: &Site) -> Result<()> {
    let lines: Vec<String> = node
        .ends
        .iter()
        .flat_map(|(own, _)| end_lines(own))
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    network
        .node(node.name)?
        .run(|| batch(network.backend, node.name, &lines))?
}

/// Changes the queue at an end in place, or replaces it.
pub fn change(network: &Network, end: &End, queue: &NewQueue) -> Result<()> {
    let verb = if queue.in_place { "change" } else { "replace" };
    let line = queue_line(
        verb,
        &end.interface,
        queue.handle,
        &queue.kind,
        &queue.options,
    );
    network
        .node(&end.node)?
        .run(|| batch(network.backend, &end.node, &[line]))?
}

/// Makes tc's lines for an interface. The rate is an htb. The discipline of opportunities, which tc does not know,
/// exists already.
fn end_lines(end: &End) -> Vec<String> {
    if let Some(raw) = &end.raw {
        return raw.clone();
    }
    let device = &end.interface;
    let mut lines = Vec::new();
    if let Some(shaper) = &end.shaper {
        let (rate, quantum) = (shaper.rate_bps, shaper.quantum_bytes);
        let burst = shaper.burst_bytes();
        lines.push(format!(
            "qdisc add dev {device} root handle 1: htb default 1"
        ));
        lines.push(format!(
            "class add dev {device} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit burst {burst} cburst {burst} \
             quantum {quantum}"
        ));
    }
    if let Some(queue) = &end.queue {
        lines.push(queue_line(
            "add",
            device,
            queue.handle,
            &queue.kind,
            &queue.options,
        ));
    }
    lines
}

/// Makes the line for a queue in class 1:1, the class of both the shaper and the discipline of opportunities.
fn queue_line(verb: &str, device: &str, handle: u16, kind: &str, options: &[String]) -> String {
    let words = [&[kind.to_string()], options].concat().join(" ");
    format!("qdisc {verb} dev {device} parent 1:1 handle {handle:x}: {words}")
}

/// Runs tc lines in the namespace of this thread, which is that of `node`. Random numbers that a discipline draws when
/// it is made depend only on the node and the lines.
fn batch(backend: &dyn Backend, node: &str, lines: &[String]) -> Result<()> {
    let first = lines.first().map_or("", String::as_str);
    backend.name_randomness(&format!("tc {node} {first}"))?;
    let mut child = Command::new("tc")
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

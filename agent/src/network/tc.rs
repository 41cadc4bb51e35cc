//! The queues at a node's interfaces, in tc's own words, through tc itself: every discipline and option works.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::Network;
use super::site::Site;

/// The variable that names the directory of tc's tables and plug-ins, in the environment of everything in a lab.
pub const DIRECTORY: &str = "TC_LIB_DIR";

/// Runs all of a node's tc lines in one `tc -batch`. A line that tc refuses fails the run: what would be left behind
/// is a queue that nobody asked for.
pub fn apply(network: &Network, node: &Site) -> Result<()> {
    let lines: Vec<&str> = node
        .ends
        .iter()
        .flat_map(|(own, _)| own.tc.iter().map(String::as_str))
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    network.node(node.name)?.run(|| batch(node.name, &lines))?
}

/// Runs tc lines in the namespace of this thread, which is that of `node`. What a discipline draws when it is made
/// depends on the node and the lines alone.
pub fn batch(node: &str, lines: &[&str]) -> Result<()> {
    crate::chance::name(&format!(
        "tc {node} {}",
        lines.first().copied().unwrap_or_default()
    ))?;
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
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    bail!("{}", explain(lines, &said))
}

/// tc's words, with the line that they are about ("Command failed -:3" counts from 1).
fn explain(lines: &[&str], said: &str) -> String {
    let number = said
        .lines()
        .find_map(|l| l.strip_prefix("Command failed -:"))
        .and_then(|n| n.trim().parse::<usize>().ok());
    let line = number
        .and_then(|n| lines.get(n.wrapping_sub(1)))
        .copied()
        .unwrap_or("(unknown line)");
    let words: Vec<&str> = said
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
        let said = "What is \"limmit\"?\nUsage: ... pfifo [ limit PACKETS ]\nCommand failed -:2\n";
        let text = explain(&["qdisc add a", "qdisc add b"], said);
        assert!(
            text.starts_with("tc refused `qdisc add b`: What is \"limmit\"?"),
            "{text}"
        );
    }
}

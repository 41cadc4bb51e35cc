//! Tests in temporary namespaces what this host's kernel can do for a lab: `netwarp-agent host-probe` reads a lab's
//! needs as JSON, and writes what the kernel refuses.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork};
use serde::{Deserialize, Serialize};

use super::enter::{self, Privilege};
use super::mounts;
use crate::network::trials;
use crate::{sysctl, traffic};
use netwarp_records::netlink::Netlink;

/// A lab's needs, by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    qdiscs: Vec<String>,
    congestion_controls: Vec<String>,
    /// Names and values, as a node is given them.
    sysctls: Vec<(String, String)>,
}

/// Refused needs, each with the kernel's reason.
#[derive(Serialize)]
struct Answer {
    privilege: Privilege,
    /// Kinds of interfaces that every lab needs
    interfaces: Vec<(String, String)>,
    qdiscs: Vec<(String, String)>,
    congestion_controls: Vec<(String, String)>,
    sysctls: Vec<(String, String)>,
    /// All congestion controls of this kernel
    available_congestion_controls: Vec<String>,
}

/// Writes the answer to standard output.
pub fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(e) => {
            eprintln!("{e:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let asked: Asked = serde_json::from_reader(std::io::stdin()).context("standard input")?;
    let privilege = enter::namespaces("probe")?;
    // SAFETY: this process has one thread, so the child may do anything that it could.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => match waitpid(child, None)? {
            nix::sys::wait::WaitStatus::Exited(_, 0) => Ok(ExitCode::SUCCESS),
            _ => Ok(ExitCode::FAILURE),
        },
        ForkResult::Child => {
            let answered = mounts::prepare_for_probe()
                .and_then(|()| answer(&asked, privilege))
                .and_then(|a| Ok(serde_json::to_string(&a)?))
                .and_then(|text| Ok(writeln!(std::io::stdout(), "{text}")?));
            if let Err(e) = &answered {
                eprintln!("{e:#}");
            }
            std::process::exit(i32::from(answered.is_err()));
        }
    }
}

fn answer(asked: &Asked, privilege: Privilege) -> Result<Answer> {
    let mut route = Netlink::open(NETLINK_ROUTE)?;
    let interfaces = trials::interfaces(&mut route);
    let qdiscs = if interfaces.is_empty() {
        refused(&asked.qdiscs, |kind| trials::qdisc(&mut route, kind))
    } else {
        Vec::new()
    };
    let sysctls = asked.sysctls.iter().filter_map(|(name, value)| {
        let refusal = sysctl::write_one(name, value).err()?;
        Some((name.clone(), format!("{refusal:#}")))
    });
    Ok(Answer {
        privilege,
        interfaces,
        qdiscs,
        congestion_controls: refused(&asked.congestion_controls, traffic::try_congestion_control),
        sysctls: sysctls.collect(),
        available_congestion_controls: std::fs::read_to_string(
            "/proc/sys/net/ipv4/tcp_available_congestion_control",
        )
        .unwrap_or_default()
        .split_whitespace()
        .map(String::from)
        .collect(),
    })
}

fn refused(names: &[String], mut attempt: impl FnMut(&str) -> Result<()>) -> Vec<(String, String)> {
    names
        .iter()
        .filter_map(|name| Some((name.clone(), format!("{:#}", attempt(name).err()?))))
        .collect()
}

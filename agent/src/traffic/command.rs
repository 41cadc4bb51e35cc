//! `command`: any program.

use anyhow::Result;

use super::fields::CommandFields;
use super::generator::{Generator, Setup};
use super::program::{self, Plan};
use crate::lab::Flow;

/// The scenario's name for it.
pub const TOOL: &str = "command";

pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let flow = setup.flow;
    let fields: CommandFields = flow.fields()?;
    let plan = Plan {
        server: fields.server.map(|words| fill(&words, flow)),
        client: fill(&fields.client, flow),
        ready_port: fields.ready_port,
        owns_sockets: true,
        client_out: setup.dir.join(format!("{}-client.out", flow.name)),
        server_out: setup.dir.join(format!("{}-server.out", flow.name)),
        report: None,
        root: setup.root.cloned(),
    };
    program::prepare(setup, plan)
}

/// Names of a flow's programs, which their output and their directories have.
pub fn program_names(flow: &Flow) -> [String; 2] {
    ["client", "server"].map(|end| format!("{}-{end}", flow.name))
}

/// Replaces `{source}`, `{destination}` and `{port}` in a user's command by the flow's.
fn fill(words: &[String], flow: &Flow) -> Vec<String> {
    words
        .iter()
        .map(|word| {
            word.replace("{source}", &flow.source.to_string())
                .replace("{destination}", &flow.destination.to_string())
                .replace("{port}", &flow.destination_port.to_string())
        })
        .collect()
}

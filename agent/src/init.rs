//! The first program of a lab on every engine: prepares the machine, runs the lab, writes how it ended, ends the
//! machine.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::backend::{self, Backend, Charge};
use crate::constants::LAB_FORMAT;
use crate::exec::{self, Facts};
use crate::lab::{Lab, RunFile};

/// A file in the run directory that the engine may have left there. Deleting it makes room for the outcome if the
/// records have filled the disk.
pub const RESERVE: &str = "reserve";

/// Runs the lab in the run directory of this engine. If the machine belongs to this run, it ends with the lab, even
/// after an error.
pub fn main(engine: &str) -> ExitCode {
    let backend = match backend::find(engine).and_then(|b| b.check().map(|()| b)) {
        Ok(backend) => backend,
        Err(e) => {
            eprintln!("{e:#}");
            return ExitCode::from(2);
        }
    };
    let dir = backend.run_dir();
    let outcome = backend.boot().and_then(|()| run(backend, &dir));
    let charged = backend.charged();
    let told = match &outcome {
        Ok(facts) => with_status("ok", with_charges(facts.clone(), &charged)),
        Err(e) => with_status(
            "failed",
            Facts::from_iter([("reason".into(), format!("{e:#}").into())]),
        ),
    };
    if let Err(e) = write_outcome(&dir, &Value::Object(told).to_string()) {
        complain(&format!("cannot write the outcome: {e}"));
    }
    let code = match outcome {
        Ok(_) => ExitCode::SUCCESS,
        Err(e) => {
            complain(&format!("{e:#}"));
            ExitCode::FAILURE
        }
    };
    backend.end(code)
}

fn write_outcome(dir: &Path, text: &str) -> std::io::Result<()> {
    let path = dir.join("outcome.json");
    std::fs::write(&path, text).or_else(|e| {
        std::fs::remove_file(dir.join(RESERVE)).map_err(|_| e)?;
        std::fs::write(&path, text)
    })
}

/// Prints a message. Unlike `eprintln!`, it does not panic if the console's disk is full.
fn complain(what: &str) {
    let _ = writeln!(std::io::stderr(), "netwarp: {what}");
}

fn with_charges(mut facts: Facts, charged: &[Charge]) -> Facts {
    if !charged.is_empty() {
        facts.insert("charged".into(), serde_json::json!(charged));
    }
    facts
}

fn with_status(status: &str, mut facts: Facts) -> Facts {
    facts.insert("status".into(), status.into());
    facts
}

fn run(backend: &'static dyn Backend, dir: &Path) -> Result<Facts> {
    let lab = read_lab(dir).context("run.json")?;
    ensure!(
        lab.format == LAB_FORMAT,
        "the lab has format {}, this agent executes {LAB_FORMAT}",
        lab.format
    );
    match &lab.exec {
        Some(command) => exec::run(backend, &lab, command, dir),
        None => crate::run::run(backend, lab, dir),
    }
}

fn read_lab(dir: &Path) -> Result<Lab> {
    let text = std::fs::read_to_string(dir.join("run.json"))?;
    let RunFile { lab } = serde_json::from_str(&text)?;
    Ok(lab)
}

//! The socket through which a command changes links of its network, as a scenario's `[[changes]]` do. Each line is a
//! change as the lab has them; the answer is an empty line, or the reason why the change failed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Sender, channel};

use anyhow::{Context, Result};
use serde_json::Value;

use super::Happening;
use crate::lab::Change;

pub const PLACE: &str = "/run/netwarp-control";
/// The lab, for the command.
pub const LAB_PLACE: &str = "/run/netwarp-lab.json";

/// A change that the command asks for, and where its outcome goes.
pub struct Request {
    pub change: Change,
    /// The change as the command wrote it, for the run's records.
    pub written: Value,
    pub answer: Sender<Result<()>>,
}

/// Listens in the root of this thread, for as long as the machine lives.
pub fn listen(requests: Sender<Happening>) -> Result<()> {
    let listener = UnixListener::bind(PLACE).context(PLACE)?;
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that breaks off does not concern the next one.
            let _ = serve(&stream, &requests);
        }
    });
    Ok(())
}

fn serve(stream: &UnixStream, requests: &Sender<Happening>) -> Result<()> {
    let mut answers = stream;
    for line in BufReader::new(stream).lines() {
        let outcome = carry_out(&line?, requests);
        let words =
            outcome.map_or_else(|e| format!("{e:#}").replace('\n', " "), |()| String::new());
        writeln!(answers, "{words}")?;
    }
    Ok(())
}

fn carry_out(line: &str, requests: &Sender<Happening>) -> Result<()> {
    let written: Value = serde_json::from_str(line)?;
    let change = serde_json::from_value(written.clone())?;
    let (answer, outcome) = channel();
    requests.send(Happening::Asked(Box::new(Request {
        change,
        written,
        answer,
    })))?;
    outcome.recv()?
}

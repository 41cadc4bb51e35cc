//! The socket through which a command changes links of its network, as a scenario's `[[changes]]` do. Each line is a
//! change in the lab's form; the answer is an empty line, or the reason why the change failed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::lab::Change;

pub const PLACE: &str = "/run/netwarp-control";
/// The lab, for the command.
pub const LAB_PLACE: &str = "/run/netwarp-lab.json";

/// Listens in the root of this thread, for as long as the machine lives. `carry_out` gets each change, and as the command
/// wrote it.
pub fn listen(carry_out: impl Fn(Change, Value) -> Result<()> + Send + 'static) -> Result<()> {
    let listener = UnixListener::bind(PLACE).context(PLACE)?;
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that breaks off does not concern the next one.
            let _ = serve(&stream, &carry_out);
        }
    });
    Ok(())
}

fn serve(stream: &UnixStream, carry_out: impl Fn(Change, Value) -> Result<()>) -> Result<()> {
    let mut answers = stream;
    for line in BufReader::new(stream).lines() {
        let outcome = read(&line?).and_then(|(change, written)| carry_out(change, written));
        let words =
            outcome.map_or_else(|e| format!("{e:#}").replace('\n', " "), |()| String::new());
        writeln!(answers, "{words}")?;
    }
    Ok(())
}

fn read(line: &str) -> Result<(Change, Value)> {
    let written: Value = serde_json::from_str(line)?;
    Ok((serde_json::from_value(written.clone())?, written))
}

//! Chooses the columns to write.

use super::error::WatchError;
use netwarp_records::sockets::{CONTROLS, Column, FIELDS, IDENTITY, MEMORY, MESSAGE, STATE};

/// The columns of `sockets.arrows` without the node, then the queues, owner and memory of the socket, which the lab's
/// records do not have.
fn known() -> Vec<Column> {
    let numbers = [&STATE]
        .into_iter()
        .chain(FIELDS)
        .chain(CONTROLS)
        .chain(MESSAGE)
        .chain(MEMORY);
    IDENTITY
        .iter()
        .copied()
        .filter(|c| *c != Column::Node)
        .chain(numbers.map(Column::Number))
        .collect()
}

const PROCESS: [Column; 2] = [Column::Process, Column::Pid];
/// The columns that `connection` in `--fields` selects: those that identify a connection, and control connections
/// (`without_control` in store/monitor.py).
const CONNECTION: [&str; 6] = [
    "cookie",
    "source",
    "source_port",
    "destination",
    "destination_port",
    "bytes_sent",
];

/// Returns the columns that are named, or else all; those of the process only `with_processes`.
pub fn choose(names: &[String], with_processes: bool) -> Result<Vec<Column>, WatchError> {
    let mut all = known();
    if names.is_empty() {
        all.extend(PROCESS.into_iter().filter(|_| with_processes));
        return Ok(all);
    }
    all.extend(PROCESS);
    let mut chosen = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        if name == "connection" {
            let group: Vec<Column> = CONNECTION
                .iter()
                .map(|name| find(&all, name))
                .collect::<Result<_, _>>()?;
            // Its members may also be named, for another position.
            let is_named = |column: &Column| {
                names
                    .iter()
                    .any(|name| find(&all, name.trim()).is_ok_and(|named| named == *column))
            };
            chosen.extend(group.into_iter().filter(|column| !is_named(column)));
        } else {
            chosen.push(find(&all, name)?);
        }
    }
    for (at, column) in chosen.iter().enumerate() {
        if chosen[..at].contains(column) {
            return Err(WatchError::Usage(format!(
                "--fields names {} twice",
                column.name()
            )));
        }
    }
    Ok(chosen)
}

/// Finds a column by its name, or by the kernel's name, which lacks the unit: `snd_wnd`, `tcpi_snd_wnd`.
fn find(all: &[Column], name: &str) -> Result<Column, WatchError> {
    if name == "time_s" {
        return Ok(Column::Time);
    }
    let kernels = name.strip_prefix("tcpi_").unwrap_or(name);
    let is_it = |column: &&Column| {
        column
            .name()
            .strip_prefix(kernels)
            .is_some_and(|unit| ["", "_bytes", "_pkts", "_us", "_ms", "_bps"].contains(&unit))
    };
    all.iter().find(is_it).copied().ok_or_else(|| {
        let near = all
            .iter()
            .map(|c| (strsim::damerau_levenshtein(name, c.name()), c.name()))
            .filter(|(distance, _)| *distance <= 3 && *distance < name.len())
            .min()
            .map_or(String::new(), |(_, near)| format!("did you mean {near}? "));
        let names: Vec<&str> = all.iter().map(|c| c.name()).collect();
        WatchError::Usage(format!(
            "--fields: there is no {name:?}; {near}There are: connection {}",
            names.join(" ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_stands_for_what_tells_connections_apart() {
        let names = |text: &[&str]| -> Vec<&str> {
            let given: Vec<String> = text.iter().map(ToString::to_string).collect();
            choose(&given, false)
                .unwrap_or_default()
                .iter()
                .map(|column| column.name())
                .collect()
        };
        assert_eq!(names(&["connection"]), CONNECTION);
        assert_eq!(
            names(&["time_s", "connection", "rtt", "bytes_sent"]),
            [
                "time_ns",
                "cookie",
                "source",
                "source_port",
                "destination",
                "destination_port",
                "rtt_us",
                "bytes_sent",
            ]
        );
        assert!(choose(&["connection".into(), "connection".into()], false).is_err());
    }

    #[test]
    fn names() {
        let all = known();
        let name = |text: &str| find(&all, text).map(Column::name).ok();
        assert_eq!(name("snd_wnd_bytes"), Some("snd_wnd_bytes"));
        assert_eq!(name("tcpi_snd_wnd"), Some("snd_wnd_bytes"));
        assert_eq!(name("time_s"), Some("time_ns"));
        assert_eq!(name("rtt"), Some("rtt_us"));
        assert_eq!(name("snd"), None);
        assert_eq!(name(""), None);
    }
}

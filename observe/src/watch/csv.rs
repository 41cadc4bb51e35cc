//! CSV: a header, then a row for each socket and sample; absent values are empty. Numbers are written digit by digit
//! into one buffer, since formatting makes up most of a row's cost.

use std::io::Write;

use anyhow::Result;

use super::sink::Sink;
use netwarp_records::sockets::{Column, Entry, Width, write_address};

/// Size of the buffer at which rows are written.
const FULL: usize = 1 << 18;

pub struct Csv {
    out: Box<dyn Write + Send>,
    columns: Vec<Column>,
    text: Vec<u8>,
}

impl Csv {
    /// Writes the header. Times are seconds here: `time_s`.
    pub fn begin(mut out: Box<dyn Write + Send>, columns: &[Column]) -> Result<Self> {
        let names: Vec<&str> = columns
            .iter()
            .map(|&c| {
                if c == Column::Time {
                    "time_s"
                } else {
                    c.name()
                }
            })
            .collect();
        writeln!(out, "{}", names.join(","))?;
        out.flush()?;
        Ok(Self {
            out,
            columns: columns.to_vec(),
            text: Vec::with_capacity(2 * FULL),
        })
    }

    fn row(&mut self, entry: &Entry) {
        let socket = &entry.socket;
        for &column in &self.columns {
            let text = &mut self.text;
            match column {
                Column::Number(field) => match socket.read(field) {
                    Some(value) if field.width == Width::Flag => {
                        text.extend_from_slice(if value == 0 { b"false" } else { b"true" });
                    }
                    Some(value) => number(text, value),
                    None => {}
                },
                Column::Time => seconds(text, entry.time_ns),
                Column::Node => quoted(text, entry.node),
                Column::Cookie => number(text, socket.cookie()),
                Column::Source => write_address(text, socket.source()),
                Column::SourcePort => number(text, socket.source_port().into()),
                Column::Destination => write_address(text, socket.destination()),
                Column::DestinationPort => number(text, socket.destination_port().into()),
                Column::CongestionControl => quoted(text, socket.congestion_control()),
                Column::Process => quoted(text, entry.process.as_ref().map_or("", |p| &p.name)),
                Column::Pid => {
                    if let Some(process) = &entry.process {
                        number(text, process.pid.into());
                    }
                }
            }
            text.push(b',');
        }
        if let Some(last) = self.text.last_mut() {
            *last = b'\n';
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.text)?;
        self.text.clear();
        self.out.flush()?;
        Ok(())
    }
}

impl Sink for Csv {
    fn rows(&mut self, entries: &[Entry]) -> Result<()> {
        entries.iter().for_each(|entry| self.row(entry));
        if self.text.len() >= FULL {
            self.flush()?;
        }
        Ok(())
    }

    fn sample_ends(&mut self, _time_ns: i64, caught_up: bool) -> Result<()> {
        if caught_up && !self.text.is_empty() {
            self.flush()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.flush()
    }
}

fn number(text: &mut Vec<u8>, value: u64) {
    text.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Writes seconds with microseconds.
fn seconds(text: &mut Vec<u8>, time_ns: i64) {
    let micros = time_ns.max(0) as u64 / 1000;
    number(text, micros / 1_000_000);
    text.push(b'.');
    let mut rest = itoa::Buffer::new();
    let digits = rest.format(micros % 1_000_000 + 1_000_000).as_bytes();
    text.extend_from_slice(&digits[1..]);
}

/// Writes a name, in quotes if it would be misread.
fn quoted(text: &mut Vec<u8>, name: &str) {
    if name.contains(['"', ',', '\n', '\r']) {
        text.push(b'"');
        text.extend_from_slice(name.replace('"', "\"\"").as_bytes());
        text.push(b'"');
    } else {
        text.extend_from_slice(name.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut text = Vec::new();
        write(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    #[test]
    fn cells() {
        assert_eq!(cell(|t| seconds(t, 12_000_034_999)), "12.000034");
        assert_eq!(cell(|t| seconds(t, 0)), "0.000000");
        assert_eq!(cell(|t| quoted(t, "a,\"b\"")), "\"a,\"\"b\"\"\"");
        assert_eq!(cell(|t| number(t, u64::MAX)), "18446744073709551615");
    }
}

//! The command line of `netwarp watch`.

use std::path::PathBuf;

use super::error::WatchError;

const SECOND_NS: i64 = 1_000_000_000;
const SHORTEST_NS: i64 = SECOND_NS / 1000;
const LONGEST_NS: i64 = 60 * SECOND_NS;

#[derive(clap::Args)]
#[command(
    after_help = "FILTER is in ss's own grammar: 'dport = 5201', 'dst 10.0.0.0/8:443 and ( cc = bbr or sport ge 5000 )'. \
                  Conditions: src, dst HOST[:PORT]; sport, dport = != < <= > >= PORT; state NAME; cc = NAME; \
                  process = NAME; pid = NUMBER; joined by and, or, not and parentheses. docs/watch.md says more.\n\
                  Exit codes: 0 fine, or Ctrl-C where no duration was given; 2 wrong usage; 4 the system does not \
                  permit it; 130 interrupted before the duration was over."
)]
pub struct Options {
    /// Filter of sockets; default: all that are not listening, closed or in TIME-WAIT
    pub filter: Vec<String>,
    /// Time from one sample to the next: 1ms to 60s
    #[arg(short, long, default_value = "1s", value_parser = interval)]
    pub interval: i64,
    /// How long to watch; default: until Ctrl-C
    #[arg(short, long, value_parser = duration)]
    pub duration: Option<i64>,
    /// Network namespace, by its name (`ip netns`), the pid of a process in it, or a file
    #[arg(long, value_name = "NAME|PID|FILE")]
    pub netns: Option<String>,
    /// Write CSV to standard output, or into the file of --output
    #[arg(long)]
    pub csv: bool,
    /// Write an Arrow IPC stream into FILE (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub arrow: Option<PathBuf>,
    /// Write into FILE: CSV if it ends in .csv, else an Arrow IPC stream
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Only these columns, in this order, separated by commas; connection: those that tell connections apart
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub fields: Vec<String>,
    /// Name the processes that hold the sockets (without root, only your own)
    #[arg(short, long)]
    pub processes: bool,
    /// No live table, and nothing on standard error but errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Converts a time with its unit to nanoseconds.
fn duration(text: &str) -> Result<i64, String> {
    let at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let unit_ns = match unit {
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "" => return Err(format!("it lacks a unit: {text}s or {text}ms?")),
        _ => return Err("its unit should be us, ms, s, min or h".to_string()),
    };
    let ns = number
        .parse::<f64>()
        .map_err(|_| "expected a number with a unit")?
        * unit_ns;
    if !(1.0..=1e17).contains(&ns) {
        return Err("expected a time above 0 and below three years".to_string());
    }
    Ok(ns.round() as i64)
}

fn interval(text: &str) -> Result<i64, String> {
    let ns = duration(text)?;
    if (SHORTEST_NS..=LONGEST_NS).contains(&ns) {
        Ok(ns)
    } else {
        Err("an interval is 1ms to 60s".to_string())
    }
}

/// The destination and format of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Csv(Option<PathBuf>),
    Arrow(Option<PathBuf>),
}

impl Options {
    /// The requested targets; a file of `None` is standard output.
    pub fn targets(&self) -> Result<Vec<Target>, WatchError> {
        let file = |path: &PathBuf| (path.as_os_str() != "-").then(|| path.clone());
        let mut targets = Vec::new();
        match &self.output {
            Some(path) if self.csv => targets.push(Target::Csv(file(path))),
            Some(path) => match path.extension().and_then(|e| e.to_str()) {
                Some("csv") => targets.push(Target::Csv(file(path))),
                Some("arrow" | "arrows" | "ipc") => targets.push(Target::Arrow(file(path))),
                _ => {
                    return Err(WatchError::Usage(format!(
                        "--output {}: a file ends in .csv or .arrow; or say --csv, or --arrow FILE",
                        path.display()
                    )));
                }
            },
            None if self.csv => targets.push(Target::Csv(None)),
            None => {}
        }
        targets.extend(self.arrow.iter().map(|path| Target::Arrow(file(path))));
        let to_stdout = |t: &&Target| matches!(t, Target::Csv(None) | Target::Arrow(None));
        if targets.iter().filter(to_stdout).count() > 1 {
            return Err(WatchError::Usage(
                "CSV and Arrow cannot both go to standard output".to_string(),
            ));
        }
        Ok(targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(duration("10ms"), Ok(10_000_000));
        assert_eq!(duration("0.5s"), Ok(500_000_000));
        assert_eq!(duration("2min"), Ok(120 * SECOND_NS));
        for bad in [
            "",
            "10",
            "ms",
            "-1s",
            "1 s",
            "0s",
            "1e3s",
            "5 parsecs",
            "1.2.3s",
            "9999999h",
        ] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert_eq!(interval("1ms"), Ok(SHORTEST_NS));
        assert!(interval("999us").is_err());
        assert!(interval("61s").is_err());
    }
}

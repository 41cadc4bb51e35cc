//! The programs that the agent itself runs in a lab: tc for queues, iperf3 for its flows, tcpdump for filters of
//! captures. They are those of the Python package `netwarp_tools`, with their own loader, libraries and tables, so that
//! a lab does not depend on the host's versions. A scenario's own programs find those of the host, as always. On a
//! machine of an inventory the agent runs that machine's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};

/// tc's environment variable (iproute2, tc/tc_util.c) for the directory of netem's distributions and its plug-ins.
pub const TC_DIRECTORY: &str = "TC_LIB_DIR";

/// Directories in the package: a loader for each program, under the program's name, which is thus the name of its
/// process; the programs; their libraries; netem's distributions and tc's plug-ins.
const LOADERS: &str = "bin";
const PROGRAMS: &str = "programs";
const LIBRARIES: &str = "lib";
const TABLES: &str = "tc";

static PLACE: OnceLock<PathBuf> = OnceLock::new();

/// Settles, once, the directory in which they are found.
pub fn settle(place: PathBuf) {
    let _ = PLACE.set(place);
}

/// The command that starts one of them: its loader with its libraries, or its name if PATH finds it.
pub fn words(name: &str) -> Vec<String> {
    words_in(PLACE.get().map(PathBuf::as_path), name)
}

fn words_in(place: Option<&Path>, name: &str) -> Vec<String> {
    let Some(place) = place else {
        return vec![name.to_string()];
    };
    let path = |folder: &str| place.join(folder).display().to_string();
    vec![
        path(&format!("{LOADERS}/{name}")),
        "--inhibit-cache".to_string(),
        "--library-path".to_string(),
        path(LIBRARIES),
        "--argv0".to_string(),
        name.to_string(),
        path(&format!("{PROGRAMS}/{name}")),
    ]
}

/// A command that starts one of them.
pub fn command(name: &str) -> Command {
    let mut words = words(name).into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    if let Some(place) = PLACE.get() {
        command.env(TC_DIRECTORY, place.join(TABLES));
    }
    command
}

/// The directory of netem's distributions.
pub fn distributions() -> Result<PathBuf> {
    match PLACE.get() {
        Some(place) => Ok(place.join(TABLES)),
        None => std::env::var(TC_DIRECTORY).map(PathBuf::from).context(
            "this machine has no directory of iproute2's distributions, such as /usr/lib/tc",
        ),
    }
}

/// The directory of the distributions and plug-ins of this machine's own tc, if it has one. Debian keeps it with the
/// libraries of the machine's architecture.
pub fn tables_of_the_machine() -> Option<OsString> {
    let architecture = std::env::consts::ARCH;
    let places = [
        format!("/usr/lib/{architecture}-linux-gnu/tc"),
        "/usr/lib/tc".to_string(),
        "/usr/lib64/tc".to_string(),
        "/lib/tc".to_string(),
    ];
    let mut places = places.into_iter().filter(|place| Path::new(place).is_dir());
    places.next().map(OsString::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_started_by_its_own_loader_with_its_own_libraries() {
        assert_eq!(
            words_in(Some(Path::new("/t")), "iperf3").join(" "),
            "/t/bin/iperf3 --inhibit-cache --library-path /t/lib --argv0 iperf3 /t/programs/iperf3"
        );
        assert_eq!(words_in(None, "iperf3"), ["iperf3"]);
    }
}

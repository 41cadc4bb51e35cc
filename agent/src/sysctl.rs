//! Sysctls by name (`net.ipv4.ip_forward`), in the network namespace of this thread.

use std::path::Path;

use anyhow::Result;

use crate::lab::Settings;

/// Sets sysctls in their order.
pub fn write(settings: &Settings) -> Result<()> {
    settings
        .0
        .iter()
        .try_for_each(|(name, value)| write_one(name, value))
}

/// Sets one sysctl.
pub fn write_one(name: &str, value: &str) -> Result<()> {
    let path = Path::new("/proc/sys").join(path_of(name));
    std::fs::write(&path, value).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            anyhow::anyhow!("this kernel has no sysctl {name} that a node can set")
        }
        _ => anyhow::anyhow!("sysctl {name} = {value:?} was refused: {e}"),
    })
}

/// Converts a name as sysctl(8) does: in names of interfaces a slash stands for a dot.
fn path_of(name: &str) -> String {
    let swapped = name.chars().map(|c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    });
    swapped.collect()
}

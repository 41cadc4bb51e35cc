//! The network namespace whose sockets are watched: by name (`ip netns`), by the pid of a process in it, or by file.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Result;
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns};

use super::error::WatchError;

const NAMED: &str = "/run/netns";

/// Enters the namespace with this thread, which must be the only one.
///
/// The kernel requires CAP_SYS_ADMIN, except for a namespace that belongs to a user namespace of the same user
/// (rootless containers, `unshare --user --net`): that is entered first.
pub fn enter(name: &str) -> Result<()> {
    let place = place(name);
    let file = File::open(&place).map_err(|e| missing(name, &place, &e))?;
    let entered = setns(&file, CloneFlags::CLONE_NEWNET).or_else(|refused| match user(name) {
        Some(user) => setns(user, CloneFlags::CLONE_NEWUSER)
            .and_then(|()| setns(&file, CloneFlags::CLONE_NEWNET)),
        None => Err(refused),
    });
    entered.map_err(|e| match e {
        Errno::EINVAL => {
            WatchError::Usage(format!("{} is not a network namespace", place.display()))
        }
        Errno::EPERM => WatchError::Environment(format!(
            "not permitted to enter the network namespace {name}: that takes root (CAP_SYS_ADMIN). \
             Try: sudo netwarp watch --netns {name}"
        )),
        _ => WatchError::Environment(format!("cannot enter the network namespace {name}: {e}")),
    })?;
    Ok(())
}

fn place(name: &str) -> PathBuf {
    if name.contains('/') {
        PathBuf::from(name)
    } else if name.bytes().all(|b| b.is_ascii_digit()) {
        Path::new("/proc").join(name).join("ns/net")
    } else {
        Path::new(NAMED).join(name)
    }
}

/// The user namespace of the process by which the namespace was named.
fn user(name: &str) -> Option<File> {
    let process = name.bytes().all(|b| b.is_ascii_digit());
    process
        .then(|| File::open(Path::new("/proc").join(name).join("ns/user")).ok())
        .flatten()
}

fn missing(name: &str, place: &Path, error: &std::io::Error) -> WatchError {
    if error.kind() == ErrorKind::PermissionDenied {
        return WatchError::Environment(format!(
            "not permitted to open {}: that takes root",
            place.display()
        ));
    }
    if place.starts_with("/proc") && !name.contains('/') {
        return WatchError::Usage(format!("there is no process {name}"));
    }
    if name.contains('/') {
        return WatchError::Usage(format!("cannot open {}: {error}", place.display()));
    }
    let mut known: Vec<String> = std::fs::read_dir(NAMED)
        .map(|d| {
            d.flatten()
                .map(|e| e.file_name().to_string_lossy().into())
                .collect()
        })
        .unwrap_or_default();
    known.sort();
    let known = if known.is_empty() {
        "this machine has no named ones".to_string()
    } else {
        format!("there are {}", known.join(", "))
    };
    WatchError::Usage(format!("there is no network namespace {name:?}; {known}"))
}

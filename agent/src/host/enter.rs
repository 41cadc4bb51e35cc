//! Enters the run's namespaces: user_namespaces(7), network_namespaces(7), pid_namespaces(7).

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid, getegid, geteuid, sethostname};
use serde::Serialize;

use crate::backend::HOST_NAME_PREFIX;

/// Basis for making namespaces: an unprivileged user namespace, if the host allows one, or else root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Privilege {
    UserNamespace,
    Root,
}

const HELP: &str = "let ordinary users make user namespaces (sysctl user.max_user_namespaces above 0, and where these \
                    exist kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0; in a \
                    container, `--security-opt seccomp=unconfined`), or run netwarp as root";

/// Enters new namespaces. The pid namespace applies to the next child.
pub fn namespaces(run: &str) -> Result<Privilege> {
    let (user, group) = (geteuid(), getegid());
    let privilege = match unshare(CloneFlags::CLONE_NEWUSER) {
        Ok(()) => {
            map_ids(user, group).context("cannot map the user into a user namespace")?;
            Privilege::UserNamespace
        }
        Err(_) if user.is_root() => Privilege::Root,
        Err(e) => bail!("this host refuses a user namespace ({e}): {HELP}"),
    };
    let rest = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWIPC;
    match unshare(rest) {
        Ok(()) => {}
        Err(e @ (Errno::EPERM | Errno::EACCES)) => {
            bail!("this host refuses namespaces within a user namespace ({e}): {HELP}")
        }
        Err(e) => bail!("this host refuses mount, network, pid, UTS or IPC namespaces ({e})"),
    }
    sethostname(format!("{HOST_NAME_PREFIX}{run}")).context("cannot name the machine")?;
    Ok(privilege)
}

/// The user who runs netwarp is root in the namespace; no other user is mapped.
fn map_ids(user: Uid, group: Gid) -> Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    Ok(())
}

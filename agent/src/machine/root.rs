//! The root of a command of the user's own (`netwarp exec`): the host's files beneath an overlay that takes all changes,
//! and over it what a small machine has of its own. It is a mount namespace's; the agent's stays as it was.

use std::ffi::CString;
use std::fs::{DirBuilder, create_dir_all};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{chdir, pivot_root};

/// In the agent's own /run, where the command does not see them.
const LAYERS: &str = "/run/layers";
const ROOT: &str = "/run/root";
const UPPER: &str = "upper";
const WORK: &str = "work";

pub const HOSTNAME: &str = "netwarp";

/// What is mounted over the host's files: kind, place, options. A place that the host lacks is made.
const FILE_SYSTEMS: [(&str, &str, &str); 9] = [
    ("proc", "proc", ""),
    ("sysfs", "sys", ""),
    ("cgroup2", "sys/fs/cgroup", ""),
    ("bpf", "sys/fs/bpf", ""),
    ("devtmpfs", "dev", "mode=755"),
    // Terminals of its own: gid 5 is tty's everywhere.
    (
        "devpts",
        "dev/pts",
        "newinstance,ptmxmode=666,mode=620,gid=5",
    ),
    ("tmpfs", "dev/shm", "mode=1777"),
    ("mqueue", "dev/mqueue", ""),
    ("tmpfs", "run", "mode=755"),
];
/// In /dev, for what the kernel does not make by itself.
const LINKS: [(&str, &str); 5] = [
    ("dev/ptmx", "pts/ptmx"),
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
];
/// What everybody may write to.
const SHARED: [&str; 2] = ["run/lock", "run/shm"];
/// The same on every host, since programs ask for names there.
const FILES: [(&str, &str); 3] = [
    (
        "etc/hosts",
        "127.0.0.1\tlocalhost netwarp\n::1\tlocalhost ip6-localhost ip6-loopback\n",
    ),
    ("etc/hostname", "netwarp\n"),
    (
        "etc/resolv.conf",
        "# A machine of its own: nobody answers.\n",
    ),
];
/// What groups of processes can be given shares of.
const CONTROLLERS: &str = "+cpu +memory +pids";

/// Where the changes are: beneath it each changed file has its own path.
pub fn make_layers() -> Result<PathBuf> {
    let layers = Path::new(LAYERS);
    create_dir_all(layers)?;
    create_dir_all(ROOT)?;
    mount_at("tmpfs", layers, "mode=755")?;
    for name in [UPPER, WORK] {
        std::fs::create_dir(layers.join(name))?;
    }
    Ok(layers.join(UPPER))
}

/// Gives the calling thread, and all that it starts, a mount namespace with a root of its own. A `home` that the machine
/// may not read, or that is not there, is an empty one.
pub fn enter(home: &Path) -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS).context("cannot make a mount namespace")?;
    let root = Path::new(ROOT);
    let layers = Path::new(LAYERS);
    let options = format!(
        "lowerdir=/,upperdir={},workdir={}",
        layers.join(UPPER).display(),
        layers.join(WORK).display()
    );
    mount_at("overlay", root, &options)?;
    for (kind, place, options) in FILE_SYSTEMS {
        let place = root.join(place);
        make_place(&place)?;
        mount_at(kind, &place, options)?;
    }
    for (place, target) in LINKS {
        let place = root.join(place);
        let _ = std::fs::remove_file(&place);
        symlink(target, &place).with_context(|| place.display().to_string())?;
    }
    for place in SHARED {
        let place = root.join(place);
        DirBuilder::new().create(&place)?;
        set_mode(&place, 0o1777)?;
    }
    std::fs::write(
        root.join("sys/fs/cgroup/cgroup.subtree_control"),
        CONTROLLERS,
    )
    .context("control groups")?;
    chdir(root)?;
    pivot_root(".", ".").context("cannot change the root")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")?;
    for (place, text) in FILES {
        pin(Path::new("/").join(place), text);
    }
    if std::fs::read_dir(home).is_err() {
        make_place(home)?;
        mount_at("tmpfs", home, "mode=700")?;
    }
    Ok(())
}

/// A directory, unless there is one.
fn make_place(place: &Path) -> Result<()> {
    if place.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(place)
        .with_context(|| place.display().to_string())
}

/// Where the host has another file, or a link that leads elsewhere. On a host without such a directory nobody asks.
fn pin(place: PathBuf, text: &str) {
    let _ = std::fs::remove_file(&place);
    let _ = std::fs::write(&place, text);
}

fn set_mode(place: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::set_permissions(
        place,
        std::fs::Permissions::from_mode(mode),
    )?)
}

fn mount_at(kind: &str, place: &Path, options: &str) -> Result<()> {
    mount(
        Some(kind),
        place,
        Some(kind),
        MsFlags::empty(),
        Some(options),
    )
    .with_context(|| format!("cannot mount {kind} at {}", place.display()))
}

/// The machine's name.
pub fn set_hostname() -> Result<()> {
    let name = CString::new(HOSTNAME)?;
    // SAFETY: the name outlives the call.
    let done = unsafe { libc::sethostname(name.as_ptr(), HOSTNAME.len()) };
    nix::errno::Errno::result(done).context("hostname")?;
    Ok(())
}

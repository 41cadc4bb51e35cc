//! The root file system of a command (`netwarp exec`): the host's files below an overlay that takes all changes, and
//! above it the small machine's own files. It belongs to a mount namespace; that of the agent is unchanged.

use std::ffi::{CString, OsStr};
use std::fs::{DirBuilder, create_dir_all};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{chdir, pivot_root};

use super::{NETNS_DIR, RUN_DIR, TC_DIRECTORY};

/// In the agent's own /run, where the command does not see them.
const LAYERS: &str = "/run/layers-of-";
const ROOT: &str = "/run/root";
const UPPER: &str = "upper";
const WORK: &str = "work";

pub const HOSTNAME: &str = "netwarp";
/// Under the run directory, from the engine: what the kernel has built in. modprobe looks into directories of the
/// host's kernels, and fails for all others.
const BUILT_IN: &str = "modules/built-in";
/// Under the run directory, from the guard: paths with a NUL after each.
pub const READABLE: &str = ".uml/readable";

/// What the machine may read of the host below a home directory, as the guard allows it. No program sees the list,
/// since it names the host's directories.
pub fn readable() -> Result<Vec<PathBuf>> {
    static READ: Mutex<Option<Vec<PathBuf>>> = Mutex::new(None);
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(paths) = read.as_ref() {
        return Ok(paths.clone());
    }
    let place = Path::new(RUN_DIR).join(READABLE);
    let text = std::fs::read(&place).with_context(|| place.display().to_string())?;
    std::fs::remove_file(&place)?;
    let names = text
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty());
    let paths: Vec<PathBuf> = names.map(|name| OsStr::from_bytes(name).into()).collect();
    Ok(read.insert(paths).clone())
}

/// The names of the modules that the kernel has built in, with blanks between.
pub fn built_in_modules() -> Result<String> {
    let path = Path::new(RUN_DIR).join(BUILT_IN);
    std::fs::read_to_string(&path).with_context(|| path.display().to_string())
}

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
const HOSTS: &str = "/etc/hosts";
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
/// Where an empty home is made before it is mounted.
const OTHER_HOME: &str = "/run/home";
const MODPROBE: &str = "/run/modprobe.d";
const PKTGEN: &str = "pktgen";
const PKTGEN_LOAD: &str = "/sys/module/pktgen/parameters/load";
/// Where programs look for netem's distributions that come with iproute2's own build (NeST); distributions have them
/// elsewhere.
const TC_TABLES: &str = "/usr/lib/tc";
/// What groups of processes can be given shares of, as far as the kernel has it on.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

/// Where a root keeps what is changed: below `upper` each changed file has its own path.
pub struct Layers {
    pub upper: PathBuf,
    work: PathBuf,
}

impl Layers {
    /// Those of whom `owner` names, in memory.
    pub fn make(owner: &str) -> Result<Self> {
        let layers = PathBuf::from(format!("{LAYERS}{owner}"));
        create_dir_all(&layers)?;
        create_dir_all(ROOT)?;
        mount_at("tmpfs", &layers, "mode=755")?;
        let made = Self {
            upper: layers.join(UPPER),
            work: layers.join(WORK),
        };
        for path in [&made.upper, &made.work] {
            std::fs::create_dir(path)?;
        }
        Ok(made)
    }
}

/// What is inside beside the host's files.
#[derive(Debug, Default)]
pub struct Inside {
    /// Namespaces that are the nodes of a lab, which `ip netns` finds.
    pub nodes: Vec<String>,
    /// Files of its own, and whether they are programs. Their directories are made.
    pub files: Vec<(PathBuf, String, bool)>,
    /// Lines for /etc/hosts.
    pub hosts: String,
    /// Directories that are there.
    pub directories: Vec<PathBuf>,
    /// Names of modules that the kernel has built in, for which modprobe succeeds.
    pub modules: String,
    /// Whether the run directory is there.
    pub run_dir: bool,
    /// What the machine may read of a home directory of the host, everything under it included.
    pub readable: Vec<PathBuf>,
}

/// Gives the calling thread, and all that it starts, a mount namespace with a root of its own. A `home` that the machine
/// may not read, or that is not there, has nothing in it but what may be read.
pub fn enter(home: &Path, layers: &Layers, inside: &Inside) -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS).context("cannot make a mount namespace")?;
    let root = Path::new(ROOT);
    let options = format!(
        "lowerdir=/,upperdir={},workdir={}",
        layers.upper.display(),
        layers.work.display()
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
    for node in &inside.nodes {
        show_namespace(root, node)?;
    }
    if inside.run_dir {
        bind(
            Path::new(RUN_DIR),
            &root.join(RUN_DIR.trim_start_matches('/')),
        )?;
    }
    share_controllers(root)?;
    chdir(root)?;
    pivot_root(".", ".").context("cannot change the root")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")?;
    for (place, text) in FILES {
        pin(Path::new("/").join(place), text);
    }
    append(Path::new(HOSTS), &inside.hosts)?;
    for (place, text, is_program) in &inside.files {
        make_place(place.parent().unwrap_or(Path::new("/")))?;
        std::fs::write(place, text).with_context(|| place.display().to_string())?;
        set_mode(place, if *is_program { 0o755 } else { 0o644 })?;
    }
    show_distributions();
    create_dir_all(MODPROBE)?;
    let lines: String = inside
        .modules
        .split_whitespace()
        .map(|name| match name {
            // It is there from then on (patch 0047): it has a thread in every network namespace.
            PKTGEN => format!("install {name} echo 1 > {PKTGEN_LOAD}\n"),
            _ => format!("install {name} true\n"),
        })
        .collect();
    std::fs::write(Path::new(MODPROBE).join("netwarp.conf"), lines)?;
    if std::fs::read_dir(home).is_err() {
        empty(home, &inside.readable)?;
    }
    inside.directories.iter().try_for_each(|d| make_place(d))
}

/// Mounts an empty directory over a home, with what may be read below it at its own place. A program, its virtual
/// environment and the directory where it starts are often there.
fn empty(home: &Path, readable: &[PathBuf]) -> Result<()> {
    make_place(home)?;
    let home = home.canonicalize()?;
    let other = Path::new(OTHER_HOME);
    make_place(other)?;
    mount_at("tmpfs", other, "mode=700")?;
    for path in readable {
        let Ok(place) = path.strip_prefix(&home) else {
            continue;
        };
        let place = other.join(place);
        if place.exists() {
            continue; // below another
        }
        if !path.is_dir() {
            make_place(place.parent().unwrap_or(other))?;
            std::fs::File::create(&place)?;
        }
        bind(path, &place)?;
    }
    mount(
        Some(other),
        &home,
        None::<&str>,
        MsFlags::MS_MOVE,
        None::<&str>,
    )
    .with_context(|| format!("cannot mount {}", home.display()))?;
    Ok(std::fs::remove_dir(other)?)
}

fn share_controllers(root: &Path) -> Result<()> {
    let groups = root.join("sys/fs/cgroup");
    let there = std::fs::read_to_string(groups.join("cgroup.controllers"))?;
    for name in there
        .split_whitespace()
        .filter(|name| CONTROLLERS.contains(name))
    {
        std::fs::write(groups.join("cgroup.subtree_control"), format!("+{name}"))
            .with_context(|| format!("control groups of {name}"))?;
    }
    Ok(())
}

/// The same namespace under the same name under the new root.
fn show_namespace(root: &Path, node: &str) -> Result<()> {
    let old = Path::new(NETNS_DIR).join(node);
    let new = root.join(NETNS_DIR.trim_start_matches('/')).join(node);
    make_place(new.parent().unwrap_or(root))?;
    std::fs::File::create(&new)?;
    bind(&old, &new)
}

/// The same file or directory in another place as well; a directory is made there.
fn bind(old: &Path, new: &Path) -> Result<()> {
    if old.is_dir() {
        make_place(new)?;
    }
    mount(Some(old), new, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .with_context(|| format!("cannot mount {}", new.display()))
}

/// A program that looks for netem's distributions where iproute2 installs them finds them there.
fn show_distributions() {
    let place = Path::new(TC_TABLES);
    if let (Some(real), false) = (std::env::var_os(TC_DIRECTORY), place.exists()) {
        let _ = symlink(real, place);
    }
}

fn append(place: &Path, text: &str) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let before = std::fs::read_to_string(place).unwrap_or_default();
    std::fs::write(place, before + text).with_context(|| place.display().to_string())
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

//! The root file system of a command (`netwarp exec`): the host's files as the lower layer of an overlay that takes all
//! changes, with the small machine's own files on top. It belongs to a mount namespace; the agent's is unchanged.

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

use super::{NETNS_DIR, RUN_DIR};
use crate::tools::TC_DIRECTORY;

/// Directory prefix in the agent's /run, which the command does not see.
const LAYERS: &str = "/run/layers-of-";
const ROOT: &str = "/run/root";
const UPPER: &str = "upper";
const WORK: &str = "work";

pub const HOSTNAME: &str = "netwarp";
/// File of the engine in the run directory: the modules that are built into the kernel. modprobe would look into
/// directories of the host's kernels, and fail for all others.
const BUILT_IN: &str = "modules/built-in";
/// File of the guard in the run directory: paths with a NUL after each.
pub const READABLE: &str = ".uml/readable";

/// Paths of the host below a home directory that the guard lets the machine read. No program sees the list, since it
/// names the host's directories.
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

/// Names of the modules that are built into the kernel, separated by blanks.
pub fn built_in_modules() -> Result<String> {
    let path = Path::new(RUN_DIR).join(BUILT_IN);
    std::fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// File systems that are mounted over the host's files: kind, place, options. A place that the host lacks is made.
const FILE_SYSTEMS: [(&str, &str, &str); 9] = [
    ("proc", "proc", ""),
    ("sysfs", "sys", ""),
    ("cgroup2", "sys/fs/cgroup", ""),
    ("bpf", "sys/fs/bpf", ""),
    ("devtmpfs", "dev", "mode=755"),
    // Private terminals: gid 5 is the group tty everywhere.
    (
        "devpts",
        "dev/pts",
        "newinstance,ptmxmode=666,mode=620,gid=5",
    ),
    ("tmpfs", "dev/shm", "mode=1777"),
    ("mqueue", "dev/mqueue", ""),
    ("tmpfs", "run", "mode=755"),
];
/// Links in /dev that the kernel does not make.
const LINKS: [(&str, &str); 5] = [
    ("dev/ptmx", "pts/ptmx"),
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
];
/// Directories that all users may write to.
const SHARED: [&str; 2] = ["run/lock", "run/shm"];
/// The same on every host, since programs look up names there.
const HOSTS: &str = "/etc/hosts";
const FILES: [(&str, &str); 3] = [
    (
        "etc/hosts",
        "127.0.0.1\tlocalhost netwarp\n::1\tlocalhost ip6-localhost ip6-loopback\n",
    ),
    ("etc/hostname", "netwarp\n"),
    (
        "etc/resolv.conf",
        "# A machine by itself: nothing answers.\n",
    ),
];
/// Path at which an empty home is made before it is mounted.
const OTHER_HOME: &str = "/run/home";
const MODPROBE: &str = "/run/modprobe.d";
const PKTGEN: &str = "pktgen";
const PKTGEN_LOAD: &str = "/sys/module/pktgen/parameters/load";
/// Directory where programs look for netem's distributions if they expect iproute2's own build (NeST); distributions of
/// Linux have them elsewhere.
const TC_TABLES: &str = "/usr/lib/tc";
/// Controllers of which groups of processes can be given shares, if they are enabled in the kernel.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

/// Directories of a root's changes: below `upper` each changed file has its own path.
pub struct Layers {
    pub upper: PathBuf,
    work: PathBuf,
}

impl Layers {
    /// Makes the layers of `owner`, in memory.
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

/// Contents of a root in addition to the host's files.
#[derive(Debug, Default)]
pub struct Inside {
    /// Namespaces of the lab's nodes, which `ip netns` finds.
    pub nodes: Vec<String>,
    /// Files to create, and whether they are programs. Their directories are made.
    pub files: Vec<(PathBuf, String, bool)>,
    /// Lines for /etc/hosts.
    pub hosts: String,
    /// Directories to create.
    pub directories: Vec<PathBuf>,
    /// Names of modules that are built into the kernel, for which modprobe succeeds.
    pub modules: String,
    /// Whether the run directory is visible.
    pub run_dir: bool,
    /// Paths below a home directory of the host that the machine may read, with everything under them.
    pub readable: Vec<PathBuf>,
}

/// Gives the calling thread, and all that it starts, a mount namespace with its own root. A `home` that the machine may
/// not read, or that does not exist, contains only what may be read.
pub fn enter(home: &Path, layers: &Layers, inside: &Inside) -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS).context("cannot make a mount namespace")?;
    let root = Path::new(ROOT);
    overlay(root, layers)?;
    furnish(root)?;
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
    make_root(root)?;
    write_files(inside)?;
    show_distributions();
    configure_modprobe(&inside.modules)?;
    if std::fs::read_dir(home).is_err() {
        empty(home, &inside.readable)?;
    }
    inside.directories.iter().try_for_each(|d| make_place(d))
}

/// Mounts the host's files below layers that take all changes.
fn overlay(root: &Path, layers: &Layers) -> Result<()> {
    let options = format!(
        "lowerdir=/,upperdir={},workdir={}",
        layers.upper.display(),
        layers.work.display()
    );
    mount_at("overlay", root, &options)
}

/// Adds the file systems, links and directories of a running system.
fn furnish(root: &Path) -> Result<()> {
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
    Ok(())
}

/// Makes `root` the root, and forgets the old one.
fn make_root(root: &Path) -> Result<()> {
    chdir(root)?;
    pivot_root(".", ".").context("cannot change the root")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    Ok(chdir("/")?)
}

/// Writes the files that replace the host's, the names of the lab's hosts, and the files of `inside`.
fn write_files(inside: &Inside) -> Result<()> {
    for (place, text) in FILES {
        pin(Path::new("/").join(place), text);
    }
    append(Path::new(HOSTS), &inside.hosts)?;
    for (place, text, is_program) in &inside.files {
        make_place(place.parent().unwrap_or(Path::new("/")))?;
        std::fs::write(place, text).with_context(|| place.display().to_string())?;
        set_mode(place, if *is_program { 0o755 } else { 0o644 })?;
    }
    Ok(())
}

/// Lets modprobe succeed for the modules that are built into the kernel.
fn configure_modprobe(modules: &str) -> Result<()> {
    create_dir_all(MODPROBE)?;
    let lines: String = modules
        .split_whitespace()
        .map(|name| match name {
            // pktgen exists from then on (patch 0047): it has a thread in every network namespace.
            PKTGEN => format!("install {name} echo 1 > {PKTGEN_LOAD}\n"),
            _ => format!("install {name} true\n"),
        })
        .collect();
    Ok(std::fs::write(
        Path::new(MODPROBE).join("netwarp.conf"),
        lines,
    )?)
}

/// Mounts an empty directory over a home, with the readable paths below it in their places. A program, its virtual
/// environment and its working directory are often there.
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

/// Makes a node's namespace visible by the same name under the new root.
fn show_namespace(root: &Path, node: &str) -> Result<()> {
    let old = Path::new(NETNS_DIR).join(node);
    let new = root.join(NETNS_DIR.trim_start_matches('/')).join(node);
    make_place(new.parent().unwrap_or(root))?;
    std::fs::File::create(&new)?;
    bind(&old, &new)
}

/// Makes a file or directory visible in another place as well; a directory is created there.
fn bind(old: &Path, new: &Path) -> Result<()> {
    if old.is_dir() {
        make_place(new)?;
    }
    mount(Some(old), new, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .with_context(|| format!("cannot mount {}", new.display()))
}

/// Provides netem's distributions where iproute2 installs them, for programs that look there.
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

/// Creates a directory, unless it exists.
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

/// Replaces a file that differs on the host, or is a link that leads elsewhere. Without its directory no program reads
/// it.
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

/// Sets the machine's host name.
pub fn set_hostname() -> Result<()> {
    let name = CString::new(HOSTNAME)?;
    // SAFETY: the name outlives the call.
    let done = unsafe { libc::sethostname(name.as_ptr(), HOSTNAME.len()) };
    nix::errno::Errno::result(done).context("hostname")?;
    Ok(())
}

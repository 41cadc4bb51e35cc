//! The root file system of a command (`netwarp exec`): the host's files below an overlay that takes all changes, and
//! above it the small machine's own files. It belongs to a mount namespace; that of the agent is unchanged.

use std::ffi::CString;
use std::fs::{DirBuilder, create_dir_all};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{chdir, pivot_root};

use crate::network::NETNS_DIR;

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
/// What scripts ask modprobe for and this kernel has built in (kernels/tree/netwarp.config): modprobe looks into
/// directories of the host's kernels, and fails for all others.
const BUILT_IN: &str = "8021q act_bpf act_csum act_ct act_gact act_mirred act_nat act_pedit act_police act_skbedit \
    act_vlan bonding bridge cls_basic cls_bpf cls_flow cls_flower cls_fw cls_matchall cls_u32 dummy geneve gre ifb \
    ip6_gre ip6_tables ip6_tunnel ip6table_filter ip6table_mangle ip6table_nat ip6table_raw ip_gre ip_tables ipip \
    iptable_filter iptable_mangle iptable_nat iptable_raw ipvlan macvlan macvtap mptcp_diag nf_conntrack nf_nat \
    nf_tables nft_chain_nat nlmon openvswitch overlay sch_cake sch_cbs sch_choke sch_codel sch_drr sch_etf sch_ets \
    sch_fq sch_fq_codel sch_fq_pie sch_gred sch_hfsc sch_hhf sch_htb sch_ingress sch_mqprio sch_multiq sch_netem \
    sch_opportunity sch_pie sch_plug sch_prio sch_qfq sch_red sch_sfb sch_sfq sch_skbprio sch_taprio sch_tbf sch_teql \
    sctp sctp_diag tcp_bbr tcp_bic tcp_cdg tcp_cubic tcp_dctcp tcp_diag tcp_highspeed tcp_htcp tcp_hybla tcp_illinois \
    tcp_lp tcp_nv tcp_scalable tcp_vegas tcp_veno tcp_westwood tcp_yeah tun udp_diag udp_tunnel unix_diag veth vport_geneve \
    vport_gre vport_vxlan vrf vxlan x_tables";
const MODPROBE: &str = "/run/modprobe.d";
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

/// What is inside beside the host's files.
#[derive(Debug, Default)]
pub struct Inside {
    /// Namespaces that are the nodes of a lab, which `ip netns` finds.
    pub nodes: Vec<String>,
    /// Files of its own, and whether they are programs. Their directories are made.
    pub files: Vec<(PathBuf, String, bool)>,
    /// Lines for /etc/hosts.
    pub hosts: String,
    /// A directory that is there.
    pub directory: PathBuf,
}

/// Gives the calling thread, and all that it starts, a mount namespace with a root of its own. A `home` that the machine
/// may not read, or that is not there, is an empty one.
pub fn enter(home: &Path, inside: &Inside) -> Result<()> {
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
    for node in &inside.nodes {
        show_namespace(root, node)?;
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
    append(Path::new(HOSTS), &inside.hosts)?;
    for (place, text, is_program) in &inside.files {
        make_place(place.parent().unwrap_or(Path::new("/")))?;
        std::fs::write(place, text).with_context(|| place.display().to_string())?;
        set_mode(place, if *is_program { 0o755 } else { 0o644 })?;
    }
    create_dir_all(MODPROBE)?;
    let lines: String = BUILT_IN
        .split_whitespace()
        .map(|name| format!("install {name} true\n"))
        .collect();
    std::fs::write(Path::new(MODPROBE).join("netwarp.conf"), lines)?;
    if std::fs::read_dir(home).is_err() {
        make_place(home)?;
        mount_at("tmpfs", home, "mode=700")?;
    }
    make_place(&inside.directory)
}

/// The same namespace under the same name beneath the new root.
fn show_namespace(root: &Path, node: &str) -> Result<()> {
    let old = Path::new(NETNS_DIR).join(node);
    let new = root.join(NETNS_DIR.trim_start_matches('/')).join(node);
    make_place(new.parent().unwrap_or(root))?;
    std::fs::File::create(&new)?;
    mount(
        Some(&old),
        &new,
        None::<&str>,
        MsFlags::MS_BIND,
        None::<&str>,
    )
    .with_context(|| format!("cannot mount {}", new.display()))
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

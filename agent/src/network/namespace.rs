//! Network namespaces: one for each node and one for the wires.

use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

use crate::lab::Node;

const NETNS_DIR: &str = "/run/netns";

/// The namespace in which the agent was started, to come back to.
static HOME: OnceLock<File> = OnceLock::new();

/// A named network namespace; `ip netns exec NAME` works on it as well.
pub struct Namespace {
    file: File,
}

fn own() -> Result<File> {
    File::open("/proc/thread-self/ns/net").context("/proc/thread-self/ns/net")
}

fn home() -> Result<&'static File> {
    if let Some(file) = HOME.get() {
        return Ok(file);
    }
    let file = own()?;
    Ok(HOME.get_or_init(|| file))
}

impl Namespace {
    pub fn create(name: &str) -> Result<Self> {
        home()?;
        std::fs::create_dir_all(NETNS_DIR)?;
        let path = Path::new(NETNS_DIR).join(name);
        File::create(&path)?;
        unshare(CloneFlags::CLONE_NEWNET).context("cannot make a network namespace")?;
        mount(
            Some("/proc/thread-self/ns/net"),
            &path,
            None::<&str>,
            MsFlags::MS_BIND,
            None::<&str>,
        )?;
        let namespace = Self { file: own()? };
        setns(home()?, CloneFlags::CLONE_NEWNET)?;
        Ok(namespace)
    }

    /// A node's namespace with forwarding and sysctls set: first those that keep the kernel's own packets off the
    /// links and one flow from teaching the next, then the lab's.
    pub fn for_node(node: &Node) -> Result<Self> {
        let namespace = Self::create(&node.name)?;
        namespace.run(|| -> Result<()> {
            for (name, value) in QUIET {
                write_sysctl(name, value)?;
            }
            if node.forward {
                write_sysctl("net.ipv4.ip_forward", "1")?;
                write_sysctl("net.ipv6.conf.all.forwarding", "1")?;
            }
            for (name, value) in &node.sysctl {
                write_sysctl(name, value).with_context(|| format!("node {}", node.name))?;
            }
            Ok(())
        })??;
        Ok(namespace)
    }

    /// Runs `work` inside; sockets and processes that it makes stay there.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        setns(&self.file, CloneFlags::CLONE_NEWNET)?;
        let value = work();
        setns(home()?, CloneFlags::CLONE_NEWNET)?;
        Ok(value)
    }

    /// For attributes such as IFLA_NET_NS_FD.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// No duplicate address detection, router solicitations, advertisements or link-local groups: nothing but the lab's
/// traffic crosses the links. No metrics kept from one connection to the next. No limit on echo replies.
const QUIET: &[(&str, &str)] = &[
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.dad_transmits", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.autoconf", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.icmp_ratelimit", "0"),
    ("net.ipv4.ping_group_range", "0 2147483647"),
];

/// Of the whole machine. The kernel's limits on the memory of all sockets together follow the size of the machine,
/// which here is small and shared by all nodes of the lab: under their pressure (tcp_under_memory_pressure()) receivers
/// would close their windows and drop what is in order, and the machine's memory would decide the result. A machine that is too small fails instead, and says so.
pub const MACHINE: &[(&str, &str)] = &[
    ("net.ipv4.tcp_mem", "16777216 16777216 16777216"),
    ("net.ipv4.udp_mem", "16777216 16777216 16777216"),
];

/// Sets a sysctl (`net.ipv4.ip_forward`) in the namespace of this thread.
pub fn write_sysctl(name: &str, value: &str) -> Result<()> {
    let path = Path::new("/proc/sys").join(name.replace('.', "/"));
    std::fs::write(&path, value).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            anyhow::anyhow!("this kernel has no sysctl {name} that a node can set")
        }
        _ => anyhow::anyhow!("sysctl {name} = {value:?} was refused: {e}"),
    })
}

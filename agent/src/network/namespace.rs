//! Network namespaces: one for each node and one for the wires.

use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

use crate::lab::Node;
use crate::machine::NETNS_DIR;
use crate::sysctl;

/// The namespace in which the agent was started, for returning to it.
static HOME: OnceLock<File> = OnceLock::new();

/// A named network namespace; `ip netns exec NAME` works on it, too.
pub struct Namespace {
    file: File,
    syscall_ns: u64,
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
        let namespace = Self {
            file: own()?,
            syscall_ns: 0,
        };
        setns(home()?, CloneFlags::CLONE_NEWNET)?;
        Ok(namespace)
    }

    /// The namespace of this thread.
    pub fn own() -> Result<Self> {
        home()?;
        Ok(Self {
            file: own()?,
            syscall_ns: 0,
        })
    }

    /// A node's namespace with its sysctls set.
    pub fn for_node(node: &Node) -> Result<Self> {
        let namespace = Self {
            syscall_ns: node.syscall_ns,
            ..Self::create(&node.name)?
        };
        namespace
            .run(|| sysctl::write(&node.sysctl))?
            .with_context(|| format!("node {}", node.name))?;
        Ok(namespace)
    }

    /// Another handle of the same namespace, for a thread that opens sockets during the run.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self {
            file: self.file.try_clone()?,
            syscall_ns: self.syscall_ns,
        })
    }

    /// Runs `work` in the namespace; sockets and processes that it makes stay there.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        setns(&self.file, CloneFlags::CLONE_NEWNET)?;
        let value = work();
        setns(home()?, CloneFlags::CLONE_NEWNET)?;
        Ok(value)
    }

    /// Duration of each system call of programs that are started in it.
    pub fn syscall_ns(&self) -> u64 {
        self.syscall_ns
    }

    /// A descriptor for attributes such as IFLA_NET_NS_FD.
    pub fn file(&self) -> &File {
        &self.file
    }
}

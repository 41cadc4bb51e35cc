//! Landlock: the files that may be opened, and what may be done with them (landlock(7)).

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, RestrictSelf,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope, make_bitflags,
};

use super::places::Places;

/// The newest version that this was tested with. Older versions enforce what they know: 2 (Linux 5.19) files, 3 (6.2)
/// truncation, 5 (6.10) devices, 6 (6.12) signals to other processes. The filter of system calls covers what a version
/// lacks, TCP (4) included.
const TESTED: ABI = ABI::V7;
/// The host's file that a kernel's program needs to start unless it is static; musl's distributions lack it.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// The kernel asks which features the processor has (arch/um/os-Linux/start_up.c).
const CPU: &str = "/proc/cpuinfo";
/// The kernel's console, which nothing reads.
const NULL: &str = "/dev/null";

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});
const START: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | Execute});
/// No links, devices, pipes or sockets: the directory holds only files and directories afterwards.
const WRITE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | RemoveFile | RemoveDir
});
const CHANGE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    ReadFile | ReadDir | WriteFile | Truncate
});
const DEVICE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev});

/// The lab's private parts of the file systems that programs of a lab in real time see (host/mounts.rs), and the
/// harmless devices.
fn places_of_labs() -> [(&'static str, BitFlags<AccessFs>); 10] {
    [
        ("/proc", READ),
        ("/proc/sys/net", CHANGE),
        ("/sys", READ),
        ("/run", AccessFs::from_all(TESTED)),
        (NULL, DEVICE),
        ("/dev/zero", DEVICE),
        ("/dev/full", DEVICE),
        ("/dev/random", DEVICE),
        ("/dev/urandom", DEVICE),
        ("/dev/net/tun", DEVICE),
    ]
}

/// Rules that have not been applied yet.
pub struct Files {
    rules: RulesetCreated,
    /// Open until the kernel has been started: a rule on a file in /proc lasts as long as the file is in memory.
    pinned: Vec<PathFd>,
}

impl Files {
    pub fn of_machine(places: &Places) -> Result<Self> {
        let mut files = Self::none()?;
        files.allow_machine(places)?;
        Ok(files)
    }

    pub fn of_guard(places: &Places) -> Result<Self> {
        let mut files = Self::none()?;
        files.allow_machine(places)?;
        // The state of the machine (watchdog.rs), and the parent of its memory's directory, which the guard removes.
        files.allow(Path::new("/proc"), READ)?;
        if let Some(parent) = places.memory_dir.parent() {
            files.allow(parent, AccessFs::RemoveDir.into())?;
        }
        Ok(files)
    }

    /// Rules of a build, which reads and starts what is in `read`, and writes in `write`.
    pub fn of_build(read: &[PathBuf], write: &[PathBuf], links: bool) -> Result<Self> {
        let linking = match links {
            true => AccessFs::MakeSym | AccessFs::Refer,
            false => BitFlags::empty(),
        };
        let mut files = Self::none()?;
        files.allow(Path::new(NULL), AccessFs::ReadFile | AccessFs::WriteFile)?;
        for path in read {
            files.allow(path, READ | AccessFs::Execute)?;
        }
        for path in write {
            files.allow(path, WRITE | linking)?;
        }
        Ok(files)
    }

    /// Rules of the programs of a lab in real time, which read and start what exists of `read`. Their network is the
    /// lab's.
    fn of_lab(read: &[PathBuf]) -> Result<Self> {
        let mut files = Self::of(Self::handled()?)?;
        let own = places_of_labs();
        let own = own.iter().map(|(path, access)| (Path::new(path), *access));
        let read = read.iter().map(|path| (&**path, READ | AccessFs::Execute));
        for (path, access) in own.chain(read).filter(|(path, _)| path.exists()) {
            files.allow(path, access)?;
        }
        Ok(files)
    }

    fn none() -> Result<Self> {
        Self::of(Self::handled()?.handle_access(AccessNet::from_all(TESTED))?)
    }

    fn handled() -> Result<Ruleset> {
        let rules = Ruleset::default().handle_access(AccessFs::from_all(TESTED))?;
        Ok(rules.scope(Scope::from_all(TESTED))?)
    }

    fn of(handled: Ruleset) -> Result<Self> {
        Ok(Self {
            rules: handled.create().context("Landlock")?,
            pinned: Vec::new(),
        })
    }

    fn allow_machine(&mut self, places: &Places) -> Result<()> {
        self.allow(places.kernel, START)?;
        if Path::new(LOADER).exists() {
            self.allow(Path::new(LOADER), START)?;
        }
        self.allow(Path::new(CPU), READ)?;
        self.allow(Path::new(NULL), AccessFs::ReadFile | AccessFs::WriteFile)?;
        self.allow(places.run_dir, WRITE)?;
        self.allow(places.memory_dir, WRITE)?;
        places
            .read
            .iter()
            .try_for_each(|path| self.allow(path, READ))
    }

    /// Allows access to a directory with everything under it, or to a file.
    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<()> {
        let cannot = || format!("cannot give access to {}", path.display());
        let file = PathFd::new(path).with_context(cannot)?;
        let access = match path.is_dir() {
            true => access,
            false => access & AccessFs::from_file(TESTED),
        };
        (&mut self.rules)
            .add_rule(PathBeneath::new(&file, access))
            .with_context(cannot)?;
        self.pinned.push(file);
        Ok(())
    }

    pub fn apply(self) -> Result<()> {
        self.rules.restrict_self().context("Landlock")?;
        Ok(())
    }
}

/// Rules that a process applies with one system call before it becomes a program of a lab in real time. None without
/// Landlock.
pub fn rules_of_programs(read: &[PathBuf]) -> Result<Option<OwnedFd>> {
    let Files { rules, pinned } = Files::of_lab(read)?;
    // The rules last as long as this process.
    std::mem::forget(pinned);
    Ok(rules.into())
}

/// The version that is enforced here; 0: none.
pub fn abi() -> u32 {
    // Without flags this restricts nothing, and returns the version of the kernel.
    match RestrictSelf::default().no_new_privs(false).apply() {
        Ok(status) => match status.landlock {
            LandlockStatus::Available { effective_abi, .. } => effective_abi.min(TESTED) as u32,
            _ => 0,
        },
        Err(_) => 0,
    }
}

//! Landlock: the files that may be opened, and what may be done with them (landlock(7)).

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, RestrictSelf,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope, make_bitflags,
};

use super::places::Places;

/// The newest version that this was tested with. Older ones enforce what they know: 2 (Linux 5.19) files, 3 (6.2) that
/// none is cut, 5 (6.10) devices, 6 (6.12) that no other process gets a signal. What they lack in between, TCP (4)
/// included, the filter of system calls makes up for.
const TESTED: ABI = ABI::V7;
/// What the host itself starts: the kernel, and what loads it.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// The kernel asks which features the processor has (arch/um/os-Linux/start_up.c).
const CPU: &str = "/proc/cpuinfo";
/// Its console, which nothing reads.
const NULL: &str = "/dev/null";

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});
const START: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | Execute});
/// No links, devices, pipes or sockets: what netwarp finds there afterwards are files and directories.
const WRITE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | RemoveFile | RemoveDir
});
const CHANGE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    ReadFile | ReadDir | WriteFile | Truncate
});
const DEVICE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev});

/// What is the lab's own in the file systems that the programs of a lab in real time see (host/mounts.rs), and the
/// devices that are nobody's.
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

/// Rules that are yet to be applied.
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
        // How the machine is doing (watchdog.rs), and its memory's directory, which goes away with it.
        files.allow(Path::new("/proc"), READ)?;
        if let Some(parent) = places.memory_dir.parent() {
            files.allow(parent, AccessFs::RemoveDir.into())?;
        }
        Ok(files)
    }

    /// Of a build, which reads and starts what is in `read`, and writes in `write`.
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

    /// Of the programs of a lab in real time, which read and start what is in `read`, as far as it is there. Their
    /// network is the lab's.
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
        self.allow(Path::new(LOADER), START)?;
        self.allow(Path::new(CPU), READ)?;
        self.allow(Path::new(NULL), AccessFs::ReadFile | AccessFs::WriteFile)?;
        self.allow(places.run_dir, WRITE)?;
        self.allow(places.memory_dir, WRITE)?;
        places
            .read
            .iter()
            .try_for_each(|path| self.allow(path, READ))
    }

    /// A directory with everything under it, or a file.
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

/// Rules that a process which is about to become a program of a lab in real time can apply with one system call. None
/// where there is no Landlock.
pub fn rules_of_programs(read: &[PathBuf]) -> Result<Option<OwnedFd>> {
    let Files { rules, pinned } = Files::of_lab(read)?;
    // For as long as this process lives.
    std::mem::forget(pinned);
    Ok(rules.into())
}

/// The version that is enforced here; 0: none.
pub fn abi() -> u32 {
    // Without flags this restricts nothing, and returns the version that there is.
    match RestrictSelf::default().no_new_privs(false).apply() {
        Ok(status) => match status.landlock {
            LandlockStatus::Available { effective_abi, .. } => effective_abi.min(TESTED) as u32,
            _ => 0,
        },
        Err(_) => 0,
    }
}

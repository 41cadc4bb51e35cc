//! The virtual machine as a process of the host.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, pipe2, setpgid};

use super::confinement::Confinement;
use super::keeper::Keeper;
use super::options::Options;
use super::output::take_over;
use super::surroundings::{self, explain, named};
use crate::constants::{EPOCH_S, PROGRAM_DESCRIPTOR};
use crate::keyboard;
use crate::machine::file_systems::TOOLS_DESCRIPTOR;
use crate::machine::program::HOME;
use crate::machine::root::READABLE;

const UML_DIR: &str = ".uml";
/// An environment variable: the machine's programs run by ptrace, not by seccomp.
const PTRACE: &str = "NETWARP_PTRACE";
/// An environment variable: threads of the agent move the data of all flows, not the kernel.
const THREADS: &str = "NETWARP_THREADS";
const PIPE_BYTES: i32 = 1 << 20;
/// The mount point of this program's directory in the machine.
const AGENT_PLACE: &str = "/run";
/// Higher than the descriptors that the caller may have left open.
const AGENT_FD: i32 = 100;
/// Setting of the kernel's own C library: without it the host would write to the library's area for rseq(2) in the
/// processes of the machine's programs, which have nothing of the library left (init_new_context() in
/// arch/um/kernel/skas/mmu.c).
const NO_RSEQ: &str = "glibc.pthread.rseq=0";
/// Memory that a program's first write to a page maps in addition, as Linux does for reads of files
/// (fault_around_bytes).
const FAULT_AROUND_BYTES: u64 = 64 << 10;
/// Number of clock readings of a program before it has to ask the kernel (arch/um/kernel/netwarp_time.c).
const CLOCK_READS: u32 = 16;

/// A running User Mode Linux.
pub struct Machine {
    child: Child,
    has_ended: bool,
    /// The leader of its process group
    pub keeper: Keeper,
    /// The machine's console; `None` once that has ended.
    pub console: Option<File>,
    /// The kernel's records; `None` once they have ended, or when nothing is recorded.
    pub records: Option<File>,
    /// The command's output; `None` once it has ended, or without a command.
    pub output: Option<File>,
    uml_dir: PathBuf,
    memory_dir: PathBuf,
}

/// Resources that a machine used.
pub struct Usage {
    pub exit_status: Option<i32>,
    pub cpu_s: f64,
}

impl Machine {
    pub fn start(options: &Options, mut confinement: Confinement) -> Result<Self> {
        let dir = options
            .dir
            .canonicalize()
            .with_context(|| options.dir.display().to_string())?;
        let agent = std::env::current_exe().context("cannot find this program's own file")?;
        let place = agent.parent();
        let agent_dir =
            inherited_directory(place.context("the path of this program has no directory")?)?;
        let tools_dir = inherited_directory(&options.tools)?;
        let uml_dir = dir.join(UML_DIR);
        let keeper = Keeper::start(&[&uml_dir, &options.memory_dir])?;
        std::fs::create_dir_all(&uml_dir)
            .with_context(|| format!("cannot create {}", uml_dir.display()))?;
        std::fs::write(dir.join(READABLE), readable(options))?;
        std::fs::write(
            dir.join(TOOLS_DESCRIPTOR),
            tools_dir.as_raw_fd().to_string(),
        )?;
        let cpus = options.cpu.map(only).transpose()?;
        let (console, console_end) = pipe2(OFlag::O_CLOEXEC)?;
        let (records, records_end) = pipe2(OFlag::O_CLOEXEC)?;
        let (output, output_end) = pipe2(OFlag::O_CLOEXEC)?;
        // Larger pipes mean fewer turns; a refusal (pipe-user-pages-soft) costs only speed.
        let _ = fcntl(&records, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
        if options.keyboard.is_some() {
            fcntl(&output, FcntlArg::F_SETPIPE_SZ(keyboard::PIPE_BYTES as i32))
                .context("the pipe of a session")?;
        }
        let mut command = Command::new(&options.kernel);
        command
            .args(arguments(options, &agent))
            .current_dir(&dir)
            .env_clear()
            .env("PATH", &options.search_path)
            .env("HOME", &uml_dir)
            .env("GLIBC_TUNABLES", NO_RSEQ)
            .env("TMPDIR", &options.memory_dir)
            .env("NETWARP_SEED", options.seed.to_string())
            .env(
                "NETWARP_AGENT",
                format!("proc/self/fd/{}", agent_dir.as_raw_fd()),
            )
            .stdin(Stdio::null())
            .stdout(console_end.try_clone()?)
            .stderr(console_end);
        // Keep in sync with netwarp_stub.c.
        if let Some(value) = std::env::var_os(PTRACE) {
            command.env(PTRACE, value);
        }
        if options.records() {
            command.env("NETWARP_RECORD_FD", records_end.as_raw_fd().to_string());
            fcntl(&records_end, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        if options.output {
            command.env("NETWARP_OUTPUT_FD", output_end.as_raw_fd().to_string());
            fcntl(&output_end, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        if let Some(join) = &options.join {
            command.env("NETWARP_JOIN", join);
        }
        let programs = options.programs.clone();
        for descriptor in &programs {
            close_on_exec(*descriptor)?;
        }
        let (group, memory, shadow) = (keeper.group(), options.memory, options.shadow);
        // SAFETY: the guard has one thread, so the child may do after the fork what the guard could.
        unsafe {
            command.pre_exec(move || {
                if let Some(cpus) = &cpus {
                    let pinned = sched_setaffinity(Pid::from_raw(0), cpus);
                    named("sched_setaffinity", pinned)?;
                }
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // Fails if the guard, and with it the keeper, has ended already.
                named("setpgid", setpgid(Pid::from_raw(0), group))?;
                surroundings::settle(memory, shadow)?;
                hand_over(&programs)?;
                confinement.apply()
            });
        }
        let child = command.spawn();
        // Closes the other end of the console.
        drop(command);
        for descriptor in &options.programs {
            // The program has to see when the machine has ended.
            drop(take_over(*descriptor)?);
        }
        drop::<[OwnedFd; 4]>([records_end, output_end, agent_dir, tools_dir]);
        let mut console = File::from(console);
        let child = child.map_err(|error| {
            let mut call = String::new();
            let _ = console.read_to_string(&mut call);
            let why = explain(&call, &error);
            anyhow!("cannot start {}: {why}", options.kernel.display())
        })?;
        let records = options.records().then(|| File::from(records));
        let output = options.output.then(|| File::from(output));
        Ok(Self {
            child,
            has_ended: false,
            keeper,
            console: Some(console),
            records,
            output,
            uml_dir,
            memory_dir: options.memory_dir.clone(),
        })
    }

    /// Process id of the kernel.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Makes the kernel print which program runs (on_question() in arch/um/os-Linux/netwarp.c).
    pub fn ask(&self) {
        let kernel = Pid::from_raw(self.child.id() as i32);
        let _ = nix::sys::signal::kill(kernel, nix::sys::signal::Signal::SIGUSR2);
    }

    /// Whether the kernel's process has ended. If so, its group is ended with it: processes that a hostile kernel
    /// started on the host would hold its streams open. The rest of the streams can still be read.
    pub fn has_ended(&mut self) -> Result<bool> {
        if !self.has_ended {
            let kernel = Id::Pid(Pid::from_raw(self.child.id() as i32));
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
            self.has_ended = waitid(kernel, flags)? != WaitStatus::StillAlive;
            if self.has_ended {
                self.keeper.kill();
            }
        }
        Ok(self.has_ended)
    }

    /// Waits for the machine, or kills it with everything that it started.
    pub fn end(mut self, kill: bool) -> Result<Usage> {
        if kill {
            self.keeper.kill();
        }
        // Its streams have ended, so the machine has too, but its process may take a moment to be gone.
        let patience = Instant::now() + Duration::from_secs(5);
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if Instant::now() > patience {
                self.keeper.kill();
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        self.keeper.kill();
        let _ = std::fs::remove_dir_all(&self.uml_dir);
        let _ = std::fs::remove_dir(&self.memory_dir);
        Ok(Usage {
            exit_status: status.code().or_else(|| status.signal().map(|s| 128 + s)),
            cpu_s: computed(UsageWho::RUSAGE_CHILDREN)?.as_secs_f64(),
        })
    }
}

/// CPU time so far.
pub fn computed(who: UsageWho) -> Result<Duration> {
    let usage = getrusage(who)?;
    let micros = |t: nix::sys::time::TimeVal| {
        Duration::from_micros((t.tv_sec() * 1_000_000 + t.tv_usec()).unsigned_abs())
    };
    Ok(micros(usage.user_time()) + micros(usage.system_time()))
}

/// Keeps a descriptor of the caller's from the programs that this process starts.
fn close_on_exec(descriptor: RawFd) -> Result<()> {
    // SAFETY: the caller's promise (`Options::programs`), and it stays open while it is borrowed.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    fcntl(borrowed, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).context("a program's descriptor")?;
    Ok(())
}

/// Gives the machine, between fork and exec, the descriptors of programs from `PROGRAM_DESCRIPTOR` on.
fn hand_over(programs: &[RawFd]) -> std::io::Result<()> {
    let last = PROGRAM_DESCRIPTOR + programs.len() as RawFd;
    // First above them all: a caller's descriptor may have one of these numbers.
    let above: Vec<RawFd> = programs
        .iter()
        // SAFETY: fcntl() takes numbers.
        .map(|own| unsafe { libc::fcntl(*own, libc::F_DUPFD_CLOEXEC, last) })
        .collect();
    for (number, descriptor) in (PROGRAM_DESCRIPTOR..).zip(above) {
        // SAFETY: dup2() takes numbers; no other descriptor of this process, which is about to become the machine, has
        // such a high number.
        if unsafe { libc::dup2(descriptor, number) } < 0 {
            return named("dup2", Err(std::io::Error::last_os_error()));
        }
    }
    if !programs.is_empty() {
        // A write to a program that has ended fails, instead of ending the machine without a word.
        // SAFETY: signal() only sets a disposition.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
    Ok(())
}

/// A set of this CPU alone. One machine has one CPU, so that both sides of every transition between a guest program and
/// its kernel stay on one core. The guard itself runs on any.
fn only(cpu: usize) -> Result<CpuSet> {
    let mut cpus = CpuSet::new();
    cpus.set(cpu).with_context(|| format!("CPU {cpu}"))?;
    Ok(cpus)
}

/// Lists, for the agent in the machine (machine/root.rs), the readable paths below a home directory, with their real
/// places. The machine learns no other path of the host, since its length would shift the machine's memory.
fn readable(options: &Options) -> Vec<u8> {
    let homes: Vec<PathBuf> = std::env::var_os("HOME")
        .into_iter()
        .chain([HOME.into()])
        .filter_map(|home| Path::new(&home).canonicalize().ok())
        .collect();
    let places = options.read.iter().filter_map(|path| real_place(path));
    places
        .filter(|place| homes.iter().any(|home| place.starts_with(home)))
        .flat_map(|place| [place.as_os_str().as_bytes(), b"\0"].concat())
        .collect()
}

/// Resolves the directory of a path. A link itself is not followed.
fn real_place(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?.canonicalize().ok()?;
    let name = path.file_name().filter(|_| path.exists())?;
    Some(parent.join(name))
}

/// Opens a directory for the machine to mount: the agent's, which its kernel mounts (netwarp_mount_agent() in
/// arch/um/kernel/netwarp_host.c), and that of the agent's tools. Programs of the lab see only this number, and no path
/// of the host.
fn inherited_directory(place: &Path) -> Result<OwnedFd> {
    let directory = File::open(place).with_context(|| place.display().to_string())?;
    let number = fcntl(&directory, FcntlArg::F_DUPFD(AGENT_FD))?;
    // SAFETY: fcntl has just made it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn arguments(options: &Options, agent: &Path) -> Vec<String> {
    let name = agent.file_name().unwrap_or_default().to_string_lossy();
    let mut arguments = vec![
        format!("mem={}M", options.memory.div_ceil(1 << 20)),
        "rootfstype=hostfs".into(),
        "root=/dev/root".into(),
        "ro".into(),
        format!("init=\"{AGENT_PLACE}/{name}\""),
        // The console keeps warnings and worse: a warning makes a run suspect. Without `quiet` User Mode Linux prints
        // the properties of its host, which are not warnings.
        "quiet".into(),
        "loglevel=5".into(),
        "con=null".into(),
        "con0=null,fd:1".into(),
        "time-travel=inf-cpu".into(),
        format!("time-travel-start={}", EPOCH_S * 1_000_000_000),
        "umid=run".into(),
        // Relative to the working directory, which is the run directory.
        format!("uml_dir={UML_DIR}/"),
        "panic=-1".into(),
        // Interfaces exist only if they were created, in the lab's namespaces as in those of a command.
        "fb_tunnels=none".into(),
        "bonding.max_bonds=0".into(),
        // A page fault of a program costs the host as much as ten pages do.
        format!("netwarp_fault_around_bytes={FAULT_AROUND_BYTES}"),
        // The kernel passes unknown arguments to init as environment, and so to every program in the lab.
        format!("PATH={}", options.search_path),
    ];
    if options.output {
        // A command starts programs, which read the clock a lot.
        arguments.push(format!("netwarp_clock_reads={CLOCK_READS}"));
    } else {
        // A lab does not need it, and its periodic work would coincide with timers of the network.
        arguments.push("cgroup_disable=memory".into());
    }
    if std::env::var_os(THREADS).is_some() {
        arguments.push("netwarp_pumps=0".into());
    }
    arguments.extend([
        // The default, given explicitly, since linux_main() would otherwise append it to init's arguments, which
        // follow.
        "console=tty0".into(),
        "--".into(),
        "init".into(),
    ]);
    arguments
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn programs_are_handed_over_from_any_descriptor() -> Result<()> {
        let places = ["/dev/null", "/dev/zero", "/dev/full"].map(Path::new);
        // SAFETY: the child only makes system calls and reads places of files, and ends without unwinding.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                let own = [
                    PROGRAM_DESCRIPTOR + 1,
                    PROGRAM_DESCRIPTOR,
                    PROGRAM_DESCRIPTOR + 2,
                ];
                for (descriptor, place) in own.iter().zip(places) {
                    let is_there = File::open(place).is_ok_and(|file| {
                        libc::dup3(file.as_raw_fd(), *descriptor, libc::O_CLOEXEC) >= 0
                    });
                    if !is_there {
                        libc::_exit(2);
                    }
                }
                let is_right = |(number, place): (RawFd, &Path)| {
                    let there = Path::new("/proc/self/fd").join(number.to_string());
                    libc::fcntl(number, libc::F_GETFD) == 0
                        && std::fs::metadata(there).map(|one| one.rdev()).ok()
                            == std::fs::metadata(place).map(|one| one.rdev()).ok()
                };
                let is_done = hand_over(&own).is_ok();
                let is_right = is_done && (PROGRAM_DESCRIPTOR..).zip(places).all(is_right);
                libc::_exit(if is_right { 0 } else { 1 });
            }
            let mut status = 0;
            libc::waitpid(child, &raw mut status, 0);
            assert_eq!(status, 0);
        }
        Ok(())
    }
}

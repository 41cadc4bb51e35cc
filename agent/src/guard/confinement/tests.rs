//! Attempts to escape, as a compromised machine would make them: the same confinement, then plain system calls.

use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::FromRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use libc::{c_int, c_long};

use super::{Confinement, Level, Places};

/// A user who owns nothing.
const NOBODY: u32 = 65534;

/// The files that a machine is given, and others that it must not reach.
struct Host {
    root: PathBuf,
    /// Another process of the same user
    stranger: Child,
    port: u16,
    _listeners: (TcpListener, UnixListener),
}

impl Host {
    fn new(name: &str, owner: Option<u32>) -> Result<Self> {
        let root = std::env::temp_dir().join(format!("netwarp-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for directory in ["home", "run", "memory", "readable"] {
            fs::create_dir_all(root.join(directory))?;
        }
        for file in ["home/secret", "home/other", "readable/data", "run/old"] {
            fs::write(root.join(file), "secret")?;
        }
        symlink(root.join("home/secret"), root.join("run/link"))?;
        let listeners = (
            TcpListener::bind("127.0.0.1:0")?,
            UnixListener::bind(root.join("readable/socket"))?,
        );
        let mut stranger = Command::new("sleep");
        stranger.arg("1000").stdin(Stdio::null());
        if let Some(owner) = owner {
            std::os::unix::process::CommandExt::uid(&mut stranger, owner);
            for path in walk(&root)? {
                std::os::unix::fs::lchown(&path, Some(owner), None)?;
            }
        }
        // File permissions would allow everything.
        for path in walk(&root)?.iter().filter(|path| !path.is_symlink()) {
            fs::set_permissions(path, Permissions::from_mode(0o777))?;
        }
        Ok(Self {
            stranger: stranger.spawn()?,
            port: listeners.0.local_addr()?.port(),
            _listeners: listeners,
            root,
        })
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.stranger.kill();
        let _ = self.stranger.wait();
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn walk(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![directory.to_path_buf()];
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => found.extend(walk(&entry.path())?),
            false => found.push(entry.path()),
        }
    }
    Ok(found)
}

type Attempt = (&'static str, Box<dyn Fn() -> c_long>);

/// A predicate on the result of an attempt.
type Judge = fn(answer: c_long, error: c_int) -> bool;

fn is_fine(answer: c_long, _error: c_int) -> bool {
    answer >= 0
}

/// Whether an attempt succeeded or failed for a reason other than permission: such a failure proves nothing. EXDEV is
/// Landlock's answer to moving a file to another directory.
fn is_not_forbidden(answer: c_long, error: c_int) -> bool {
    answer >= 0 || ![libc::EPERM, libc::EACCES, libc::EXDEV].contains(&error)
}

/// Makes every attempt in a confined process; returns the names of those that the judge picks.
fn confined(
    host: &Host,
    owner: Option<u32>,
    attempts: Vec<Attempt>,
    judge: Judge,
) -> Result<Vec<String>> {
    let read = [
        PathBuf::from("/usr"),
        PathBuf::from("/lib"),
        host.at("readable"),
    ];
    let places = Places {
        kernel: Path::new("/usr/bin/true"),
        run_dir: &host.at("run"),
        memory_dir: &host.at("memory"),
        read: &read,
    };
    let mut confinement = Confinement::new(&places, Level::here())?;
    let mut ends = [0; 2];
    // SAFETY: the child makes system calls and uses memory that was allocated before, then ends without unwinding.
    unsafe {
        ensure!(libc::pipe(ends.as_mut_ptr()) == 0, "pipe");
        let child = libc::fork();
        ensure!(child >= 0, "fork");
        if child == 0 {
            if let Some(owner) = owner {
                libc::setgroups(0, std::ptr::null());
                libc::setresgid(owner, owner, owner);
                libc::setresuid(owner, owner, owner);
            }
            libc::setpgid(0, 0);
            let applied = confinement.apply().is_ok();
            for (name, attempt) in &attempts {
                let answer = attempt();
                if judge(answer, *libc::__errno_location()) {
                    libc::write(ends[1], name.as_ptr().cast(), name.len());
                    libc::write(ends[1], c"\n".as_ptr().cast(), 1);
                }
            }
            libc::_exit(if applied { 0 } else { 1 });
        }
        libc::close(ends[1]);
        let mut output = String::new();
        File::from_raw_fd(ends[0]).read_to_string(&mut output)?;
        let mut status = 0;
        libc::waitpid(child, &raw mut status, 0);
        ensure!(
            status == 0,
            "the confined process ended with status {status} after {output}"
        );
        Ok(output.lines().map(String::from).collect())
    }
}

fn c(path: impl AsRef<Path>) -> Result<CString> {
    CString::new(path.as_ref().to_string_lossy().as_bytes()).context("a path with a NUL")
}

fn open(path: impl AsRef<Path>, flags: c_int) -> Result<Box<dyn Fn() -> c_long>> {
    let path = c(path)?;
    // SAFETY: the closure owns the path.
    Ok(Box::new(move || {
        c_long::from(unsafe { libc::open(path.as_ptr(), flags, 0o600) })
    }))
}

/// A system call with numeric arguments.
fn call(number: c_long, arguments: [c_long; 5]) -> Box<dyn Fn() -> c_long> {
    // SAFETY: none of these calls writes to memory of this process, or it fails before it does.
    Box::new(move || unsafe {
        let [a, b, c, d, e] = arguments;
        libc::syscall(number, a, b, c, d, e)
    })
}

/// A system call whose first arguments are paths.
fn on<const N: usize>(
    number: c_long,
    paths: [PathBuf; N],
    more: [c_long; 3],
) -> Result<Box<dyn Fn() -> c_long>> {
    let paths = paths.iter().map(c).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(move || {
        let mut arguments = [0; 6];
        for (at, value) in paths
            .iter()
            .map(|p| p.as_ptr() as c_long)
            .chain(more)
            .enumerate()
        {
            arguments[at.min(5)] = value;
        }
        let [a, b, c, d, e, f] = arguments;
        // SAFETY: the closure owns the paths; other pointers are null.
        unsafe { libc::syscall(number, a, b, c, d, e, f) }
    }))
}

fn on_files(host: &Host) -> Result<Vec<Attempt>> {
    let (secret, home) = (host.at("home/secret"), host.at("home"));
    let new = |name: &str| host.at("run").join(name);
    let stranger = host.stranger.id();
    let proc = |name: &str| PathBuf::from(format!("/proc/{stranger}/{name}"));
    Ok(vec![
        ("read a file", open(&secret, libc::O_RDONLY)?),
        (
            "write a file",
            open(&secret, libc::O_WRONLY | libc::O_APPEND)?,
        ),
        ("cut a file", open(&secret, libc::O_RDONLY | libc::O_TRUNC)?),
        (
            "cut a readable file",
            open(host.at("readable/data"), libc::O_RDONLY | libc::O_TRUNC)?,
        ),
        (
            "write a readable file",
            open(host.at("readable/data"), libc::O_WRONLY)?,
        ),
        (
            "truncate",
            on(libc::SYS_truncate, [secret.clone()], [0; 3])?,
        ),
        (
            "create",
            open(home.join("new"), libc::O_CREAT | libc::O_WRONLY)?,
        ),
        ("list", open(&home, libc::O_RDONLY | libc::O_DIRECTORY)?),
        (
            "list the root",
            open("/", libc::O_RDONLY | libc::O_DIRECTORY)?,
        ),
        ("follow a link", open(host.at("run/link"), libc::O_RDONLY)?),
        (
            "leave by ..",
            open(host.at("run/../home/secret"), libc::O_RDONLY)?,
        ),
        (
            "unlink",
            on(libc::SYS_unlink, [host.at("home/other")], [0; 3])?,
        ),
        (
            "mkdir",
            on(libc::SYS_mkdir, [home.join("directory")], [0o700, 0, 0])?,
        ),
        ("rmdir", on(libc::SYS_rmdir, [host.at("memory")], [0; 3])?),
        (
            "move in",
            on(libc::SYS_rename, [secret.clone(), new("moved")], [0; 3])?,
        ),
        (
            "move out",
            on(
                libc::SYS_rename,
                [host.at("run/old"), home.join("moved")],
                [0; 3],
            )?,
        ),
        (
            "link",
            on(libc::SYS_link, [secret.clone(), new("hard")], [0; 3])?,
        ),
        (
            "link within",
            on(libc::SYS_link, [host.at("run/old"), new("hard")], [0; 3])?,
        ),
        (
            "symlink",
            on(libc::SYS_symlink, [secret.clone(), new("soft")], [0; 3])?,
        ),
        (
            "pipe",
            on(
                libc::SYS_mknod,
                [new("pipe")],
                [c_long::from(libc::S_IFIFO | 0o600), 0, 0],
            )?,
        ),
        (
            "device",
            on(
                libc::SYS_mknod,
                [new("null")],
                [c_long::from(libc::S_IFCHR | 0o600), 0x103, 0],
            )?,
        ),
        (
            "chmod",
            on(libc::SYS_chmod, [secret.clone()], [0o644, 0, 0])?,
        ),
        ("chown", on(libc::SYS_chown, [secret.clone()], [0, 0, 0])?),
        ("lchown", on(libc::SYS_lchown, [secret.clone()], [0, 0, 0])?),
        ("utime", on(libc::SYS_utime, [secret.clone()], [0; 3])?),
        ("utimes", on(libc::SYS_utimes, [secret.clone()], [0; 3])?),
        (
            "removexattr",
            on(
                libc::SYS_removexattr,
                [secret.clone(), PathBuf::from("user.x")],
                [0; 3],
            )?,
        ),
        (
            "run a program",
            on(libc::SYS_execve, [PathBuf::from("/usr/bin/id")], [0; 3])?,
        ),
        ("chroot", on(libc::SYS_chroot, [home.clone()], [0; 3])?),
        (
            "mount",
            on(
                libc::SYS_mount,
                [home.clone(), host.at("run")],
                [0, libc::MS_BIND as c_long, 0],
            )?,
        ),
        (
            "umount",
            on(libc::SYS_umount2, [PathBuf::from("/proc")], [0; 3])?,
        ),
        ("swapon", on(libc::SYS_swapon, [secret], [0; 3])?),
        ("memory of another", open(proc("mem"), libc::O_RDWR)?),
        (
            "environment of another",
            open(proc("environ"), libc::O_RDONLY)?,
        ),
        ("command of another", open(proc("cmdline"), libc::O_RDONLY)?),
        (
            "root of another",
            open(proc("root/etc/passwd"), libc::O_RDONLY)?,
        ),
    ])
}

/// Files of the host, some of which a host may lack.
fn on_the_host() -> Result<Vec<Attempt>> {
    [
        ("password hashes", "/etc/shadow", libc::O_RDONLY),
        (
            "kernel's messages",
            "/proc/kmsg",
            libc::O_RDONLY | libc::O_NONBLOCK,
        ),
        ("SysRq", "/proc/sysrq-trigger", libc::O_WRONLY),
        (
            "core pattern",
            "/proc/sys/kernel/core_pattern",
            libc::O_WRONLY,
        ),
        ("sysfs", "/sys/kernel/uevent_helper", libc::O_WRONLY),
        ("terminal", "/dev/tty", libc::O_RDWR),
        ("new terminal", "/dev/ptmx", libc::O_RDWR),
        ("physical memory", "/dev/mem", libc::O_RDONLY),
        (
            "shared memory",
            "/dev/shm",
            libc::O_RDONLY | libc::O_DIRECTORY,
        ),
        (
            "file in shared memory",
            "/dev/shm",
            libc::O_TMPFILE | libc::O_RDWR,
        ),
    ]
    .into_iter()
    .filter(|(_, path, _)| Path::new(path).exists())
    .map(|(name, path, flags)| Ok((name, open(path, flags)?)))
    .collect()
}

/// A limit for prlimit64(): unlimited, or the maximum.
fn unlimited() -> c_long {
    static UNLIMITED: [u64; 2] = [u64::MAX; 2];
    (&raw const UNLIMITED) as c_long
}

fn limit(resource: libc::__rlimit_resource_t) -> c_long {
    c_long::from(resource)
}

fn memory(flags: c_int) -> Box<dyn Fn() -> c_long> {
    let flags = c_long::from(flags | libc::MAP_ANONYMOUS);
    call(libc::SYS_mmap, [0, 1 << 20, 3, flags, -1])
}

/// A request of fcntl() to standard input.
fn request(what: c_int, value: c_long) -> Box<dyn Fn() -> c_long> {
    call(libc::SYS_fcntl, [0, what.into(), value, 0, 0])
}

fn on_the_rest(host: &Host) -> Vec<Attempt> {
    let stranger = c_long::from(host.stranger.id() as i32);
    let socket =
        |family: c_int, kind: c_int| call(libc::SYS_socket, [family.into(), kind.into(), 0, 0, 0]);
    let plain = |number| call(number, [0; 5]);
    let port = host.port;
    vec![
        ("TCP", socket(libc::AF_INET, libc::SOCK_STREAM)),
        ("TCP over IPv6", socket(libc::AF_INET6, libc::SOCK_STREAM)),
        ("UDP", socket(libc::AF_INET, libc::SOCK_DGRAM)),
        ("raw packets", socket(libc::AF_PACKET, libc::SOCK_RAW)),
        ("netlink", socket(libc::AF_NETLINK, libc::SOCK_RAW)),
        ("vsock", socket(libc::AF_VSOCK, libc::SOCK_STREAM)),
        ("unix socket", socket(libc::AF_UNIX, libc::SOCK_STREAM)),
        ("socket pair", call(libc::SYS_socketpair, [1, 1, 0, 0, 0])),
        (
            "connect",
            Box::new(move || {
                c_long::from(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()) - 1
            }),
        ),
        (
            "signal to another",
            call(libc::SYS_kill, [stranger, 0, 0, 0, 0]),
        ),
        (
            "signal to a thread",
            call(libc::SYS_tgkill, [stranger, stranger, 0, 0, 0]),
        ),
        ("signal to all", call(libc::SYS_kill, [-1, 0, 0, 0, 0])),
        (
            "signal to a group",
            call(libc::SYS_kill, [-stranger, 0, 0, 0, 0]),
        ),
        (
            "signal to the parent",
            Box::new(|| unsafe { c_long::from(libc::kill(libc::getppid(), 0)) }),
        ),
        (
            "trace",
            call(
                libc::SYS_ptrace,
                [libc::PTRACE_ATTACH.into(), stranger, 0, 0, 0],
            ),
        ),
        (
            "seize",
            call(
                libc::SYS_ptrace,
                [libc::PTRACE_SEIZE.into(), stranger, 0, 0, 0],
            ),
        ),
        (
            "process_vm_readv",
            call(libc::SYS_process_vm_readv, [stranger, 0, 0, 0, 0]),
        ),
        (
            "pidfd_open",
            call(libc::SYS_pidfd_open, [stranger, 0, 0, 0, 0]),
        ),
        (
            "limits of another",
            call(libc::SYS_prlimit64, [stranger, 0, 0, 0, 0]),
        ),
        (
            "CPUs of another",
            call(libc::SYS_sched_setaffinity, [stranger, 0, 0, 0, 0]),
        ),
        (
            "priority",
            call(libc::SYS_setpriority, [0, stranger, 19, 0, 0]),
        ),
        (
            "outlive the guard",
            call(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG.into(), 0, 0, 0, 0]),
        ),
        (
            "be dumpable",
            call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE.into(), 1, 0, 0, 0]),
        ),
        ("session", plain(libc::SYS_setsid)),
        ("group", call(libc::SYS_setpgid, [0, stranger, 0, 0, 0])),
        (
            "unshare",
            call(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0, 0]),
        ),
        ("setns", plain(libc::SYS_setns)),
        (
            "namespaces",
            call(
                libc::SYS_clone,
                [
                    c_long::from(libc::CLONE_NEWUSER | libc::SIGCHLD),
                    0,
                    0,
                    0,
                    0,
                ],
            ),
        ),
        ("clone3", plain(libc::SYS_clone3)),
        (
            "memfd_create",
            call(
                libc::SYS_memfd_create,
                [c"x".as_ptr() as c_long, 0, 0, 0, 0],
            ),
        ),
        (
            "System V memory",
            call(libc::SYS_shmget, [0, 4096, 0o1600, 0, 0]),
        ),
        (
            "System V messages",
            call(libc::SYS_msgget, [0, 0o1600, 0, 0, 0]),
        ),
        (
            "message queue",
            call(
                libc::SYS_mq_open,
                [c"x".as_ptr() as c_long, 0o102, 0o600, 0, 0],
            ),
        ),
        ("keyctl", plain(libc::SYS_keyctl)),
        ("bpf", plain(libc::SYS_bpf)),
        ("io_uring", plain(libc::SYS_io_uring_setup)),
        ("perf", plain(libc::SYS_perf_event_open)),
        ("userfaultfd", plain(libc::SYS_userfaultfd)),
        ("fanotify", plain(libc::SYS_fanotify_init)),
        ("inotify", plain(libc::SYS_inotify_init1)),
        ("module", plain(libc::SYS_finit_module)),
        ("syslog", call(libc::SYS_syslog, [10, 0, 0, 0, 0])),
        (
            "personality",
            call(libc::SYS_personality, [0xffff_ffff, 0, 0, 0, 0]),
        ),
        ("umask", plain(libc::SYS_umask)),
        (
            "a larger file",
            call(
                libc::SYS_prlimit64,
                [0, limit(libc::RLIMIT_FSIZE), unlimited(), 0, 0],
            ),
        ),
        (
            "more memory",
            call(
                libc::SYS_prlimit64,
                [0, limit(libc::RLIMIT_DATA), unlimited(), 0, 0],
            ),
        ),
        ("shared memory without a file", memory(libc::MAP_SHARED)),
        (
            "memory that grows",
            memory(libc::MAP_PRIVATE | libc::MAP_GROWSDOWN),
        ),
        ("flock", call(libc::SYS_flock, [0, 1, 0, 0, 0])),
        ("lease", request(libc::F_SETLEASE, libc::F_RDLCK.into())),
        ("lock", request(libc::F_SETLK, 0)),
        ("lock of a file", request(libc::F_OFD_SETLK, 0)),
        ("notices of a directory", request(libc::F_NOTIFY, 0)),
        ("larger pipe", request(libc::F_SETPIPE_SZ, 1 << 20)),
        (
            "a signal that kills for what is ready",
            request(10, libc::SIGKILL.into()),
        ),
        ("identity", plain(libc::SYS_setuid)),
        ("host name", plain(libc::SYS_sethostname)),
        ("ports", call(libc::SYS_iopl, [3, 0, 0, 0, 0])),
        (
            "a filter that another process answers for",
            call(libc::SYS_seccomp, [1, 8, 0, 0, 0]),
        ),
        ("x32", call(0x4000_0000 | libc::SYS_getpid, [0; 5])),
        (
            "type into a terminal",
            call(
                libc::SYS_ioctl,
                [0, libc::TIOCSTI as c_long, c"x".as_ptr() as c_long, 0, 0],
            ),
        ),
    ]
}

/// Operations that a machine needs, so that these tests cannot pass because nothing works at all.
fn needed(host: &Host) -> Result<Vec<Attempt>> {
    let run = host.at("run");
    Ok(vec![
        (
            "read what is named",
            open(host.at("readable/data"), libc::O_RDONLY)?,
        ),
        (
            "list what is named",
            open(host.at("readable"), libc::O_RDONLY | libc::O_DIRECTORY)?,
        ),
        ("the processor", open("/proc/cpuinfo", libc::O_RDONLY)?),
        ("nothing", open("/dev/null", libc::O_RDWR)?),
        (
            "create a record",
            open(run.join("new"), libc::O_CREAT | libc::O_RDWR)?,
        ),
        (
            "rename a record",
            on(
                libc::SYS_rename,
                [run.join("new"), run.join("newer")],
                [0; 3],
            )?,
        ),
        (
            "remove a record",
            on(libc::SYS_unlink, [run.join("newer")], [0; 3])?,
        ),
        (
            "make a directory",
            on(libc::SYS_mkdir, [run.join("captures")], [0o700, 0, 0])?,
        ),
        (
            "memory",
            open(host.at("memory"), libc::O_TMPFILE | libc::O_RDWR)?,
        ),
        (
            "its own memory",
            Box::new(|| unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                libc::mmap(std::ptr::null_mut(), 1 << 20, 3, flags, -1, 0) as c_long
            }),
        ),
        (
            "limits",
            call(libc::SYS_prlimit64, [0, limit(libc::RLIMIT_STACK), 0, 0, 0]),
        ),
        ("flags of a file", request(libc::F_GETFL, 0)),
        (
            "its own processes",
            Box::new(|| unsafe {
                let child = libc::fork();
                if child == 0 {
                    libc::pause();
                    libc::_exit(0);
                }
                let killed = libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, std::ptr::null_mut(), 0);
                killed.into()
            }),
        ),
    ])
}

fn nothing_gets_out(name: &str, owner: Option<u32>) -> Result<()> {
    let level = Level::here();
    ensure!(
        level.seccomp && level.landlock >= 6,
        "this host cannot confine: {level:?}"
    );
    let host = Host::new(name, owner)?;
    let mut attempts = on_files(&host)?;
    attempts.extend(on_the_host()?);
    attempts.extend(on_the_rest(&host));
    let out = confined(&host, owner, attempts, is_not_forbidden)?;
    ensure!(out.is_empty(), "these got out: {out:?}");
    ensure!(
        fs::read_to_string(host.at("home/secret"))? == "secret",
        "the secret has changed"
    );
    let needed = needed(&host)?;
    let names: Vec<_> = needed.iter().map(|(name, _)| name.to_string()).collect();
    let works = confined(&host, owner, needed, is_fine)?;
    ensure!(works == names, "of {names:?} only {works:?} work");
    Ok(())
}

#[test]
fn nothing_gets_out_as_the_user_of_these_tests() -> Result<()> {
    nothing_gets_out("own", None)
}

#[test]
fn nothing_gets_out_as_an_ordinary_user() -> Result<()> {
    // SAFETY: the call takes no arguments and touches no memory.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(()); // the other test is one as an ordinary user
    }
    nothing_gets_out("nobody", Some(NOBODY))
}

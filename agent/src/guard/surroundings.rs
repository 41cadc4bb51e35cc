//! Makes what the machine's process inherits from its caller the same for every caller, because much of it affects the
//! machine (its memory, the files that its programs may open and their permissions) or keeps it from working.

use std::io::{Error, Result};

/// The umask of the guest's programs decides the permissions of their files; the caller's does not matter.
const UMASK: libc::mode_t = 0o022;
/// Linux's own personality, which a caller may have changed (setarch(8)).
const LINUX: libc::c_ulong = 0;
/// Each is raised to the caller's maximum; core files are left out, as one would be the machine's whole memory.
const LIMITS: [libc::__rlimit_resource_t; 8] = [
    libc::RLIMIT_AS,
    libc::RLIMIT_CPU,
    libc::RLIMIT_DATA,
    libc::RLIMIT_FSIZE,
    libc::RLIMIT_MEMLOCK,
    libc::RLIMIT_NOFILE,
    libc::RLIMIT_NPROC,
    libc::RLIMIT_SIGPENDING,
];

/// Private memory of a process of the machine, in addition to the machine's memory, which is a file: the kernel needs
/// some 20 MB, and a program what it takes to run it.
const PRIVATE_BYTES: u64 = 1 << 30;
/// Longest file of a machine, unless its memory is longer. Records are far shorter; only a compromised kernel would
/// write a longer file.
const FILE_BYTES: u64 = 16 << 30;

/// Raises the limits of the guard, which the machine inherits.
pub fn raise_limits() {
    // SAFETY: these calls take and return numbers, and use memory of this function.
    unsafe {
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        for resource in LIMITS {
            let mut limit = none;
            if libc::getrlimit(resource, &mut limit) == 0 {
                limit.rlim_cur = limit.rlim_max;
                libc::setrlimit(resource, &limit);
            }
        }
    }
}

/// Settles a machine with `memory` bytes, and `shadow` memory for all addresses if set, between fork and exec: only
/// system calls, all async-signal-safe.
pub fn settle(memory: u64, shadow: bool) -> Result<()> {
    // A container's filter may refuse it. The caller was then refused another personality as well.
    // SAFETY: personality takes a number.
    unsafe { libc::personality(LINUX) };
    default_signals();
    if !shadow {
        named("setrlimit", limit(libc::RLIMIT_DATA, PRIVATE_BYTES))?;
    }
    named(
        "setrlimit",
        limit(libc::RLIMIT_FSIZE, FILE_BYTES.max(memory)),
    )?;
    // A write beyond the limit fails, as on a full disk, instead of ending the machine.
    // SAFETY: signal() only sets a disposition.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    // SAFETY: umask takes and returns a number.
    unsafe { libc::umask(UMASK) };
    Ok(())
}

/// Names the system call that failed on standard error, the machine's console: if a process cannot be started, only the
/// error's number reaches its parent.
pub fn named<T, E: Into<Error>>(call: &str, result: std::result::Result<T, E>) -> Result<T> {
    result.map_err(|error| {
        // SAFETY: write() reads the bytes of `call`.
        unsafe { libc::write(libc::STDERR_FILENO, call.as_ptr().cast(), call.len()) };
        error.into()
    })
}

/// Explains a failed call of a process that was to become the machine. `call` is its name if it is known.
pub fn explain(call: &str, error: &Error) -> String {
    let refused = matches!(
        error.raw_os_error(),
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS)
    );
    match (call, refused) {
        ("", _) => error.to_string(),
        (call, false) => format!("{call}: {error}"),
        (call, true) => format!(
            "this host refuses the system call {call} ({error}). In a container: use the engine's own profile of system \
             calls, or allow this call in yours (--security-opt seccomp=PROFILE.json)"
        ),
    }
}

/// Sets a limit permanently. Root could raise it again, which the filter of system calls keeps the machine from.
fn limit(resource: libc::__rlimit_resource_t, bytes: u64) -> Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the calls read and write memory of this function.
    let is_set = unsafe {
        let asked = libc::getrlimit(resource, &mut limit) == 0;
        limit.rlim_max = limit.rlim_max.min(bytes);
        limit.rlim_cur = limit.rlim_max;
        asked && libc::setrlimit(resource, &limit) == 0
    };
    match is_set {
        true => Ok(()),
        false => Err(Error::last_os_error()),
    }
}

/// Resets SIGCHLD. A signal that the caller ignores would stay ignored, and then waiting for a child fails.
pub fn hear_of_children() {
    // SAFETY: signal() only sets a disposition.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Sets every signal to its default. The standard library restores the mask of blocked signals.
fn default_signals() {
    for number in 1..=libc::SIGRTMAX() {
        // SAFETY: signal() only sets a disposition; for SIGKILL and others it fails.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
}

//! What the machine's process inherits from its caller, made the same for every caller, because much of it affects the
//! machine (its memory, what its programs may open, how their files are protected) or keeps it from working.

use std::io::{Error, Result};

/// Bits of files that the guest's programs make: those of its own umask, whatever the caller's.
const UMASK: libc::mode_t = 0o022;
/// Asks personality(2) without setting anything.
const ASK: libc::c_ulong = 0xffff_ffff;
/// Each is raised to what the caller may have at most; a core file would be the machine's whole memory.
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

/// What a process of the machine may have for itself, beside the machine's memory, which is a file: the kernel has some
/// 20 MB, and a program what it needs to be run.
const PRIVATE_BYTES: u64 = 1 << 30;
/// The longest file of a machine, if its memory is not longer. Records are shorter by far; a file that is longer could
/// only be a kernel's that was taken over.
const FILE_BYTES: u64 = 16 << 30;

/// In the guard, which passes it on.
pub fn raise_limits() {
    // SAFETY: these take and give numbers, and memory of this function.
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

/// Between fork and exec, for a machine with `memory` bytes and perhaps a `shadow` of all addresses: only system calls, all
/// async-signal-safe.
pub fn settle(memory: u64, shadow: bool) -> Result<()> {
    unrandomised()?;
    default_signals();
    if !shadow {
        limit(libc::RLIMIT_DATA, PRIVATE_BYTES)?;
    }
    limit(libc::RLIMIT_FSIZE, FILE_BYTES.max(memory))?;
    // A write beyond it fails, as on a full disk, instead of ending the machine.
    // SAFETY: sets a disposition.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    // SAFETY: umask takes and gives a number.
    unsafe { libc::umask(UMASK) };
    Ok(())
}

/// For good, but for who is root; the filter of system calls keeps the machine's root from it.
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

/// Where the host would put the kernel's heap at random, the gap would be added to the machine's memory (linux_main() in
/// arch/um/kernel/um_arch.c), on whose size that of its hash tables depends. What else a personality changes
/// (setarch(8)) is taken back by the way.
fn unrandomised() -> Result<()> {
    let wanted = libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
    // SAFETY: personality takes a number.
    unsafe {
        if libc::personality(wanted) >= 0 {
            return Ok(());
        }
        let refused = Error::last_os_error();
        // Under a filter of system calls it may be as it should be nevertheless.
        if libc::personality(ASK) as libc::c_ulong == wanted {
            Ok(())
        } else {
            Err(refused)
        }
    }
}

/// A signal that the caller ignores would stay ignored; without this one waiting for a child fails.
pub fn hear_of_children() {
    // SAFETY: sets a disposition.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Sets every signal to its default. The standard library restores which are blocked.
fn default_signals() {
    for number in 1..=libc::SIGRTMAX() {
        // SAFETY: sets a disposition; what cannot be set (SIGKILL) is refused.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
}

/// What to say when the machine's process cannot be started.
pub fn explain(error: &Error) -> &'static str {
    if error.raw_os_error() == Some(libc::EPERM) {
        "; the host refuses to switch off the randomisation of addresses (personality(2)), without which the same seed \
         does not give the same bytes: in a container allow it (Docker: `--security-opt seccomp=unconfined`), or start \
         netwarp with `setarch -R`"
    } else {
        ""
    }
}

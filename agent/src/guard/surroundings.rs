//! Makes what the machine's process inherits from its caller the same for every caller, because much of it affects the
//! machine (its memory, the files that its programs may open and their permissions) or keeps it from working.

use std::io::{Error, Result};

/// The umask of the guest's programs decides the permissions of their files; the caller's does not matter.
const UMASK: libc::mode_t = 0o022;
/// Makes personality(2) return the current value without setting one.
const ASK: libc::c_ulong = 0xffff_ffff;
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
    unrandomised()?;
    default_signals();
    if !shadow {
        limit(libc::RLIMIT_DATA, PRIVATE_BYTES)?;
    }
    limit(libc::RLIMIT_FSIZE, FILE_BYTES.max(memory))?;
    // A write beyond the limit fails, as on a full disk, instead of ending the machine.
    // SAFETY: signal() only sets a disposition.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    // SAFETY: umask takes and returns a number.
    unsafe { libc::umask(UMASK) };
    Ok(())
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

/// Switches off address randomisation. The gap that the host would leave below the kernel's heap would be added to the
/// machine's memory (linux_main() in arch/um/kernel/um_arch.c), on whose size that of its hash tables depends. Other
/// settings of the personality (setarch(8)) are reset as well.
fn unrandomised() -> Result<()> {
    let wanted = libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
    // SAFETY: personality takes a number.
    unsafe {
        if libc::personality(wanted) >= 0 {
            return Ok(());
        }
        let refused = Error::last_os_error();
        // Under a filter of system calls the personality may be right nevertheless.
        if libc::personality(ASK) as libc::c_ulong == wanted {
            Ok(())
        } else {
            Err(refused)
        }
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

/// Explains why the machine's process cannot be started.
pub fn explain(error: &Error) -> &'static str {
    if error.raw_os_error() == Some(libc::EPERM) {
        "; the host refuses to switch off the randomisation of addresses (personality(2)), without which the same seed \
         does not give the same bytes: in a container allow it (Docker: `--security-opt seccomp=unconfined`), or start \
         netwarp with `setarch -R`"
    } else {
        ""
    }
}

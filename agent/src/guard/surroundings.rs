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

/// Between fork and exec: only system calls, all async-signal-safe.
pub fn settle() -> Result<()> {
    unrandomised()?;
    default_signals();
    // SAFETY: umask takes and gives a number.
    unsafe { libc::umask(UMASK) };
    Ok(())
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

/// Likewise all. Which are blocked, the standard library takes back.
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

//! seccomp: allows only the system calls that User Mode Linux makes on its host (the imports of its binary, and what
//! the C library does for them). The guest's own system calls are never executed here, whether they fail or not: the
//! processes of its programs have a filter that takes precedence (arch/um/os-Linux/netwarp_stub.c). With ptrace the
//! host skips them (PTRACE_SYSEMU) before it consults a filter.
//!
//! Left out on purpose, because Landlock does not govern them: socket() and all that goes with it (connect() is enough
//! to use a socket in the file system, such as a container engine's), chmod, chown, utime and extended attributes (of
//! any file of the user), truncate(), link(), symlink(), mknod(), setsid() and setpgid() (out of the process group that
//! the guard ends), mounts, namespaces, bpf, io_uring, keys, memory of other processes, shared memory, message queues,
//! locks and leases on files (flock() and requests of fcntl()).

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

const ALLOWED: &[c_long] = &[
    // files
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_close,
    libc::SYS_lseek,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_pipe,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_epoll_create,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    // memory
    libc::SYS_brk,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    // processes: those of the guest's programs
    // Without conditions, so that the host answers from its bitmap: a condition costs programs with many system calls 4
    // % of their time. Landlock prevents tracing other processes.
    libc::SYS_ptrace,
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_tgkill,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getpgrp,
    libc::SYS_getpgid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_arch_prctl,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_restart_syscall,
    // signals and time
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_pause,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_delete,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_time,
    // the host
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrandom,
];

/// Flags of clone(2).
pub const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;
/// Requests to a file. Locks and leases are left out, since other users of a file would wait for them, and larger
/// pipes, since they use up the user's quota.
const REQUESTS: [libc::c_int; 7] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_SETOWN,
];
const F_SETSIG: u64 = 10;
// Flag of mmap(2).
const ANONYMOUS: u64 = libc::MAP_ANONYMOUS as u64;
const GROWING: u64 = libc::MAP_GROWSDOWN as u64;
const TYPE: u64 = libc::MAP_TYPE as u64;
/// Requests to a terminal, without the one that injects input (TIOCSTI).
const TERMINAL: [u64; 3] = [libc::TCGETS, libc::TCSETSW, libc::TIOCGWINSZ];

/// Whether this host filters system calls.
pub fn are_filtered_here() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the call reads four bytes at the address of `action`.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        )
    };
    answer == 0
}

/// Allows the calls listed; all others fail with EPERM, as operations without permission do.
pub fn filter() -> Result<BpfProgram> {
    let mut calls: BTreeMap<c_long, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    calls.extend(conditional()?);
    let filter = SeccompFilter::new(
        calls,
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
        TargetArch::x86_64,
    )?;
    filter.try_into().context("seccomp")
}

/// Calls that are allowed with certain arguments; one matching rule is enough.
fn conditional() -> Result<Vec<(c_long, Vec<SeccompRule>)>> {
    let cutting = libc::O_TRUNC as u64;
    Ok(vec![
        // Before version 3, Landlock lets O_RDONLY | O_TRUNC cut a file.
        (libc::SYS_open, vec![all([is(1, bits(cutting), 0)])?]),
        (libc::SYS_openat, vec![all([is(2, bits(cutting), 0)])?]),
        (libc::SYS_clone, vec![all([is(0, bits(NAMESPACES), 0)])?]),
        // One process, or the machine's group; never all processes of the user (-1).
        (
            libc::SYS_kill,
            vec![all([is(0, SeccompCmpOp::Le, i32::MAX as u64)])?],
        ),
        (
            libc::SYS_prctl,
            vec![
                all([
                    is(0, SeccompCmpOp::Eq, libc::PR_SET_PDEATHSIG as u64),
                    is(1, SeccompCmpOp::Eq, libc::SIGKILL as u64),
                ])?,
                // The guest's programs read the time stamp counter from virtual time (arch/um/os-Linux/netwarp_tsc.c).
                all([
                    is(0, SeccompCmpOp::Eq, libc::PR_SET_TSC as u64),
                    is(1, SeccompCmpOp::Eq, libc::PR_TSC_SIGSEGV as u64),
                ])?,
                all([is(0, SeccompCmpOp::Eq, libc::PR_SET_NO_NEW_PRIVS as u64)])?,
            ],
        ),
        // The filter of the guest's programs, which restricts further. Filters that another process answers for are
        // refused.
        (
            libc::SYS_seccomp,
            vec![
                all([is(
                    0,
                    SeccompCmpOp::Eq,
                    libc::SECCOMP_GET_ACTION_AVAIL as u64,
                )])?,
                all([
                    is(0, SeccompCmpOp::Eq, libc::SECCOMP_SET_MODE_FILTER as u64),
                    is(1, SeccompCmpOp::Eq, libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW),
                ])?,
            ],
        ),
        // Limits can be read. Only the stack's can be set, since root could otherwise raise the others again.
        (
            libc::SYS_prlimit64,
            vec![
                all([
                    is(0, SeccompCmpOp::Eq, 0),
                    SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0),
                ])?,
                all([
                    is(0, SeccompCmpOp::Eq, 0),
                    is(1, SeccompCmpOp::Eq, libc::RLIMIT_STACK.into()),
                ])?,
            ],
        ),
        (libc::SYS_fcntl, requests()?),
        // Memory without a file is private, and RLIMIT_DATA counts it (surroundings.rs).
        (
            libc::SYS_mmap,
            vec![
                all([is(3, bits(ANONYMOUS | GROWING), 0)])?,
                all([is(3, bits(TYPE | GROWING), libc::MAP_PRIVATE as u64)])?,
            ],
        ),
        (
            libc::SYS_ioctl,
            TERMINAL
                .iter()
                .map(|request| all([is(1, SeccompCmpOp::Eq, *request)]))
                .collect::<Result<_>>()?,
        ),
    ])
}

fn requests() -> Result<Vec<SeccompRule>> {
    let named = REQUESTS.iter();
    let mut rules: Vec<_> = named
        .map(|request| all([is(1, SeccompCmpOp::Eq, *request as u64)]))
        .collect::<Result<_>>()?;
    // The signal that reports a file as ready, and no other (SIGKILL).
    rules.push(all([
        is(1, SeccompCmpOp::Eq, F_SETSIG),
        is(2, SeccompCmpOp::Eq, libc::SIGIO as u64),
    ])?);
    Ok(rules)
}

pub fn all<const N: usize>(
    conditions: [Result<SeccompCondition, seccompiler::BackendError>; N],
) -> Result<SeccompRule> {
    let conditions = conditions.into_iter().collect::<Result<_, _>>()?;
    Ok(SeccompRule::new(conditions)?)
}

/// Compares the lower half of an argument, which is all that these calls read.
pub fn is(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

pub fn bits(mask: u64) -> SeccompCmpOp {
    SeccompCmpOp::MaskedEq(mask)
}

//! seccomp for ordinary programs, which Landlock confines otherwise: all system calls are allowed except a few that
//! Landlock does not govern. A call with the numbers of another architecture (32 bits) ends the program.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::syscalls::{NAMESPACES, all, is};

/// Address families that are separate in each network namespace. Others reach the machine or its hypervisor: vsock(7).
const FAMILIES: [c_int; 5] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
    libc::AF_PACKET,
];
const SOCKETS: [c_long; 2] = [libc::SYS_socket, libc::SYS_socketpair];
/// It creates sockets that no filter sees.
const RINGS: c_long = libc::SYS_io_uring_setup;
/// Numbers that the crate libc does not have.
const SYS_SETXATTRAT: c_long = 463;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_OPEN_TREE_ATTR: c_long = 467;
const SYS_FILE_SETATTR: c_long = 469;
/// Refused to programs that decide a congestion control, with any arguments.
const OF_PROGRAMS: &[c_long] = &[
    // out of the process group in which it is ended
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // files of the user elsewhere
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_chown,
    libc::SYS_fchown,
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SYS_SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
    libc::SYS_truncate,
    libc::SYS_flock,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    // other processes
    libc::SYS_setpriority,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
    libc::SYS_ioprio_set,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // namespaces and mounts
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    // the kernel
    RINGS,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // keys, shared memory and message queues of the user
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];
/// Numbers that ptrace, kexec_load, move_pages, process_vm_readv and process_vm_writev have only in the ABI x32.
const OF_X32: &[c_long] = &[521, 528, 533, 539, 540];
const IOCTL_OF_X32: c_long = 514;
/// Requests of fcntl(2) that make other users of a file wait, or use up the user's quota of pipes.
const HOLDING: [c_int; 7] = [
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
    libc::F_SETLEASE,
    libc::F_NOTIFY,
    libc::F_SETPIPE_SZ,
];
/// Requests of ioctl(2) that change attributes of a file that is open for reading (FS_IOC_SETFLAGS, that of 32 bits,
/// FS_IOC_FSSETXATTR), or that type on a terminal (TIOCSTI).
const ATTRIBUTES: [u64; 4] = [0x4008_6602, 0x4004_6602, 0x401c_5820, libc::TIOCSTI];
/// A bit in the number of a call of the ABI x32, which is otherwise the same call.
const X32: c_long = 0x4000_0000;

/// The filter for programs of a lab in real time: only sockets of `FAMILIES`.
pub fn of_lab() -> Result<BpfProgram> {
    let others = FAMILIES.map(|family| {
        let family = family as u64;
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    });
    let others = others.into_iter().collect::<Result<Vec<_>, _>>()?;
    let other_families = SeccompRule::new(others)?;
    let mut refused = BTreeMap::from([(RINGS, Vec::new())]);
    refused.extend(SOCKETS.map(|call| (call, vec![other_families.clone()])));
    filter(refused)
}

/// The filter for a build: no sockets, and no way out of the process group in which its caller ends it.
pub fn of_build() -> Result<BpfProgram> {
    let leaving = [libc::SYS_setsid, libc::SYS_setpgid, RINGS];
    let refused = SOCKETS.into_iter().chain(leaving);
    filter(refused.map(|call| (call, Vec::new())).collect())
}

/// The filters for a program that decides a congestion control: what a build may not do, and what a machine may not do
/// that Landlock does not govern. Programs may have threads and processes, and use the memory and signals of these.
pub fn of_program() -> Result<Vec<BpfProgram>> {
    let alone = SOCKETS.iter().chain(OF_PROGRAMS).chain(OF_X32);
    let mut refused: BTreeMap<c_long, Vec<SeccompRule>> =
        alone.map(|call| (*call, Vec::new())).collect();
    let each = |argument, values: &[u64]| -> Result<Vec<SeccompRule>> {
        let rules = values.iter();
        rules
            .map(|value| all([is(argument, SeccompCmpOp::Eq, *value)]))
            .collect()
    };
    let flags = (0..u64::BITS).map(|bit| 1 << bit);
    let namespaces = flags
        .filter(|flag| NAMESPACES & flag != 0)
        .map(|flag| all([is(0, SeccompCmpOp::MaskedEq(flag), flag)]))
        .collect::<Result<_>>()?;
    refused.extend([
        (libc::SYS_clone, namespaces),
        (
            libc::SYS_prlimit64,
            vec![all([is(0, SeccompCmpOp::Ne, 0)])?],
        ),
        (libc::SYS_prctl, each(0, &[libc::PR_SET_PDEATHSIG as u64])?),
        (libc::SYS_fcntl, each(1, &HOLDING.map(|way| way as u64))?),
        (libc::SYS_ioctl, each(1, &ATTRIBUTES)?),
        (IOCTL_OF_X32, each(1, &ATTRIBUTES)?),
    ]);
    // Its flags are in memory, which a filter does not see. The C library uses clone() if the kernel does not have it.
    let unseen = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok(vec![filter(refused)?, answer(unseen, libc::ENOSYS)?])
}

/// Makes these calls of both ABIs fail with EPERM.
fn filter(refused: BTreeMap<c_long, Vec<SeccompRule>>) -> Result<BpfProgram> {
    answer(refused, libc::EPERM)
}

/// Makes these calls of both ABIs fail with an error.
fn answer(refused: BTreeMap<c_long, Vec<SeccompRule>>, error: c_int) -> Result<BpfProgram> {
    let both = [0, X32].into_iter().flat_map(|bit| {
        let calls = refused.iter();
        calls.map(move |(call, rules)| (call | bit, rules.clone()))
    });
    let filter = SeccompFilter::new(
        both.collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(error as u32),
        TargetArch::x86_64,
    )?;
    filter.try_into().context("seccomp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::ensure;

    /// Makes system calls under filters, in a forked process; returns a bit for each that fails with EPERM.
    fn refused(filters: &[BpfProgram], calls: &[(c_long, c_int)]) -> Result<i32> {
        // SAFETY: the child only makes system calls, and ends without unwinding.
        unsafe {
            let child = libc::fork();
            ensure!(child >= 0, "fork");
            if child == 0 {
                let mut bits = 0;
                let is_applied = filters
                    .iter()
                    .all(|one| seccompiler::apply_filter(one).is_ok());
                for (number, (call, argument)) in calls.iter().enumerate() {
                    let answer = libc::syscall(*call, *argument, libc::SOCK_STREAM, 0, 0);
                    let is_refused = answer < 0 && *libc::__errno_location() == libc::EPERM;
                    bits |= i32::from(is_refused) << number;
                }
                libc::_exit(if is_applied { bits } else { 255 });
            }
            let mut status = 0;
            libc::waitpid(child, &raw mut status, 0);
            ensure!(libc::WIFEXITED(status), "it ended with status {status}");
            Ok(libc::WEXITSTATUS(status))
        }
    }

    #[test]
    fn a_lab_has_the_sockets_of_its_namespace_alone() -> Result<()> {
        let refused = refused(
            &[of_lab()?],
            &[
                (libc::SYS_socket, libc::AF_VSOCK),
                (libc::SYS_socket, libc::AF_ALG),
                (libc::SYS_socket | X32, libc::AF_VSOCK),
                (RINGS, 1),
                (libc::SYS_socket, libc::AF_INET),
                (libc::SYS_socket, libc::AF_UNIX),
                (libc::SYS_getpgid, 0),
            ],
        )?;
        assert_eq!(refused, 0b000_1111);
        Ok(())
    }

    #[test]
    fn a_build_has_no_sockets_and_stays_in_its_group() -> Result<()> {
        let refused = refused(
            &[of_build()?],
            &[
                (libc::SYS_socket, libc::AF_INET),
                (libc::SYS_socket, libc::AF_UNIX),
                (libc::SYS_socketpair, libc::AF_UNIX),
                (libc::SYS_setsid, 0),
                (libc::SYS_setpgid, 0),
                (RINGS, 1),
                (libc::SYS_getpgid, 0),
            ],
        )?;
        assert_eq!(refused, 0b011_1111);
        Ok(())
    }

    #[test]
    fn a_program_has_nothing_outside_of_its_files_but_its_own_threads() -> Result<()> {
        let refused = refused(
            &of_program()?,
            &[
                (libc::SYS_socket, libc::AF_UNIX),
                (libc::SYS_unshare, 0),
                (libc::SYS_ptrace | X32, 0),
                (OF_X32[0] | X32, 0),
                (libc::SYS_clone, libc::CLONE_NEWUSER),
                (libc::SYS_prlimit64, 1),
                (libc::SYS_prctl, libc::PR_SET_PDEATHSIG),
                // Not EPERM: ENOSYS, and calls about the process itself.
                (libc::SYS_clone3, 0),
                (libc::SYS_prlimit64, 0),
                (libc::SYS_getpgid, 0),
            ],
        )?;
        assert_eq!(refused, 0b000_0111_1111);
        Ok(())
    }
}

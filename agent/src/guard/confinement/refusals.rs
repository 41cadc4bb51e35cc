//! seccomp for ordinary programs, which Landlock confines otherwise: all system calls are allowed except a few that
//! Landlock does not govern. A call with the numbers of another architecture (32 bits) ends the program.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

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

/// Makes these calls of both ABIs fail with EPERM.
fn filter(refused: BTreeMap<c_long, Vec<SeccompRule>>) -> Result<BpfProgram> {
    let both = [0, X32].into_iter().flat_map(|bit| {
        let calls = refused.iter();
        calls.map(move |(call, rules)| (call | bit, rules.clone()))
    });
    let filter = SeccompFilter::new(
        both.collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        TargetArch::x86_64,
    )?;
    filter.try_into().context("seccomp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::ensure;

    /// Makes sockets under a filter, in a forked process; returns a bit for each that fails with EPERM.
    fn refused(filter: &BpfProgram, calls: &[(c_long, c_int)]) -> Result<i32> {
        // SAFETY: the child only makes system calls, and ends without unwinding.
        unsafe {
            let child = libc::fork();
            ensure!(child >= 0, "fork");
            if child == 0 {
                let mut bits = 0;
                let is_applied = seccompiler::apply_filter(filter).is_ok();
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
            &of_lab()?,
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
            &of_build()?,
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
}

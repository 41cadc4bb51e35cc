"""A filter of system calls like those of container engines: `python e2e_filter.py EPERM|ENOSYS COMMAND …`.

Refuses what Docker's default profile refuses without capabilities, with the errno given (Docker: EPERM, podman:
ENOSYS), and every personality(2); then becomes the command. Only for x86-64.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator, Sequence

REFUSED = {
    "personality": 135,
    "pivot_root": 155,
    "acct": 163,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "sethostname": 170,
    "setdomainname": 171,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "lookup_dcookie": 212,
    "clock_settime": 227,
    "mbind": 237,
    "set_mempolicy": 238,
    "get_mempolicy": 239,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "migrate_pages": 256,
    "unshare": 272,
    "move_pages": 279,
    "perf_event_open": 298,
    "fanotify_init": 300,
    "open_by_handle_at": 304,
    "setns": 308,
    "kcmp": 312,
    "finit_module": 313,
    "bpf": 321,
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
}
"""Numbers of system calls on x86-64."""
CLONE = 56
NAMESPACES = 0x7E020000
"""Flags of clone(2) that make namespaces."""

# Classic BPF (linux/bpf_common.h) and the answers of a filter (linux/seccomp.h).
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER_AT, _FIRST_ARGUMENT_AT = 0, 16
_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def code_of(refused: Sequence[int], answer: int) -> bytes:
    """The filter's code: these calls, and clones into namespaces, fail with the errno `answer`; clone3 with ENOSYS."""

    def steps() -> Iterator[tuple[int, int, int, int]]:
        yield _LOAD, 0, 0, _NUMBER_AT
        for number in refused:
            missing = number == REFUSED["clone3"]  # libc takes only this answer as one to go on with
            yield _EQUAL, 0, 1, number
            yield _RETURN, 0, 0, _ERRNO | (errno.ENOSYS if missing else answer)
        yield _EQUAL, 0, 3, CLONE
        yield _LOAD, 0, 0, _FIRST_ARGUMENT_AT
        yield _ANY_BIT, 0, 1, NAMESPACES
        yield _RETURN, 0, 0, _ERRNO | answer
        yield _RETURN, 0, 0, _ALLOW

    return b"".join(struct.pack("HBBI", *step) for step in steps())


def apply(refused: Sequence[int], answer: int) -> None:
    """Filter the calls of this process and those that it starts, for good. Raises OSError."""
    code = ctypes.create_string_buffer(code_of(refused, answer))
    program = _Program(len(code) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the filter of system calls")


if __name__ == "__main__":
    apply(list(REFUSED.values()), getattr(errno, sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])

"""What a virtual machine's kernel printed, in its run directory, and how it says that something is wrong."""

import re

CONSOLE = "console.log"

_LOCKING = (
    r"possible |inconsistent lock state|suspicious RCU usage|bad \w+ (?:balance )?detected!|held lock freed!"
    r"|lock held when |Nested lock was not taken|\S+-safe -> \S+-unsafe lock order|\S+/\d+ still has locks held!"
)
"""What kernel/locking/lockdep.c reports, in kernels that check locks."""
_WARNING = (
    rf"WARNING: (?:CPU: \d+ PID: \d+ at |{_LOCKING})"
    r"|BUG: |INFO: (?:possible |trying to register non-static key)|UBSAN: "
)
WARNING = re.compile(rf"^(?:<\d>)?((?:{_WARNING}).*)$", re.MULTILINE)
"""A line with which it warns (WARN(), BUG: of its checks), without its level."""
COMPLAINT = re.compile(rf"{_WARNING}|Kernel panic|netwarp: stuck: ")
"""In a line with which it begins a complaint: a warning, a panic, or that it computes without end."""

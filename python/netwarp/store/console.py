"""The console of a virtual machine's kernel in its run directory, and the patterns of its warnings."""

import re

CONSOLE = "console.log"

_LOCKING = (
    r"possible |inconsistent lock state|suspicious RCU usage|bad \w+ (?:balance )?detected!|held lock freed!"
    r"|lock held when |Nested lock was not taken|\S+-safe -> \S+-unsafe lock order|\S+/\d+ still has locks held!"
)
"""Reports of kernel/locking/lockdep.c, in kernels that check locks."""
_PLACE = r"CPU: \d+ PID: \d+ at |\S+:\d+ at |at "
"""How WARN() goes on: up to Linux 6.12, and later ones with and without a line of source."""
_WARNING = (
    rf"WARNING: (?:{_PLACE}|{_LOCKING})"
    r"|BUG: |INFO: (?:possible |trying to register non-static key)|UBSAN: "
)
WARNING = re.compile(rf"^(?:<\d>)?((?:{_WARNING}).*)$", re.MULTILINE)
"""A line of a warning (WARN(), BUG: of its checks), without its level."""
COMPLAINT = re.compile(rf"{_WARNING}|Kernel panic|netwarp: stuck: ")
"""Part of a line that begins a complaint: a warning, a panic, or the report that it computes without end."""

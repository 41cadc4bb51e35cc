"""A small tuner: raises the largest receive buffer of its network namespace when a socket has used it up.

Started as `python3 grow_rmem.py`, in the foreground; ends with a signal. The sockets' memory
comes from ss(8), whose field `rb` of `skmem` is the socket's receive buffer.
"""

import re
import subprocess
import time
from pathlib import Path

RMEM = Path("/proc/sys/net/ipv4/tcp_rmem")
INTERVAL_S = 0.5
ALMOST = 0.8
LIMIT_BYTES = 16 << 20


def buffers() -> list[int]:
    """The receive buffers of all connections in bytes."""
    shown = subprocess.run(["ss", "-tmnH", "state", "established"], capture_output=True, text=True, check=True).stdout
    return [int(size) for size in re.findall(r"skmem:\(r\d+,rb(\d+),", shown)]


while True:
    least, usual, largest = RMEM.read_text().split()
    if max(buffers(), default=0) >= ALMOST * int(largest) and int(largest) < LIMIT_BYTES:
        grown = 2 * int(largest)
        RMEM.write_text(f"{least} {usual} {grown}")
        print(f"tcp_rmem: {largest} is used up, now {grown}", flush=True)
    time.sleep(INTERVAL_S)

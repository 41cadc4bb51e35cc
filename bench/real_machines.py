"""Machines in real time, for labs over SSH: netwarp's own kernel with network interfaces, and the distribution's sshd.

A machine is a process of this host: User Mode Linux without virtual time, built with the preset `interfaces`. Its root
is the host's, read-only, with fresh directories for what changes. A cable between two machines is a pair of connected
sockets. The network for management is a bridge of TAPs in a network namespace, which takes root. The machines precede
this host's other processes (SCHED_RR), as far as its kernel lets them (sched_rt_runtime_us).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from netwarp.kernels.cache import find_kernel
from netwarp.kernels.errors import KernelError

KERNEL = "interfaces"
"""The name of the kernel, and of its preset: `netwarp kernel build --name interfaces --config interfaces`."""
PROGRAMS = ("/usr/sbin/sshd", "ssh", "ssh-keygen", "nsenter", "unshare", "setpriv", "chrt", "taskset", "ip")
MEMORY_MB = 1500
NO_RSEQ = "glibc.pthread.rseq=0"
"""As in the agent (guard/machine.rs): the host must not write to the area for rseq(2) of the kernel's C library."""
PATIENCE_S = 30.0
_INIT = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount --bind {place} /mnt
for directory in /tmp /run /var/tmp /root; do mount -t tmpfs tmpfs $directory; done
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm /run/sshd
mount -t devpts devpts /dev/pts
hostname {name}
ip link set lo up
{interfaces}
exec /usr/sbin/sshd -D -e -f /mnt/{name}.conf
"""
_CONFIG = """\
Port 22
ListenAddress {address}
HostKey /mnt/{name}.key
AuthorizedKeysFile /mnt/id.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
"""
_CLIENT = """\
Host {address}
  User root
  IdentityFile {place}/id
  IdentitiesOnly yes
  UserKnownHostsFile {place}/known
"""


@dataclass(frozen=True)
class Machine:
    """A machine: its address in the network for management (a /24), its interfaces by the names of their cables, and
    the host's CPUs that it may use (None: all)."""

    name: str
    address: str
    interfaces: Mapping[str, str]
    cpus: str | None = None


STUDY = (
    Machine("client", "192.168.122.104", {"near": "enp0s3"}),
    Machine("bottleneck", "192.168.122.103", {"near": "enp0s3", "far": "enp0s8"}),
    Machine("server", "192.168.122.105", {"far": "enp0s8"}),
)
"""The machines of the inventory that is shipped with the scenario `three-node`."""


@dataclass
class Running:
    """Machines that run, by their names, and how to reach them."""

    place: Path
    control: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def prefix(self) -> list[str]:
        """Prefix that runs a command where the machines can be reached."""
        return ["nsenter", f"--net=/proc/{self.control}/ns/net", "--"]

    @property
    def ssh_config(self) -> Path:
        """The configuration for `ssh -F`, and for `ssh_config` of an inventory."""
        return self.place / "ssh_config"

    def inside(self, address: str, command: str) -> str:
        """The output of a shell command on a machine. Raises RuntimeError with its errors if it fails."""
        words = [
            *self.prefix,
            "ssh",
            "-F",
            str(self.ssh_config),
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=5",
            address,
            command,
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stderr}")
        return done.stdout


def missing() -> str | None:
    """Name what this host lacks for such machines, as a reason; None if nothing."""
    if os.geteuid() != 0:
        return "the network for management takes root"
    if lacking := [name for name in PROGRAMS if shutil.which(name) is None]:
        return f"it takes {', '.join(lacking)}"
    if not Path("/dev/net/tun").exists():
        return "the network for management takes /dev/net/tun"
    try:
        find_kernel(KERNEL)
    except KernelError:
        return f"it takes `netwarp kernel build --name {KERNEL} --config {KERNEL}`"
    return None


@contextlib.contextmanager
def machines(place: Path, wanted: Sequence[Machine] = STUDY) -> Iterator[Running]:
    """Start machines, and end them with the block. `place` is an existing directory for keys, logs and the machines'
    memory. Raises RuntimeError with the console of a machine that does not come up."""
    _write_keys(place, wanted)
    with contextlib.ExitStack() as stack:
        control = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"])
        stack.callback(_end, control)
        running = Running(place, control.pid)
        _wait_for_namespace(control.pid)
        _connect(running, wanted)
        ends = _cables(stack, wanted)
        for number, machine in enumerate(wanted):
            process = _start(running, machine, number, ends[machine.name])
            stack.callback(_end, process)
            running.processes[machine.name] = process
        for machine in wanted:
            _wait(running, machine)
        yield running


def _write_keys(place: Path, wanted: Sequence[Machine]) -> None:
    known = []
    for name in ("id", *(f"{machine.name}.key" for machine in wanted)):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / name))
    for number, machine in enumerate(wanted):
        key = (place / f"{machine.name}.key.pub").read_text().split()
        known.append(f"{machine.address} {key[0]} {key[1]}\n")
        facts = {"name": machine.name, "address": machine.address, "place": place}
        (place / f"{machine.name}.conf").write_text(_CONFIG.format(**facts))
        init = place / f"{machine.name}.init"
        init.write_text(_INIT.format(interfaces=_interfaces(machine, number), **facts))
        init.chmod(0o755)
    (place / "known").write_text("".join(known))
    (place / "ssh_config").write_text("".join(_CLIENT.format(address=m.address, place=place) for m in wanted))


def _interfaces(machine: Machine, number: int) -> str:
    """Commands that name a machine's interfaces: `vec0` is its end of the network for management."""
    lines = [
        "ip link set vec0 name eth0 up",
        f"ip address add {machine.address}/24 dev eth0",
    ]
    # They stay up, since taking one down would close its socket.
    lines += [f"ip link set vec{n} name {name} up" for n, name in enumerate(machine.interfaces.values(), 1)]
    return "\n".join(lines)


def _connect(running: Running, wanted: Sequence[Machine]) -> None:
    """Make the network for management, whose address .254 is this host's."""
    inside = [*running.prefix, "ip"]
    _run(*inside, "link", "set", "lo", "up")
    _run(*inside, "link", "add", "mgmt", "type", "bridge")
    # The machines take no frames that are longer than the MTU.
    _run(*inside, "link", "set", "mgmt", "gso_max_segs", "1")
    _run(*inside, "address", "add", f"{wanted[0].address.rpartition('.')[0]}.254/24", "dev", "mgmt")
    _run(*inside, "link", "set", "mgmt", "up")
    for number in range(len(wanted)):
        _run(*inside, "tuntap", "add", f"m{number}", "mode", "tap")
        _run(*inside, "link", "set", f"m{number}", "master", "mgmt", "up")


def _cables(stack: contextlib.ExitStack, wanted: Sequence[Machine]) -> dict[str, list[int]]:
    """The descriptors of each machine's ends of its cables, in the order of its interfaces."""
    pairs: dict[str, list[socket.socket]] = {}
    ends: dict[str, list[int]] = {}
    for machine in wanted:
        for cable in machine.interfaces:
            if cable not in pairs:
                pairs[cable] = list(socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                stack.callback(_close, pairs[cable][:])
            ends.setdefault(machine.name, []).append(pairs[cable].pop().fileno())
    return ends


def _close(sockets: Sequence[socket.socket]) -> None:
    for end in sockets:
        end.close()


def _start(running: Running, machine: Machine, number: int, ends: Sequence[int]) -> subprocess.Popen[bytes]:
    place = running.place
    arguments = [
        f"mem={MEMORY_MB}M",
        *("rootfstype=hostfs", "root=/dev/root", "ro", f"init={place}/{machine.name}.init"),
        *("quiet", "loglevel=5", "con=null", "con0=null,fd:1", "panic=-1", "fb_tunnels=none"),
        *(f"umid={machine.name}", f"uml_dir={place}/"),
        f"vec0:transport=tap,ifname=m{number},mac=52:54:00:00:{number:02x}:00",
        *(f"vec{n}:transport=fd,fd={fd},mac=52:54:00:00:{number:02x}:{n:02x}" for n, fd in enumerate(ends, 1)),
    ]
    pinned = ["taskset", "--cpu-list", machine.cpus] if machine.cpus else []
    kernel = find_kernel(KERNEL).path
    with (place / f"{machine.name}.console").open("wb") as console:
        return subprocess.Popen(
            [*running.prefix, "chrt", "--rr", "1", *pinned, "setpriv", "--pdeathsig", "KILL", str(kernel), *arguments],
            env={"PATH": os.environ["PATH"], "HOME": str(place), "TMPDIR": str(place), "GLIBC_TUNABLES": NO_RSEQ},
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            pass_fds=ends,
        )


def _wait(running: Running, machine: Machine) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            running.inside(machine.address, "true")
            return
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            ended = running.processes[machine.name].poll() is not None
            if ended or time.monotonic() > deadline:
                console = (running.place / f"{machine.name}.console").read_text(errors="replace")
                raise RuntimeError(f"{machine.name} does not come up: {error}\n{console[:4000]}") from error
            time.sleep(0.2)


def _wait_for_namespace(pid: int) -> None:
    own = Path("/proc/self/ns/net").readlink()
    deadline = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}/ns/net").readlink() == own:
        if time.monotonic() > deadline:
            raise RuntimeError("unshare makes no network namespace")
        time.sleep(0.01)


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()

"""Three hosts in namespaces of this machine, each with the distribution's sshd, and the cables between them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from e2e_command import NETWARP, Answer, environment

NAMES = ("client", "bottleneck", "server")


@dataclass(frozen=True)
class Layout:
    """Addresses of the hosts in a network of /24, and their interfaces at the links between them."""

    addresses: Mapping[str, str]
    interfaces: Mapping[str, Mapping[str, str]]

    @property
    def names(self) -> list[str]:
        """All interfaces, each once."""
        return sorted({name for own in self.interfaces.values() for name in own.values()})


USUAL = Layout(
    {"client": "10.99.0.1", "bottleneck": "10.99.0.2", "server": "10.99.0.3"},
    {"client": {"near": "eth1"}, "bottleneck": {"near": "eth1", "far": "eth2"}, "server": {"far": "eth1"}},
)
STUDY = Layout(
    {"client": "192.168.122.104", "bottleneck": "192.168.122.103", "server": "192.168.122.105"},
    {"client": {"near": "enp0s3"}, "bottleneck": {"near": "enp0s3", "far": "enp0s8"}, "server": {"far": "enp0s8"}},
)
"""The layout of the inventory that is shipped with the scenario `three-node`."""
CLOCKS = {"client": "3000000000 60", "bottleneck": "-7000000000 -80", "server": "500000000 40"}
"""Each host's clock relative to this machine's: nanoseconds ahead, and parts in a million that it gains."""
_NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"]
_SETUP = """\
set -e
mount --make-rprivate /
mount --bind {place} /mnt
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t sysfs sysfs /sys
for file in passwd shadow sudoers; do mount --bind /mnt/$file /etc/$file; done
mkdir -p /run/sshd /run/sudo
hostname {name}
ip link set lo up
exec /usr/sbin/sshd -D -f /mnt/{name}.conf -E /mnt/{name}.log
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
LogLevel VERBOSE
SetEnv NETWARP_TEST_CLOCK="{clock}"
"""
_PROCESSES = "ps -e -o args="
"""Run alone, since a program in a pipe is listed under one name before it has started and another afterwards."""
_USERS = ("lab", "guest")
"""Accounts of every host besides root: the first may become root by sudo, the second may not."""
_CLIENT = """\
Host {name} {address}
  HostName {address}
  User root
  IdentityFile {place}/id
  IdentitiesOnly yes
  UserKnownHostsFile {place}/known
"""


@dataclass
class Hosts:
    """The hosts, the namespace in which netwarp runs, and the files for reaching them."""

    place: Path
    control: subprocess.Popen[bytes]
    layout: Layout = USUAL
    pids: dict[str, int] = field(default_factory=dict)
    sshds: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def prefix(self) -> list[str]:
        """Prefix that runs a command where all hosts can be reached."""
        return ["nsenter", f"--net=/proc/{self.control.pid}/ns/net", "--"]

    @property
    def inventory(self) -> Path:
        """The inventory of these hosts."""
        return self.place / "inventory.toml"

    def write_inventory(self, path: Path, replaced: Mapping[str, str] | None = None, more: str = "") -> Path:
        """Write an inventory; `replaced` are tables of nodes that differ from the usual ones (empty: none), `more`
        is in each."""
        tables = [f'ssh_config = "{self.place}/ssh_config"\n']
        for name in NAMES:
            interfaces = "\n".join(f'{link} = "{own}"' for link, own in self.layout.interfaces[name].items())
            table = f'[nodes.{name}]\nhost = "{name}"\n{more}[nodes.{name}.interfaces]\n{interfaces}\n'
            tables.append((replaced or {}).get(name, table))
        path.write_text("\n".join(tables))
        return path

    def inside(self, name: str, *words: str) -> str:
        """Run a command on a host; return its output."""
        done = subprocess.run(
            ["nsenter", "--target", str(self.pids[name]), "--all", "--", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def run(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Answer:
        """Run netwarp where the hosts can be reached."""
        done = subprocess.run(
            [*self.prefix, str(NETWARP), *map(str, arguments)],
            env=environment(env),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            stdin=subprocess.DEVNULL,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start `netwarp` there, without waiting for it."""
        return subprocess.Popen(
            [*self.prefix, str(NETWARP), *map(str, arguments)],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def listing(self) -> dict[str, dict[str, str]]:
        """Everything that a run might change on each host: interfaces, queues, addresses, routes, sysctls,
        processes, files."""
        return {name: self._listing(name) for name in NAMES}

    def _listing(self, name: str) -> dict[str, str]:
        interfaces = " ".join(self.layout.names)
        commands = {
            "links": "ip -d link",
            "offload": f"for i in {interfaces}; do ethtool -k $i 2>/dev/null || true; done",
            "addresses": "ip address",
            "routes": "ip route show table all; ip -6 route show table all",
            "queues": f"tc qdisc; for i in {interfaces}; do tc class show dev $i 2>/dev/null || true; done",
            "sysctls": "sysctl -a 2>/dev/null --pattern '^net'",
            "processes": f"exec {_PROCESSES}",
            "files": "ls -A /tmp /run",
        }
        # These are counted or drawn by the kernel.
        moving = ("nf_conntrack_count", "tcp_fastopen_key", "stable_secret", "cookie", _PROCESSES)
        out = {what: self.inside(name, "sh", "-c", command) for what, command in commands.items()}
        return {
            what: "\n".join(line for line in text.splitlines() if not any(word in line for word in moving))
            for what, text in out.items()
        }

    def settled(self, before: Mapping[str, Mapping[str, str]], seconds: float = 30.0) -> dict[str, dict[str, str]]:
        """The listing, once it equals `before`, or after a limit of time."""
        deadline = time.monotonic() + seconds
        while (now := self.listing()) != before and time.monotonic() < deadline:
            time.sleep(0.2)
        return now

    def agents(self, name: str) -> list[int]:
        """The agent's processes on a host, by their ids here."""
        return [pid for pid in self._processes(name) if b"netwarp-agent" in _words(pid)[:1][0].split(b"/")[-1:]]

    def logins(self, name: str) -> list[int]:
        """The processes of sshd on a host that serve connections."""
        own = self.pids[name]
        return [pid for pid in self._processes(name) if _words(pid)[0].startswith(b"sshd") and pid != own]

    def _processes(self, name: str) -> list[int]:
        namespace = Path(f"/proc/{self.pids[name]}/ns/net").readlink()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "ns/net").readlink() == namespace and _words(int(process.name))[0]:
                    found.append(int(process.name))
        return found


def _words(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return [b""]


@contextlib.contextmanager
def hosts(place: Path, clocks: Mapping[str, str] | None = None, layout: Layout = USUAL) -> Iterator[Hosts]:
    """Make three hosts, until the block ends. Needs root."""
    for name in ("id", *(f"{name}.key" for name in NAMES)):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / name))
    _accounts(place)
    control = subprocess.Popen(["unshare", "--net", "--kill-child", "--fork", "sleep", "infinity"])
    with contextlib.ExitStack() as stack:
        stack.callback(_end, control)
        _wait(lambda: _children(control.pid) != [])
        made = Hosts(place, control, layout)
        for name, address in layout.addresses.items():
            clock = (CLOCKS if clocks is None else clocks).get(name, "")
            (place / f"{name}.conf").write_text(_CONFIG.format(name=name, address=address, clock=clock))
            sshd = subprocess.Popen(
                [*_NAMESPACES, "sh", "-c", _held(place, name)],
            )
            stack.callback(_end, sshd)
            made.sshds[name] = sshd
            _wait(partial(_children, sshd.pid))
            made.pids[name] = _children(sshd.pid)[0]
        _connect(made)
        _start_sshds(made)
        yield made


def _accounts(place: Path) -> None:
    """The hosts' own users and sudoers; sshd reads the key as the user who logs in."""
    place.chmod(0o711)
    (place / "id.pub").chmod(0o644)
    here = [Path("/etc", name).read_text() for name in ("passwd", "shadow")]
    users = "".join(f"{name}:x:{4711 + n}:65534::/tmp:/bin/sh\n" for n, name in enumerate(_USERS))
    contents = {
        "passwd": (here[0] + users, 0o644),
        "shadow": (here[1] + "".join(f"{name}:*:19000:0:99999:7:::\n" for name in _USERS), 0o640),
        "sudoers": (f"root ALL=(ALL) ALL\n{_USERS[0]} ALL=(root) NOPASSWD: ALL\n", 0o440),
    }
    for name, (text, mode) in contents.items():
        (place / name).write_text(text)
        (place / name).chmod(mode)


def _held(place: Path, name: str) -> str:
    """Waits until its network is there."""
    return f"while [ ! -e {place}/{name}.go ]; do sleep 0.05; done\n" + _SETUP.format(place=place, name=name)


def _connect(made: Hosts) -> None:
    control = str(_children(made.control.pid)[0])
    inside = ["nsenter", "--target", control, "--net", "--"]
    _run(*inside, "ip", "link", "add", "mgmt", "type", "bridge")
    network = made.layout.addresses["client"].rpartition(".")[0]
    _run(*inside, "ip", "address", "add", f"{network}.254/24", "dev", "mgmt")
    _run(*inside, "ip", "link", "set", "mgmt", "up")
    for number, name in enumerate(NAMES, 1):
        pid = str(made.pids[name])
        words = ["ip", "link", "add", f"m{number}", "type", "veth", "peer", "name", "eth0", "netns", pid]
        _run(*inside, *words)
        _run(*inside, "ip", "link", "set", f"m{number}", "master", "mgmt", "up")
        _inside(pid, "ip", "address", "add", f"{made.layout.addresses[name]}/24", "dev", "eth0")
        _inside(pid, "ip", "link", "set", "eth0", "up")
    client, bottleneck, server = (str(made.pids[name]) for name in NAMES)
    own, middle, other = (made.layout.interfaces[name] for name in NAMES)
    _cable(client, own["near"], bottleneck, middle["near"])
    _cable(bottleneck, middle["far"], server, other["far"])
    # One of the hosts has been set up already; the others' cables lie unused.
    _inside(bottleneck, "ip", "link", "set", middle["near"], "up")
    for pid, interface in ((bottleneck, middle["far"]), (server, other["far"])):
        # An interface that has never been up has the queue noop, which cannot be restored.
        _inside(pid, "ip", "link", "set", interface, "up")
        _inside(pid, "ip", "link", "set", interface, "down")
    _inside(client, "ip", "link", "set", own["near"], "up")
    _inside(client, "ip", "address", "add", "172.20.7.1/24", "dev", own["near"])
    _inside(client, "ip", "route", "add", "172.21.0.0/16", "via", "172.20.7.9")
    _inside(client, "tc", "qdisc", "replace", "dev", own["near"], "root", "handle", "7:", "pfifo", "limit", "77")


def _cable(a: str, own: str, b: str, other: str) -> None:
    _inside(a, "ip", "link", "add", own, "type", "veth", "peer", "name", other, "netns", b)


def _start_sshds(made: Hosts) -> None:
    config, known = [], []
    for name, address in made.layout.addresses.items():
        config.append(_CLIENT.format(name=name, address=address, place=made.place))
        key = (made.place / f"{name}.key.pub").read_text().split()
        known.append(f"{address} {key[0]} {key[1]}\n")
        (made.place / f"{name}.go").touch()
    (made.place / "ssh_config").write_text("".join(config))
    (made.place / "known").write_text("".join(known))
    made.write_inventory(made.inventory)
    for name in NAMES:
        _wait(partial(_is_ready, made, name))


def _is_ready(made: Hosts, name: str) -> bool:
    """Whether sshd listens, and duplicate address detection, which would change the listing, is over."""
    listens = ":0016 " in made.inside(name, "cat", "/proc/net/tcp")
    return listens and "tentative" not in made.inside(name, "ip", "address")


def _inside(pid: str, *words: str) -> None:
    _run("nsenter", "--target", pid, "--net", "--", *words)


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _wait(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def _end(process: subprocess.Popen[bytes]) -> None:
    for child in _children(process.pid):
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
    process.kill()
    process.wait()


_PROGRAMS = ("/usr/sbin/sshd", "ssh", "nsenter", "unshare", "ethtool", "sudo")


def missing_programs(names: Sequence[str] = _PROGRAMS) -> list[str]:
    """Programs that the hosts need and this machine lacks."""
    return [name for name in names if shutil.which(name) is None]

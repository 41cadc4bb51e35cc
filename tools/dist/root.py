"""Minimal roots of distributions, in which wheels are built and tried: by mmdebstrap, which needs root here."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.dist.programs import DistError

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
"""The certificates of this machine, by which programs in a root know servers as this machine does."""
UBUNTU = "NETWARP_UBUNTU_MIRROR"
"""An environment variable: a mirror of Ubuntu, whose keys a Debian does not have."""
OF_UBUNTU = ("noble",)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_USER = 1000
_HOME = "/home/user"
# File systems and files of this machine that a root needs, in a mount namespace that ends with the command.
_ENTER = """
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
for name in resolv.conf hosts; do cat "/etc/$name" > "$1/etc/$name"; done
cp --dereference "$2" "$1/etc/machine-certificates.crt"
exec chroot --userspec="$3" "$1" /usr/bin/env --chdir="$4" -i "${@:5}"
"""


@dataclass(frozen=True)
class Root:
    """A root file system, in which commands are run as its ordinary user or as root."""

    path: Path

    @property
    def home(self) -> Path:
        """The user's home directory, as seen from here."""
        return self.path / _HOME.lstrip("/")

    def run(
        self,
        *words: str,
        root: bool = False,
        directory: str = _HOME,
        environment: Mapping[str, str] | None = None,
        binds: Mapping[Path, str] | None = None,
        network: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command with a fixed environment; `binds` are places here that are also there; without a
        `network` it has no interface but a loopback that is down.

        The result has its exit code and output; nothing is raised.
        """
        variables = {"PATH": _PATH, "HOME": "/root" if root else _HOME, "LC_ALL": "C.UTF-8", "TMPDIR": "/tmp"}
        variables |= {name: "/etc/machine-certificates.crt" for name in ("PIP_CERT", "SSL_CERT_FILE")}
        settings = [f"{name}={value}" for name, value in {**variables, **(environment or {})}.items()]
        script = ["set -e"]
        for place, there in (binds or {}).items():
            (self.path / there.lstrip("/")).mkdir(parents=True, exist_ok=True)
            script.append(f'mount --bind "{place}" "$1{there}"')
        user = "0:0" if root else f"{_USER}:{_USER}"
        return subprocess.run(
            [
                *("unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"])),
                *("bash", "-c", "\n".join([*script, _ENTER])),
                *("enter", str(self.path), str(CERTIFICATES), user, directory, *settings, *words),
            ],
            capture_output=True,
            text=True,
            check=False,
        )


def make_root(path: Path, suite: str, packages: Sequence[str]) -> Root:
    """Make a root of a suite of Debian or Ubuntu, with only essential packages and these. Raises DistError."""
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        raise DistError(
            "Roots are made by root and with mmdebstrap: apt-get install mmdebstrap, then run this as root."
        )
    mirror = []
    if suite in OF_UBUNTU:
        if (address := os.environ.get(UBUNTU)) is None:
            raise DistError(f"A root of Ubuntu needs a mirror: set {UBUNTU} to its address, which ends in /ubuntu.")
        mirror = [f"deb [trusted=yes] {address} {suite} main universe"]
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}"]
    command += ['--aptopt=Acquire::Check-Valid-Until "false"', suite, str(path), *mirror]  # mirrors may be weeks behind
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DistError(f"`{' '.join(command)}` failed:\n{done.stderr[-2000:]}")
    home = path / _HOME.lstrip("/")
    home.mkdir(parents=True)
    os.chown(home, _USER, _USER)
    with (path / "etc/passwd").open("a") as users:
        users.write(f"user:x:{_USER}:{_USER}::{_HOME}:/bin/sh\n")
    return Root(path)

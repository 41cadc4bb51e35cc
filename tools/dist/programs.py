"""The wheel `netwarp-tools`: programs that netwarp runs in a lab, with their loader, libraries and tables.

`python -m tools.dist.programs --out DIRECTORY` takes the files from the packages of Debian 12 that
packaging/programs.toml pins, fetched by apt-get, which needs neither root nor Debian 12, and unpacked here. Nothing is
compiled, so every machine makes the same bytes. A mirror keeps only the last version of a package: with `--or-newer`, a
version that is gone is replaced by the one that is there, with a warning. Exit code 0: written; 1: not.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tools.dist.wheels import ROOT, File, Wheel

PINS = ROOT / "packaging/programs.toml"
PACKAGE = "netwarp_tools"
MIRROR = "NETWARP_DEBIAN_MIRROR"
_SUITE = "bookworm"
_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_HELPER = "/usr/lib/apt/apt-helper"
_SOURCE_FILE = re.compile(r"'([^']+)' (\S+) \d+ SHA256:([0-9a-f]{64})$")
"""A line of `apt-get source --print-uris`."""
_MAGIC = b"!<arch>\n"
_HEADER_BYTES = 60
_INIT = '''"""Programs that netwarp runs in a lab, with their loader, libraries and tables: files of Debian 12."""
'''
_ABOUT = """The programs tc, iperf3 and tcpdump as netwarp runs them in its labs, so that these depend
on no program of the machine: files of Debian 12's packages, unchanged, each with its own licence. Their sources are
Debian's source packages, which are beside each release of netwarp.
"""


class DistError(Exception):
    """A wheel cannot be built; the message says why and what to do."""


@dataclass(frozen=True)
class Pin:
    """A package of Debian: version, SHA-256 (hex) of its file, source package and version (`glibc=2.36-9`), and its
    files: place in the wheel → path in the package."""

    name: str
    version: str
    sha256: str
    source: str
    files: Mapping[str, str]

    @property
    def archive(self) -> str:
        """The name that apt-get gives the package's file."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_amd64.deb"


def read_pins(path: Path = PINS) -> list[Pin]:
    """Read the pinned packages."""
    return [Pin(name, **facts) for name, facts in tomllib.loads(path.read_text()).items()]


def tools_wheel(packages: Mapping[str, bytes], pins: Sequence[Pin]) -> Wheel:
    """The wheel of the pinned files of these packages (name → content of the .deb). Raises DistError."""
    files, licences = {f"{PACKAGE}/__init__.py": File(_INIT.encode())}, {}
    for pin in pins:
        with unpacked(packages[pin.name]) as archive:
            names = {member.name.removeprefix("./"): member for member in archive if member.isfile()}
            for place, path in pin.files.items():
                content = _content(archive, names, path, pin)
                files[f"{PACKAGE}/{place}"] = File(content, program=not place.startswith("tc/"))
            licences[pin.name] = _content(archive, names, f"usr/share/doc/{pin.name}/copyright", pin)
    return Wheel(
        "netwarp-tools",
        "The programs that netwarp runs in a lab: tc, iperf3, tcpdump, and netem's distributions",
        "GPL-2.0-or-later AND LGPL-2.1-or-later AND Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause AND Zlib",
        dict(sorted(files.items())),
        licences,
        _ABOUT,
        parts=tuple((pin.name, pin.version, hashlib.sha256(packages[pin.name]).hexdigest()) for pin in pins),
    )


def unpacked(package: bytes) -> tarfile.TarFile:
    """The files of a .deb, an archive of ar(1) with a compressed tar archive in it. Raises DistError."""
    if not package.startswith(_MAGIC):
        raise DistError("A package of Debian does not begin as one.")
    at = len(_MAGIC)
    while at < len(package):
        header = package[at : at + _HEADER_BYTES]
        name, size = header[:16].decode().strip().rstrip("/"), int(header[48:58])
        at += _HEADER_BYTES
        if name == "data.tar.xz":
            return tarfile.open(fileobj=io.BytesIO(lzma.decompress(package[at : at + size])))
        at += size + size % 2
    raise DistError("A package of Debian has no data.tar.xz.")


def _content(archive: tarfile.TarFile, names: Mapping[str, tarfile.TarInfo], path: str, pin: Pin) -> bytes:
    found = path if path in names else _renamed(path, names)
    file = archive.extractfile(names[found]) if found else None
    if file is None:
        raise DistError(f"The package {pin.name} has no {path}: correct {PINS.name}.")
    return file.read()


def _renamed(path: str, names: Mapping[str, tarfile.TarInfo]) -> str | None:
    """The library of the same interface in another version of its package: `libbpf.so.1.1.2` → `libbpf.so.1.*`."""
    stem, so, version = path.partition(".so.")
    pattern = f"{stem}.so.{version.partition('.')[0]}*"
    return next((name for name in sorted(names) if so and fnmatch(name, pattern)), None)


def fetched(pins: Sequence[Pin], cache: Path, *, or_newer: bool = False) -> dict[str, bytes]:
    """Return the packages by their names, from the cache, or from a mirror of Debian into it. Raises DistError."""
    cache.mkdir(parents=True, exist_ok=True)
    found = {pin.name: content for pin in pins if (content := _intact(cache / pin.archive, pin)) is not None}
    missing = [pin for pin in pins if pin.name not in found]
    if missing:
        with tempfile.TemporaryDirectory(prefix="netwarp-apt-") as place:
            for pin, content in _downloaded(missing, Path(place), or_newer):
                found[pin.name] = content
                if _is_pinned(content, pin):
                    (cache / pin.archive).write_bytes(content)
    return found


def _intact(path: Path, pin: Pin) -> bytes | None:
    content = path.read_bytes() if path.is_file() else b""
    return content if _is_pinned(content, pin) else None


def _is_pinned(content: bytes, pin: Pin) -> bool:
    return hashlib.sha256(content).hexdigest() == pin.sha256


def _downloaded(pins: Sequence[Pin], place: Path, or_newer: bool) -> Iterator[tuple[Pin, bytes]]:
    apt = AptGet(place)
    there = apt.versions([pin.name for pin in pins])
    gone = [pin for pin in pins if pin.version not in there.get(pin.name, ())]
    if gone and not or_newer:
        raise DistError(
            f"The mirror {apt.mirror} does not have {', '.join(f'{pin.name} {pin.version}' for pin in gone)} any more. "
            f"Set {MIRROR} to a mirror that keeps old versions, or pin the present ones in {PINS.name}."
        )
    for pin in gone:
        print(f"warning: {pin.name} {pin.version} is gone; taken in its place: {there[pin.name][0]}", file=sys.stderr)
    apt.run("download", *(pin.name if pin in gone else f"{pin.name}={pin.version}" for pin in pins))
    for pin in pins:
        content = next(place.glob(f"{pin.name}_*_amd64.deb")).read_bytes()
        if pin not in gone and not _is_pinned(content, pin):
            raise DistError(f"{pin.name} {pin.version} has another SHA-256 than {PINS.name} says.")
        yield pin, content


@dataclass(frozen=True)
class SourceFile:
    """A file of a source package: its address, name, and SHA-256 (hex)."""

    address: str
    name: str
    sha256: str

    def is_in(self, place: Path) -> bool:
        """Whether a directory has this file, with these bytes."""
        path = place / self.name
        return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256


class AptGet:
    """apt-get with separate state in a directory, for packages of Debian 12 on any machine that has apt."""

    def __init__(self, place: Path, *, sources: bool = False) -> None:
        self.place, self.mirror = place, debian_mirror()
        signed = f"signed-by={_KEYS}" if _KEYS.is_file() else "trusted=yes"  # pinned by SHA-256 in any case
        kind = "deb-src" if sources else "deb"
        (place / "sources.list").write_text(f"{kind} [arch=amd64 {signed}] {self.mirror} {_SUITE} main\n")
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (place / folder).mkdir(parents=True)
        (place / "state/status").touch()
        (place / "apt.conf").write_text(
            f'Dir::State "{place}/state";\nDir::State::status "{place}/state/status";\nDir::Cache "{place}/cache";\n'
            f'Dir::Etc::sourcelist "{place}/sources.list";\nDir::Etc::sourceparts "/dev/null";\n'
            'APT::Architecture "amd64";\nAPT::Architectures { "amd64"; };\nAPT::Sandbox::User "root";\n'
        )
        self.run("update")

    def run(self, *words: str, directory: Path | None = None) -> str:
        """Run apt-get in this directory, or in its own; return its output. Raises DistError."""
        return _output(
            ["apt-get", "-qq", *words], directory or self.place, {"APT_CONFIG": str(self.place / "apt.conf")}
        )

    def source_files(self, source: str) -> list[SourceFile]:
        """The files of a source package (`glibc=2.36-9`), as the mirror's index lists them. Raises DistError."""
        lines = self.run("source", "--print-uris", "--download-only", source).splitlines()
        return [SourceFile(*found.groups()) for line in lines if (found := _SOURCE_FILE.match(line))]

    def fetch(self, file: SourceFile, place: Path) -> None:
        """Fetch a file of a source package, checked by its SHA-256. Raises DistError."""
        command = [_HELPER, "download-file", file.address, str(place), f"SHA256:{file.sha256}"]
        _output(command, self.place, {"APT_CONFIG": str(self.place / "apt.conf")})

    def versions(self, names: Sequence[str]) -> dict[str, list[str]]:
        """The versions of packages that the mirror has, the newest first."""
        environment = {"APT_CONFIG": str(self.place / "apt.conf")}
        found: dict[str, list[str]] = {}
        for line in _output(["apt-cache", "madison", *names], self.place, environment).splitlines():
            name, version, _ = (word.strip() for word in line.split("|"))
            found.setdefault(name, []).append(version)
        return found


def debian_mirror() -> str:
    """The mirror of Debian that this machine's apt uses, unless the environment names one. Raises DistError."""
    if named := os.environ.get(MIRROR):
        return named
    # `Identifier: Packages` are the indices of binary packages.
    targets = _output(["apt-get", "indextargets", "--format", "$(LABEL)|$(REPO_URI)", "Identifier: Packages"], None, {})
    for line in targets.splitlines():
        label, _, uri = line.partition("|")
        if label == "Debian":
            return uri
    raise DistError(
        f"This machine's apt has no mirror of Debian: set {MIRROR} to one, an address that ends in /debian."
    )


def _output(command: Sequence[str], directory: Path | None, environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env={**os.environ, "LC_ALL": "C", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise DistError(
            f"{command[0]} does not run ({error.strerror}). Install netwarp-tools as a wheel instead."
        ) from None
    if done.returncode != 0:
        raise DistError(f"`{' '.join(command)}` failed:\n{done.stderr.strip()}")
    return done.stdout


def packages_cache() -> Path:
    """The directory in which fetched packages and sources are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "netwarp", "packages")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the wheel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="directory of the wheel")
    parser.add_argument("--cache", type=Path, default=packages_cache(), help="directory of fetched packages")
    parser.add_argument("--or-newer", action="store_true", help="accept other versions than the pinned ones")
    given = parser.parse_args(arguments)
    pins = read_pins()
    try:
        print(tools_wheel(fetched(pins, given.cache, or_newer=given.or_newer), pins).write(given.out))
    except DistError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

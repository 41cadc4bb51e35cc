"""Wheels of files that need no build: the same files give the same bytes.

`python -m tools.dist.wheels WHEEL...` renames wheels of static programs so that they install with any C library.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).parents[2]
LINUX = "manylinux_2_17_x86_64.musllinux_1_1_x86_64"
"""Tags of x86-64 Linux for files that bring everything that they load: any C library, older than any Python that
netwarp supports."""

_DATE = (2026, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class File:
    """The content of a file, and whether it is a program."""

    content: bytes
    program: bool = False


@dataclass(frozen=True)
class Wheel:
    """A distribution: its name (`netwarp-tools`), a summary, its licence (SPDX), and its files by their paths.

    The files of `licences` go where installers keep licences; `parts` are listed as its software bill of materials:
    packages of Debian with their versions and SHA-256 (hex).
    """

    name: str
    summary: str
    licence: str
    files: Mapping[str, File]
    licences: Mapping[str, bytes] = field(default_factory=dict)
    description: str = ""
    requires: tuple[str, ...] = ()
    parts: tuple[tuple[str, str, str], ...] = ()

    def write(self, directory: Path) -> Path:
        """Write the wheel into a directory; return its path."""
        version = netwarp_version()
        stem = f"{self.name.replace('-', '_')}-{version}"
        info = f"{stem}.dist-info"
        members = {
            **self.files,
            **{f"{info}/licenses/{name}": File(content) for name, content in self.licences.items()},
            **({f"{info}/sboms/{self.name}.cyclonedx.json": File(self._bill(version))} if self.parts else {}),
            f"{info}/METADATA": File(self._metadata(version).encode()),
            f"{info}/WHEEL": File(_tags().encode()),
        }
        record = "".join(f"{path},{_digest(file.content)},{len(file.content)}\n" for path, file in members.items())
        members[f"{info}/RECORD"] = File(f"{record}{info}/RECORD,,\n".encode())
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{stem}-py3-none-{LINUX}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, file in members.items():
                entry = zipfile.ZipInfo(name, _DATE)
                entry.create_system = 3  # Unix, whose permissions follow
                entry.external_attr = (0o100755 if file.program else 0o100644) << 16
                archive.writestr(entry, file.content, zipfile.ZIP_DEFLATED, 9)
        return path

    def _bill(self, version: str) -> bytes:
        """The bill of materials, in CycloneDX's format (PEP 770 says where it is)."""
        components = [
            {
                "type": "library",
                "name": name,
                "version": number,
                "purl": f"pkg:deb/debian/{name}@{quote(number)}?arch=amd64",
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
            for name, number, digest in self.parts
        ]
        itself = {"type": "application", "name": self.name, "version": version}
        bill = {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {"component": itself},
            "components": components,
        }
        return json.dumps(bill, indent=1).encode()

    def _metadata(self, version: str) -> str:
        lines = [
            "Metadata-Version: 2.4",
            f"Name: {self.name}",
            f"Version: {version}",
            f"Summary: {self.summary}",
            f"License-Expression: {self.licence}",
            *(f"License-File: {name}" for name in self.licences),
            "Requires-Python: >=3.11",
            *(f"Requires-Dist: {other}" for other in self.requires),
            "Description-Content-Type: text/markdown",
            "",
            self.description,
        ]
        return "\n".join(lines)


def for_every_libc(path: Path) -> Path:
    """Give a wheel whose programs are static the tags of LINUX, and return its new path.

    maturin knows only the C library of its target, though the programs have it in them.
    """
    with zipfile.ZipFile(path) as archive:
        entries = [(entry, archive.read(entry)) for entry in archive.infolist()]
    ((tagged, old),) = ((entry.filename, text) for entry, text in entries if entry.filename.endswith("/WHEEL"))
    kept = [line for line in old.decode().splitlines() if not line.startswith("Tag: ")]
    said = "".join(f"{line}\n" for line in [*kept, *_tag_lines()]).encode()
    row = f"{tagged},{_digest(said)},{len(said)}"
    new = path.with_name(f"{'-'.join(path.stem.split('-')[:-1])}-{LINUX}.whl")
    with zipfile.ZipFile(path, "w") as archive:
        for entry, old_content in entries:
            content = said if entry.filename == tagged else old_content
            if entry.filename.endswith(".dist-info/RECORD"):
                lines = content.decode().splitlines()
                content = "".join(f"{row if line.startswith(f'{tagged},') else line}\n" for line in lines).encode()
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    return path.rename(new)


def netwarp_version() -> str:
    """The version of netwarp, which all its wheels have."""
    return str(tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"])


def of_no_machine(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The member of an archive without properties that differ between machines: times, owners, the umask."""
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member


def _tags() -> str:
    tags = "".join(f"{line}\n" for line in _tag_lines())
    return f"Wheel-Version: 1.0\nGenerator: netwarp\nRoot-Is-Purelib: false\n{tags}"


def _tag_lines() -> list[str]:
    return [f"Tag: py3-none-{platform}" for platform in LINUX.split(".")]


def _digest(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"


if __name__ == "__main__":
    for word in sys.argv[1:]:
        print(for_every_libc(Path(word)).name)

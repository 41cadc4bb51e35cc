"""An archive that installs netwarp on computers without a network: `python -m tools.dist.classroom` (`make classroom`).

It has the wheels of a release (`make dist`), those that they need, for each version of Python and as requirements.lock
pins them, pip, and the files of packaging/classroom. Exit code 0: written; 1: not, and why.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement

from tools.dist.check import NAMES
from tools.dist.programs import DistError
from tools.dist.wheels import ROOT, netwarp_version, of_no_machine

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""The versions of Python that netwarp is tested with."""
FILES = ROOT / "packaging/classroom"
_LOCK = ROOT / "requirements.lock"
_PIP = "pip==26.3 --hash=sha256:f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"
_BUILDS_ONLY = ("maturin",)
"""Packages in the lock that build netwarp and are not needed to run it."""
_GLIBC = 28
"""The newest minor version of glibc 2 that wheels may need: that of distributions of 2018."""


def requirements(lock: str, python: str) -> Iterator[str]:
    """Yield the requirements of netwarp on this version of Python, in pip's syntax, from the text of requirements.lock.

    Conditions are evaluated here, because pip evaluates them for the Python that it runs on.
    """
    here = {"python_version": python, "python_full_version": f"{python}.0"}
    for entry in re.sub(r"\\\n\s*", " ", lock).splitlines():
        if not entry or entry.lstrip().startswith("#"):
            continue
        wanted, *hashes = entry.split(" --hash=")
        asked = Requirement(wanted)
        if asked.name not in _BUILDS_ONLY and (asked.marker is None or asked.marker.evaluate(here)):
            yield " --hash=".join([f"{asked.name}{asked.specifier}", *(one.strip() for one in hashes)])


def fetch(pythons: Sequence[str], place: Path) -> None:
    """Fetch the wheels of others into a directory. Raises DistError."""
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(5, _GLIBC + 1)]
    platforms += ["manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64"]
    chosen = [word for platform in platforms for word in ("--platform", platform)]
    for python in pythons:
        listed = place / f"{python}.txt"
        listed.write_text("\n".join([*requirements(_LOCK.read_text(), python), _PIP]))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
                *("--require-hashes", "--only-binary=:all:", "--implementation", "cp", "--python-version", python),
                *(*chosen, "--dest", str(place), "-r", str(listed)),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        listed.unlink()
        if done.returncode != 0:
            raise DistError(f"The wheels for Python {python} cannot be fetched:\n{done.stderr.strip()}")


def pack(own: Sequence[Path], others: Sequence[Path], pythons: Sequence[str], directory: Path) -> Path:
    """Write the archive into a directory; return its path. Raises DistError if a wheel of netwarp is missing."""
    version = netwarp_version()
    there = {path.name.split("-")[0] for path in own if path.name.split("-")[1] == version}
    if missing := sorted(set(NAMES) - there):
        raise DistError(f"There is no wheel of {', '.join(missing)} {version}: make dist")
    name = f"netwarp-classroom-{version}"
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, tarfile.open(directory / f"{name}.tar", "w") as archive:
        listed = Path(place, "pythons.txt")
        listed.write_text("".join(f"{python}\n" for python in pythons))
        members = {path.name: path for path in (*FILES.iterdir(), listed)}
        members |= {f"wheels/{path.name}": path for path in (*own, *others)}
        for member, path in sorted(members.items()):
            archive.add(path, f"{name}/{member}", filter=of_no_machine)
    return directory / f"{name}.tar"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the archive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="directory of the wheels, and of the archive")
    parser.add_argument("--python", action="append", help="only for this version; may be given several times")
    given = parser.parse_args(arguments)
    pythons = given.python or PYTHONS
    try:
        with tempfile.TemporaryDirectory() as place:
            fetch(pythons, Path(place))
            others = sorted(Path(place).glob("*.whl"))
            path = pack(sorted(given.dist.glob("*.whl")), others, pythons, given.dist)
    except DistError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{path.stat().st_size / 1e6:.0f} MB  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

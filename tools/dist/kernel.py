"""The wheels `netwarp-kernel` and `netwarp-kernel-devel`: a kernel that has been built, as netwarp finds it installed.

`python -m tools.dist.kernel --kernel DIRECTORY --out DIRECTORY` packs a kernel's directory of netwarp's cache. It is
the kernel that `netwarp kernel build` makes, without a name.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.dist.wheels import ROOT, File, Wheel, netwarp_version

PACKAGE = "netwarp_kernel"
DEVELOPMENT = "netwarp_kernel_devel"
_DEVELOPMENT_FILE = "development.tar.zst"
_PROGRAM = "linux"
_FILES = (_PROGRAM, "config", "description.json", "kernel.json")
_LICENCE = "GPL-2.0-only"
_LICENCES = {"GPL-2": Path("/usr/share/common-licenses/GPL-2"), "LICENSE": ROOT / "LICENSE"}
_INIT = '"""{} Files, and no code: netwarp finds them here."""\n'
_ABOUT = """Linux {version} as netwarp's guest: User Mode Linux with netwarp's changes (key {key}).

It is compiled from Debian's package linux-source (SHA-256 {source_digest}) with the patches, files and options in
netwarp's package, `netwarp/kernels/tree` (SHA-256 over them: {tree_digest}), by {compiler}.
`netwarp kernel build` builds it. The source is beside each release of netwarp.
"""


def kernel_wheels(kernel: Path) -> tuple[Wheel, Wheel]:
    """The wheels of a kernel's directory: for running it, and for compiling modules. Raises OSError."""
    facts = json.loads((kernel / "kernel.json").read_text())
    about = _ABOUT.format_map(facts)
    runs = {name: File((kernel / name).read_bytes(), program=name == _PROGRAM) for name in _FILES}
    compiles = {_DEVELOPMENT_FILE: File((kernel / _DEVELOPMENT_FILE).read_bytes())}
    return (
        _wheel(PACKAGE, f"The kernel of netwarp's labs: Linux {facts['version']}", runs, about),
        _wheel(DEVELOPMENT, "The files that kernel modules of netwarp's labs are compiled against", compiles, about),
    )


def _wheel(package: str, summary: str, files: Mapping[str, File], about: str) -> Wheel:
    content = {"__init__.py": File(_INIT.format(f"{summary}.").encode()), **files}
    requires = (f"netwarp-kernel=={netwarp_version()}",) if package == DEVELOPMENT else ()
    return Wheel(
        package.replace("_", "-"),
        summary,
        _LICENCE,
        {f"{package}/{name}": file for name, file in content.items()},
        {name: path.read_bytes() for name, path in _LICENCES.items()},
        about,
        requires,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both wheels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", type=Path, required=True, help="the kernel's directory")
    parser.add_argument("--out", type=Path, required=True, help="directory of the wheels")
    given = parser.parse_args(arguments)
    for wheel in kernel_wheels(given.kernel):
        print(wheel.write(given.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The digests that `netwarp self-test` compares with: `python -m tools.self_test` writes them (`make digests`).

They are those of the kernel and the tools that `make dist` packs, so this machine needs the same: Linux's source as in
packaging/root.txt, and the packages in packaging/programs.toml. Exit code 0: written; 1: not, and why.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from netwarp.engines import EngineError, EngineOptions, find_engine
from netwarp.kernels import find_kernel
from netwarp.steps.self_test import ABOUT, DIGESTS, made_with, records_of, run_lab
from netwarp.store.run_status import RunStatus

from tools.dist.programs import PINS, read_pins
from tools.dist.wheels import ROOT

_SOURCE = "linux-source-6.12"


def pinned() -> dict[str, str]:
    """The inputs of `make dist`: the version of Linux's source, and the SHA-256 (hex) of the tools' list."""
    packages = dict(line.split() for line in (ROOT / "packaging/root.txt").read_text().splitlines())
    return {_SOURCE: packages[_SOURCE], PINS.name: hashlib.sha256(PINS.read_bytes()).hexdigest()}


def other_versions() -> Iterator[str]:
    """Find what this machine has in another version than the wheels."""
    asked = ["dpkg-query", "--show", "--showformat", "${Version}", _SOURCE]
    there = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    if there != pinned()[_SOURCE]:
        yield f"{_SOURCE} is {there or 'not installed'}, and the wheels' {pinned()[_SOURCE]}"
    bill = next(file for file in distribution("netwarp-tools").files or () if file.name.endswith(".cyclonedx.json"))
    tools = {one["name"]: one["hashes"][0]["content"] for one in json.loads(bill.read_text())["components"]}
    for pin in read_pins():
        if tools.get(pin.name) != pin.sha256:
            yield f"the installed tools have another {pin.name} than {PINS.name}"


def digests() -> dict[str, object]:
    """Run the labs, and return the file's content. Raises EngineError, KernelError."""
    engine = find_engine(None, EngineOptions())
    with tempfile.TemporaryDirectory() as place:
        runs = {lab: run_lab(lab, engine, Path(place, lab)) for lab in ABOUT}
        for run in runs.values():
            if (status := run.status())["status"] != RunStatus.OK:
                raise EngineError(f"A lab's run is {status['status']}: {status.get('reason')}")
        records = {lab: records_of(lab, run) for lab, run in runs.items()}
    return {"pinned": pinned(), "made_with": made_with(find_kernel()), "records": records}


def main() -> int:
    """Write the digests."""
    if found := list(other_versions()):
        print(
            "The digests are those of the wheels, which this machine cannot make:", *found, sep="\n  ", file=sys.stderr
        )
        return 1
    DIGESTS.write_text(json.dumps(digests(), indent=1) + "\n")
    print(f"wrote {DIGESTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Damaged captures: in the library, many in one process, and under `netwarp pcap`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from mutate import mutate_bytes

from bench.torture.bases import OBSERVER, ROOT
from bench.torture.cases import Case

HARNESS = ROOT / "target" / "release" / "examples" / "damage"
_BATCH = 20_000
_FILES = 20


class Captures:
    """Damages bytes, headers and lengths."""

    name = "captures"
    unit = "captures"
    share = 0.06

    def attack(self, case: Case) -> None:
        """Attack the library with a batch, or the command with some files."""
        if case.rng.random() < 0.5:
            case.report.target, case.report.attacks = "library", _BATCH
            case.program(HARNESS, str(case.report.seed), str(_BATCH))
        else:
            case.report.target, case.report.attacks = "pcap", _FILES
            self._files(case)

    def _files(self, case: Case) -> None:
        files: list[Path] = []
        for number in range(_FILES):
            source = case.rng.choice(case.bases.captures)
            file = case.place.work / f"{number}.pcap"
            file.write_bytes(mutate_bytes(source.read_bytes(), case.rng))
            files.append(file)
        view = case.rng.choice(((), ("--packets",), ("--series", "100ms"), ("--series", "1ns")))
        form = case.rng.choice(((), ("--csv",), ("--json",), ("--arrow",)))
        for file in files:
            out = case.place.work / f"{file.stem}.out"
            case.program(OBSERVER, "pcap", file, *view, *form, "-o", out, outputs=[out])


def build() -> None:
    """Build a program that reads captures with the library, with overflow checks on."""
    command = ["cargo", "build", "--quiet", "--locked", "--release", "--package", "netwarp-capture"]
    checked = {"CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS": "true", "CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS": "true"}
    subprocess.run([*command, "--example", "damage"], cwd=ROOT, check=True, env=os.environ | checked)

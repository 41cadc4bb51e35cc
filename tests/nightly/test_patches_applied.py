"""The kernel's patches against the sources of all series, as their maintainers would look at them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from netwarp.kernels.recipe import known_series, patches_of

ROOT = Path(__file__).parents[2]


def test_the_patches_apply_and_checkpatch_finds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.kernel_patches", "--tree", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for series in known_series():
        log = ["git", "-C", str(tmp_path / series), "log", "--format=%s"]
        subjects = subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines()
        assert len(subjects) == len(patches_of(series=series)) + 1

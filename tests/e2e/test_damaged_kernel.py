"""A kernel whose binary differs from the build makes no run, under any command; the error says what fixes it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e_command import netwarp
from e2e_scenarios import dumbbell
from netwarp.kernels import find_kernel

SHORT = dumbbell(duration="1s")


def _cut(path: Path) -> None:
    os.truncate(path, 1_000_000)


def _patch(path: Path) -> None:
    """Change a word of its log, keeping its size and time of modification."""
    before, content = path.stat(), path.read_bytes()
    assert b"Linux version" in content
    path.write_bytes(content.replace(b"Linux version", b"Linux Version"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("damage", [_cut, _patch])
def test_it_is_refused(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    kernel = find_kernel()
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    copied = tmp_path / "cache" / "netwarp" / "kernels" / kernel.key
    shutil.copytree(kernel.directory, copied)
    scenario, result = tmp_path / "s.toml", tmp_path / "result"
    scenario.write_text(SHORT)
    assert netwarp("run", scenario, "--no-plots", "-o", result, env=own).code == 0
    damage(copied / "linux")
    for command in (("run", scenario, "--no-plots", "-o", tmp_path / "other"), ("rerun", result)):
        answer = netwarp(*command, env=own)
        assert answer.code == 4, answer.err
        assert f"The kernel {copied / 'linux'} is not what was built" in answer.words
        assert "`netwarp kernel build`" in answer.words
        assert "Traceback" not in answer.err
    assert not (tmp_path / "other").exists()

"""Machines that netwarp does not run on get the reason and the way that works, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from netwarp.common.platforms import wrong_processor, wrong_system
from netwarp.engines import EngineError, EngineOptions, find_engine
from netwarp.steps import doctor


@pytest.mark.parametrize(
    ("system", "way"),
    [("win32", "wsl --install"), ("darwin", "Use an x86-64 Linux: on a Mac"), ("freebsd14", "x86-64")],
)
def test_another_system_is_refused_by_each_command_before_it_loads_anything_of_linux(system: str, way: str) -> None:
    """Neither fcntl nor resource exists on Windows, and no SIGHUP."""
    code = f"""
import sys, signal
sys.platform = {system!r}
sys.modules |= dict.fromkeys(("fcntl", "resource", "termios", "pwd", "netwarp.cli"))
del signal.SIGHUP
from netwarp.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "bufferbloat"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (4, ""), done.stderr
    assert done.stderr.startswith("error: netwarp runs on Linux, and this is ")
    assert way in done.stderr and "docs/install.md" in done.stderr and "Traceback" not in done.stderr


def test_another_processor_has_results_but_no_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong_system("linux") is None
    assert wrong_processor("x86_64") is None
    here = os.uname()
    there = os.uname_result((here.sysname, here.nodename, here.release, here.version, "aarch64"))
    monkeypatch.setattr(os, "uname", lambda: there)
    with pytest.raises(EngineError, match="run on x86-64, and this processor is aarch64"):
        find_engine("uml", EngineOptions())
    finding = next(one for one in doctor.diagnose(environ={"HOME": "/nonexistent"}) if one.name == "processor")
    assert not finding.ok and "aarch64" in finding.detail and finding.fix

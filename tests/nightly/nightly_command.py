"""The real command, with as much time as compiling a kernel takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NETWARP = Path(sys.executable).parent / "netwarp"


def netwarp(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The command, with time for a build."""
    return subprocess.run([NETWARP, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

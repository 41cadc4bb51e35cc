"""The real command, which may take as long as a kernel takes to compile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NETWARP = Path(sys.executable).parent / "netwarp"


def netwarp(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The command; a build may take its time."""
    return subprocess.run([NETWARP, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

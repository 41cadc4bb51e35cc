"""Completion in real shells, as a user types it: bash, zsh and fish at terminals."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

NETWARP = Path(sys.executable).parent / "netwarp"
LIMIT_S = 120
"""A hang must end the tests; no working shell comes near this."""
READY = "ready> "
STARTS = {
    "bash": (".bashrc", f"PS1='{READY}'"),
    "zsh": (".zshrc", f"PS1='{READY}'"),
    "fish": (".config/fish/config.fish", f"function fish_prompt; echo -n '{READY}'; end"),
}
LINES = [
    ("netwarp run bufferbloat-f", "netwarp run bufferbloat-first-peak "),
    ("netwarp run bufferbloat --set links.bott", "--set links.bottleneck."),
    ('netwarp run bufferbloat --set "links.bottleneck.queue=pfifo limit 10', 'queue=pfifo limit 100"'),
    ("netwarp run bufferbloat --set links.bottleneck.queue=pfifo\\ limit\\ 2", "queue=pfifo\\ limit\\ 20 "),
    ("netwarp run bufferbloat --engine=h", "--engine=host "),
    ("netwarp plot DI", "netwarp plot DIRECTORY/"),
]
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-9;?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[()][0-9A-B]|[=>78])|[\r\x00\x07]"
)
"""Escape sequences, which a terminal obeys and does not show."""


@pytest.mark.parametrize("shell", STARTS)
def test_a_real_shell_completes_what_is_typed(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    assert program is not None, f"{shell} is missing: make test-packages installs it"
    path = f"{NETWARP.parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "SHELL": program, "TERM": "xterm", "LANG": "C.UTF-8"}
    subprocess.run([NETWARP, "--install-completion"], check=True, capture_output=True, env=environment)
    name, prompt = STARTS[shell]
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    with (tmp_path / name).open("a") as start:
        start.write(f"{prompt}\n")
    (tmp_path / "DIRECTORY").mkdir()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execve(program, [program, "-i"], environment)
    try:
        wait_for(READY, terminal)
        for typed, line in LINES:
            os.write(terminal, f"{typed}\t".encode())
            wait_for(line, terminal)
            wait_for(READY, terminal, keys=b"\x03")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def wait_for(text: str, terminal: int, keys: bytes = b"") -> None:
    """Read until this is shown. Keys are pressed again each second: a shell that still completes takes Ctrl-C as its
    completion's end."""
    seen, end = "", time.monotonic() + LIMIT_S
    os.write(terminal, keys)
    while text not in _SEQUENCE.sub("", seen):
        assert time.monotonic() < end, f"never shown: {text!r}; but {_SEQUENCE.sub('', seen)!r}"
        if select.select([terminal], [], [], 1.0)[0]:
            seen += os.read(terminal, 65536).decode(errors="replace")
        else:
            os.write(terminal, keys)

"""Notebooks as pages: executed with netwarp's own Python, and turned into Markdown by nbconvert."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath

from tools.site import places

LIMIT_S = 300
"""A hang must end the build; no working cell comes near this."""


def write(folder: Path, notebook: PurePosixPath, generator: Path) -> None:
    """Execute a notebook in an empty directory and write its page into the folder of pages.

    `generator` is the folder with the programs of the site's environment. An error in a cell raises
    subprocess.CalledProcessError; the program has printed it.
    """
    there = folder / places.place(notebook)
    there.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="netwarp-notebook-") as scratch:
        executed = Path(scratch) / notebook.name
        executed.write_bytes((places.ROOT / notebook).read_bytes())
        # The cells' messages go over sockets of files, which other users cannot read.
        execute = Path(sys.executable).with_name("jupyter-execute")
        options = ["--inplace", "--KernelManager.transport=ipc", f"--timeout={LIMIT_S}"]
        subprocess.run([execute, *options, executed], cwd=scratch, check=True)
        convert = generator / "jupyter-nbconvert"
        options = ["--log-level=WARN", "--to=markdown", f"--output-dir={there.parent}"]
        subprocess.run([convert, *options, executed], check=True)

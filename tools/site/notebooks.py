"""Notebooks as pages: executed with netwarp's own Python, and turned into Markdown by nbconvert."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path, PurePosixPath

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from tools.site import places

LIMIT_S = 300
"""A hang must end the build; no working cell comes near this."""


def write(folder: Path, notebook: PurePosixPath, generator: Path) -> None:
    """Execute a notebook in an empty directory and write its page into the folder of pages.

    `generator` is the folder with the programs of the site's environment. Raises nbclient's CellExecutionError if a
    cell fails, and subprocess.CalledProcessError if nbconvert does, which has printed why.
    """
    there = folder / places.place(notebook)
    there.parent.mkdir(parents=True, exist_ok=True)
    book = nbformat.read(places.ROOT / notebook, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory(prefix="netwarp-notebook-") as scratch:
        (place := Path(scratch) / "empty").mkdir()
        resources = {"metadata": {"path": str(place)}}
        # Messages go over sockets in files, which other users cannot read, in place of ports of this machine.
        files = Config({"KernelManager": {"transport": "ipc", "ip": f"{scratch}/kernel"}})
        NotebookClient(book, config=files, timeout=LIMIT_S, resources=resources).execute()
        executed = Path(scratch) / notebook.name
        executed.write_text(nbformat.writes(book))  # type: ignore[no-untyped-call]
        options = ["--log-level=WARN", "--to=markdown", f"--output-dir={there.parent}"]
        subprocess.run([generator / "jupyter-nbconvert", *options, executed], check=True)

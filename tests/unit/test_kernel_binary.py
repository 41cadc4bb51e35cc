"""The running kernel has the stated digest: its binary is checked once for each state of it."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from netwarp.engines import EngineError, Job
from netwarp.engines.programs import digest_of
from netwarp.engines.uml import UmlEngine
from netwarp.kernels import Kernel
from netwarp.lab_format.model import Lab

CONTENT = b"a kernel" * 1000


@pytest.fixture
def engine(tmp_path: Path) -> UmlEngine:
    path = tmp_path / "linux"
    path.write_bytes(CONTENT)
    kernel = Kernel(path, hashlib.sha256(CONTENT).hexdigest(), "6.12-netwarp", "key", "tree", "source", "gcc")
    return UmlEngine(kernel, tmp_path / "netwarp-agent", tmp_path)


def patch(path: Path) -> None:
    """Change a byte, keeping size and time of modification."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(b"A")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_a_kernel_as_built_is_read_once(engine: UmlEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counted(*arguments: Any) -> Any:
        read.append(arguments)
        return digest(*arguments)

    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", counted)
    for _ in range(1000):
        engine.verify()
    assert len(read) == 1


@pytest.mark.parametrize("damage", ["patched", "cut short", "gone"])
def test_another_kernel_than_was_built_is_refused(engine: UmlEngine, tmp_path: Path, damage: str) -> None:
    engine.verify()
    if damage == "patched":
        patch(engine.kernel.path)
    elif damage == "cut short":
        os.truncate(engine.kernel.path, 1000)
    else:
        engine.kernel.path.unlink()
    for use in (engine.verify, lambda: engine.own_identity):
        with pytest.raises(EngineError, match=str(engine.kernel.path)) as caught:
            use()
        assert "`netwarp kernel build`" in str(caught.value)
    job = Job("id", 1, Lab(duration_ns=1, flows=()), 1 << 20, 1.0, tmp_path)
    outcome = engine.run(job, tmp_path, (), threading.Event())
    assert outcome.status == "failed"
    assert "`netwarp kernel build`" in str(outcome.reason)


def test_a_digest_follows_what_is_hidden_behind_size_and_time(tmp_path: Path) -> None:
    file = tmp_path / "netwarp-agent"
    file.write_bytes(CONTENT)
    before = digest_of(file)
    patch(file)
    assert digest_of(file) != before
    other = tmp_path / "other"
    other.write_bytes(CONTENT)
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    other.rename(file)
    assert digest_of(file) == before

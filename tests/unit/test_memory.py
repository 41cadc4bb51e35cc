"""Reservations of memory files: never more than the room, and none that outlives its process."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from netwarp.engines.memory import ROOM_BYTES, NoRoomError, reserved

MB = 1 << 20
NEVER = threading.Event()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def room(_place: Path) -> int:
    return 300 * MB + ROOM_BYTES


@pytest.mark.slow
def test_runs_at_once_never_take_more_than_there_is(tmp_path: Path) -> None:
    """Four of 160 MB in 300 MB: one at a time, and each gets its turn."""
    running, most, done = 0, 0, 0
    lock, step = threading.Lock(), threading.Event()

    def work() -> None:
        nonlocal running, most, done
        with reserved(tmp_path, 160 * MB, NEVER, room):
            with lock:
                running += 1
                most = max(most, running)
            step.wait(0.05)
            with lock:
                running, done = running - 1, done + 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert (most, done) == (1, 4)


def test_two_that_fit_run_at_once(tmp_path: Path) -> None:
    with reserved(tmp_path, 150 * MB, NEVER, room), reserved(tmp_path, 150 * MB, NEVER, room):
        pass


def test_what_never_fits_is_refused_with_the_numbers(tmp_path: Path) -> None:
    with pytest.raises(NoRoomError, match=r"300 MB left .* takes 301 MB"), reserved(tmp_path, 301 * MB, NEVER, room):
        pass


@pytest.mark.slow
def test_who_waits_can_be_cancelled(tmp_path: Path) -> None:
    cancelled = threading.Event()
    with reserved(tmp_path, 300 * MB, NEVER, room):
        threading.Timer(0.3, cancelled.set).start()
        with reserved(tmp_path, 300 * MB, cancelled, room):
            assert cancelled.is_set()


@pytest.mark.slow
def test_a_reservation_ends_with_its_process(tmp_path: Path) -> None:
    program = f"""
import os, threading
from pathlib import Path
from netwarp.engines.memory import reserved
with reserved(Path({str(tmp_path)!r}), {300 * MB}, threading.Event(), lambda place: {room(tmp_path)}):
    print("held", flush=True)
    os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "held\n"
    assert done.returncode == -9
    with reserved(tmp_path, 300 * MB, NEVER, room):
        pass

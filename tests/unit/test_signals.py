"""A hang-up also reaches the command line's handler, which writes no more to a closed terminal."""

import os
import signal
from collections.abc import Iterator

import pytest
from netwarp.execute.cluster import _interruptions
from netwarp.kernels.commands import terminable


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """Signals that the previous handler received, which ignores others from then on, like the command line's."""
    found: list[int] = []

    def hear(number: int, frame: object) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        found.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGHUP, hear)
    yield found
    signal.signal(signal.SIGHUP, before)


def test_a_build_ends_by_a_hang_up(heard: list[int]) -> None:
    with pytest.raises(SystemExit) as ended, terminable():
        os.kill(os.getpid(), signal.SIGHUP)
    assert ended.value.code == 128 + signal.SIGHUP
    os.kill(os.getpid(), signal.SIGHUP)  # shells send a second one
    assert heard == [signal.SIGHUP]


def test_a_study_on_a_cluster_ends_by_a_hang_up(heard: list[int]) -> None:
    with _interruptions() as interrupted:
        os.kill(os.getpid(), signal.SIGHUP)
        assert interrupted.is_set()
    os.kill(os.getpid(), signal.SIGHUP)
    assert heard == [signal.SIGHUP]


def test_afterwards_a_signal_is_for_who_had_it(heard: list[int]) -> None:
    before = signal.getsignal(signal.SIGHUP)
    with terminable(), _interruptions():
        assert signal.getsignal(signal.SIGHUP) is not before
    assert signal.getsignal(signal.SIGHUP) is before
    assert heard == []

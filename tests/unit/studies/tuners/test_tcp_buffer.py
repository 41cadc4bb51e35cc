"""The tuner of TCP's buffers: the published thresholds, steps and correlation."""

from __future__ import annotations

from pathlib import Path

import pytest
from netwarp.studies.tuners.programs import tcp_buffer
from netwarp.studies.tuners.programs.tcp_buffer import Connection, Limit, correlation, nearly_full


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tcp_wmem").write_text("4096\t16384\t4194304\n")
    monkeypatch.setattr(tcp_buffer, "SETTINGS", tmp_path)
    return tmp_path


def test_three_quarters_are_nearly_full() -> None:
    assert nearly_full(750, 1000)
    assert not nearly_full(749, 1000)
    assert nearly_full(1200, 1000)


def test_a_correlation_needs_ten_samples_and_spread() -> None:
    line = [(size, 2 * size + 7) for size in range(10)]
    assert correlation(line) == pytest.approx(1)
    assert correlation([(size, -rtt) for size, rtt in line]) == pytest.approx(-1)
    assert correlation(line[:9]) == 0
    assert correlation([(size, 5) for size, _ in line]) == 0


def test_steps_are_quarters_up_and_with_the_rtt_down(settings: Path) -> None:
    limit = Limit("tcp_wmem")
    limit.hit(20_000)
    assert (settings / "tcp_wmem").read_text() == "4096 16384 5242880"
    for rtt_us in range(21_000, 29_000, 1_000):
        limit.hit(rtt_us)
    raised = limit.read()[2]
    limit.hit(29_000)
    assert limit.read()[2] == raised - (raised >> 2)


def test_no_limit_leaves_its_range(settings: Path) -> None:
    limit = Limit("tcp_wmem")
    (settings / "tcp_wmem").write_text("4096 16384 1900000000")
    limit.hit(20_000)
    assert limit.read()[2] == 1_900_000_000
    (settings / "tcp_wmem").write_text("4096 16384 20000")
    limit.samples = [(size, 2 * size) for size in range(10_000, 20_000, 1_000)]
    limit.hit(40_000)
    assert limit.read()[2] == 20_000, "15000 would be less than the default"


def test_a_limit_may_shrink_down_to_the_default_since_no_sample_is_forgotten(settings: Path) -> None:
    """A quarter less at each event, as long as the RTT of all samples goes with the limit."""
    limit = Limit("tcp_wmem", [(size, size) for size in range(3_000_000, 4_000_000, 100_000)])
    for _ in range(100):
        limit.hit(limit.read()[2])
    assert 16_384 < limit.read()[2] <= 16_384 / 0.75 + 1
    # At a steady RTT the correlation is lost, and the next event raises it.
    for _ in range(1_000):
        limit.hit(3_500_000)
    assert limit.read()[2] > 1_000_000


def connection(**fields: int) -> Connection:
    usual = {"rtt_us": 1, "unacked": 5, "window": 10, "acked": 0, "received": 0, "receive_buffer": 0}
    return Connection(b"one", **{**usual, "send_buffer": 900, "queued": 600, **fields})


def test_a_sender_waits_only_if_its_window_would_allow_more() -> None:
    before = connection()
    assert tcp_buffer.waiting_sender([(before, connection(acked=1))], 1000) is not None
    for other in (connection(), connection(acked=1, unacked=10), connection(acked=1, queued=599)):
        assert tcp_buffer.waiting_sender([(before, other)], 1000) is None
    assert tcp_buffer.waiting_sender([(before, connection(acked=1, send_buffer=700))], 1000) is None


def test_a_receiver_counts_only_if_it_receives() -> None:
    before = connection(receive_buffer=800)
    assert tcp_buffer.full_receiver([(before, connection(receive_buffer=800, received=1))], 1000) is not None
    assert tcp_buffer.full_receiver([(before, before)], 1000) is None

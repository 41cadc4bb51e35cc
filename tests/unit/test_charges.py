"""Notes and doubts about virtual time that passed because programs waited by polling."""

from __future__ import annotations

from netwarp.analysis.run.charges import Charge, charge_doubts, charge_notes

MS = 1_000_000
ASKED: Charge = {"program": "iperf3", "polls_ns": 30 * MS}
READ: Charge = {"program": "ffmpeg", "readings_ns": 5 * MS, "polls_ns": 40 * MS}


def test_notes_name_who_was_charged_most_first() -> None:
    (note,) = charge_notes([ASKED, {"program": "sh"}, READ])
    assert note.endswith(": ffmpeg 45 ms (readings of the clock and asking again), iperf3 30 ms (asking again)")


def test_doubts_leave_out_who_only_asked_again() -> None:
    (doubt,) = charge_doubts([ASKED, READ], 100 * MS)
    assert doubt.startswith("5 ms of 100 ms passed")
    assert doubt.endswith(": ffmpeg 5 ms (readings of the clock)")
    assert not list(charge_doubts([ASKED, READ], 501 * MS)), "less than a hundredth"
    assert not list(charge_doubts([ASKED], 100 * MS))


def test_little_is_not_mentioned() -> None:
    little: list[Charge] = [{"program": "sh", "calls_ns": MS}]
    assert not list(charge_notes(little))
    assert not list(charge_doubts(little, MS))


def test_all_beyond_the_first_three_are_counted() -> None:
    (note,) = charge_notes([{"program": name, "polls_ns": MS} for name in "abcde"])
    assert note.endswith(", and 2 more")

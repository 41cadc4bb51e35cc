"""Video flows: what a scenario may say, what of it is in the lab, and the metrics of their playback."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest
from netwarp.analysis.flow.video import Period, Video, video_metrics
from netwarp.flows import KINDS, FlowPath
from netwarp.flows.video import VideoFields, VideoFlow
from netwarp.stats.weighting import Window
from netwarp.store.codes import PlaybackState
from netwarp.store.web_tables import SEGMENTS

ENDS = {"from": "h1", "to": "h2", "tool": "video"}
PATH = FlowPath(mtu=1500, rate_bps=10**7)
S = 10**9
WHOLE = Window(0, 20 * S)


def fields(**more: object) -> VideoFields:
    return VideoFlow.model_validate(ENDS | more).lab_fields(PATH)


def test_what_a_scenario_leaves_out_follows_from_the_rest() -> None:
    found = fields(buffer="60s", segment="2s")
    assert (found.startup_ns, found.reservoir_ns, found.cushion_ns) == (2 * S, 10 * S, 20 * S)
    assert (found.player, found.safety, found.segments) == ("hybrid", 0.9, None)
    assert all(lower < higher for lower, higher in pairwise(found.bitrates_bps))
    own = VideoFlow.model_validate(ENDS | {"version": 3}).own_fields(PATH)
    assert KINDS["video"].transport_of(own) == "udp"
    assert KINDS["video"].is_reverse(own)


@pytest.mark.parametrize(
    ("more", "field", "words"),
    [
        ({"bitrates": ["2mbit", "1mbit"]}, "bitrates", "must rise, and 1mbit comes after 2mbit"),
        ({"bitrates": ["2mbit", "2mbit"]}, "bitrates", "must rise"),
        ({"segment": "50ms"}, "segment", "at least 100ms"),
        ({"buffer": "3s"}, "buffer", "no room for a segment of 4s"),
        ({"startup": "29s"}, "startup", "holds whole segments of 28s"),
        ({"reservoir": "5s"}, "reservoir", 'write player = "buffer"'),
        ({"player": "rate", "cushion": "5s"}, "cushion", 'write player = "buffer"'),
        ({"safety": "80%"}, "safety", 'write player = "rate"'),
        ({"player": "buffer", "reservoir": "21s"}, "reservoir", "31s together, more than the buffer of 30s"),
        ({"player": "buffer", "cushion": "26s"}, "cushion", "31s together"),
        ({"player": "rate", "safety": "0%"}, "safety", "more than 0 %"),
        ({"tls": False}, "tls", "HTTP/2 is always encrypted"),
        ({"version": "3", "cc": "reno"}, "cc", "cubic, newreno, bbr"),
        ({"version": "3", "mss": 1000}, "mss", "an option of TCP"),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, object], field: str, words: str) -> None:
    ((named, sentence),) = VideoFlow.model_validate(ENDS | more).problems()
    assert named == field
    assert words in sentence


@pytest.mark.parametrize(("more", "seconds"), [({}, 40), ({"segments": 5}, 20), ({"segments": 50}, 40)])
def test_offered_bytes_are_those_that_are_played_and_buffered(more: dict[str, object], seconds: int) -> None:
    flow = VideoFlow.model_validate(ENDS | {"bitrates": ["1mbit", "8mbit"]} | more)
    assert flow.offered_bytes(PATH, 10 * S) == seconds * 10**6


def segments(*rows: tuple[int, int | None, int]) -> pl.DataFrame:
    """Segments that were requested and that ended at these seconds, with these bitrates in Mbit/s."""
    empty = pl.DataFrame(schema=pl.DataFrame(SEGMENTS.schema.empty_table()).schema)
    columns = {
        "segment": range(len(rows)),
        "bitrate_bps": [mbps * 10**6 for _, _, mbps in rows],
        "requested_ns": [asked * S for asked, _, _ in rows],
        "end_ns": [None if end is None else end * S for _, end, _ in rows],
        "buffer_end_ns": [None if end is None else 1 for _, end, _ in rows],
    }
    given = pl.DataFrame({name: pl.Series(values, dtype=empty.schema[name]) for name, values in columns.items()})
    return pl.concat([empty, given], how="diagonal")


def video(rows: pl.DataFrame, *states: tuple[PlaybackState, int, int], ended: bool = False) -> Video:
    """A video with segments of 4 s; only its last state may last until the flow's end."""
    periods = [
        Period(state, Window(start * S, end * S), ended or n < len(states) - 1)
        for n, (state, start, end) in enumerate(states)
    ]
    return Video(rows, periods, 4 * S)


STARTING, PLAYING, STALLED = PlaybackState
STALLS = video(
    segments((0, 2, 1), (2, 3, 3), (3, 12, 3), (12, 16, 1), (16, None, 1)),
    (STARTING, 0, 2),
    (PLAYING, 2, 10),
    (STALLED, 10, 12),
    (PLAYING, 12, 20),
)
"""Segments of 1, 3, 3 and 1 Mbit/s; 8 s are played until 10 s, and the third segment comes at 12 s."""


def test_a_playback_that_stalls_once() -> None:
    found = video_metrics([(STALLS, WHOLE)])
    assert (found["startup_s_mean"], found["stalls"], found["stalled_s"]) == (2, 1, 2)
    assert found["stalled_pct"] == pytest.approx(100 * 2 / 18)
    assert (found["bitrate_mbps_mean"], found["switches"], found["switch_mbps_mean"]) == (2, 2, 2)
    assert (found["segments"], found["segments_incomplete"]) == (4, 1)
    # 1 + 3 + 3 + 1, less two switches by 2, less 3 for each of 2 + 2 s of waiting.
    assert found["qoe_mbps"] == pytest.approx((8 - 4 - 3 * 4) / 4)
    # 4 s at 2 s, 3 and then 7 s at 3 s, none from 10 to 12 s; 4 s at 12 s, none and then 4 s at 16 s, none at 20 s.
    area = (4 + 3) / 2 + 7 * 7 / 2 + 0 + 4 * 4 / 2 + 4 * 4 / 2
    assert found["buffer_s_mean"] == pytest.approx(area / 20)


def test_a_window_has_what_happened_in_it() -> None:
    """From 11 s on: half of the stall, which began before, and the last two segments, with the switch between them."""
    found = video_metrics([(STALLS, Window(11 * S, 20 * S))])
    assert (found["stalls"], found["stalled_s"]) == (0, 1)
    assert found["startup_s_mean"] == 2, "of the flow's beginning, whatever the window"
    assert (found["segments"], found["switches"], found["bitrate_mbps_mean"]) == (2, 1, 2)
    assert found["qoe_mbps"] == pytest.approx((4 - 2 - 3) / 2)
    until = video_metrics([(STALLS, Window(0, 11 * S))])
    assert (until["segments"], until["segments_incomplete"]) == (2, 1)


def test_what_never_began_has_no_score() -> None:
    never = video(segments((0, None, 1)), (STARTING, 0, 20))
    found = video_metrics([(never, WHOLE)])
    absent = (
        "startup_s_mean",
        "stalls",
        "stalled_s",
        "stalled_pct",
        "bitrate_mbps_mean",
        "switches",
        "switch_mbps_mean",
    )
    assert {found[name] for name in (*absent, "qoe_mbps")} == {None}
    assert (found["segments"], found["segments_incomplete"], found["buffer_s_mean"]) == (0, 1, 0)
    assert video_metrics([]) == {}
    both = video_metrics([(never, WHOLE), (STALLS, WHOLE)])
    assert both["startup_s_mean"] is None, "the longest is not known"
    assert both["buffer_s_mean"] == pytest.approx((3.5 + 24.5 + 16) / 40)


def test_one_bitrate_has_no_switch() -> None:
    plain = video(segments((0, 1, 2), (1, 2, 2)), (STARTING, 0, 1), (PLAYING, 1, 9), ended=True)
    found = video_metrics([(plain, Window(0, 9 * S))])
    assert (found["switches"], found["switch_mbps_mean"]) == (0, None)
    assert found["qoe_mbps"] == pytest.approx((4 - 3) / 2)

"""`video` on the real engine: start-up, stalls and buffers by closed forms, and each decision of all players again."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_traffic import BACK, SECOND, account, flow, pair, values
from netwarp.store.codes import PlaybackState
from netwarp.store.digests import read_digests
from netwarp.store.rundir import RunDir
from netwarp.store.schemas import TABLES
from video_players import decisions

MS = 10**6
PLAYERS = ("buffer", "rate", "hybrid")
PLAIN = ('version = "1.1"', "tls = false")
STARTING, PLAYING, STALLED = PlaybackState


def film(name: str, *lines: str) -> str:
    return flow(name, "video", *lines)


def table(run: RunDir, kind: str, name: str) -> pl.DataFrame:
    return run.scan(kind).filter(flow_id=account(run, name)["flow_id"]).collect()


VERSIONS = {
    "plain": (PLAIN, 1),
    "tls": (('version = "1.1"',), 2),
    "two": (('version = "2"',), 2),
    "three": (('version = "3"',), 1),
}
"""Flows: their fields, and the round trips of their handshakes."""


def test_start_up_takes_handshakes_and_the_segments_of_the_threshold(runs: Runs) -> None:
    """On an empty path that the initial window fills: a round trip for each handshake, one for each of two requests,
    and the serialisation of two segments. What exceeds these is the serialisation of what the viewer sends."""
    lines = ('bitrates = ["800kbit"]', 'startup = "8s"', "segments = 2")
    text = "".join(
        film(name, *lines, *version, f'start = "{n}s"') for n, (name, (version, _)) in enumerate(VERSIONS.items())
    )
    run = runs(pair(text, delay="2ms", duration="5s"))
    packets = run.scan("packets").filter(interface_index=BACK).collect()
    for n, (name, (_, handshakes)) in enumerate(VERSIONS.items()):
        (start_ns, end_ns), *_ = table(run, "playback", name).select("start_ns", "end_ns").rows()
        assert start_ns == n * SECOND
        sent = int(packets.filter(pl.col("dequeue_ns").is_between(start_ns, end_ns))["packet_bytes"].sum())
        least_ns = (handshakes + 2) * 2 * 2 * MS + sent * 8e3 / 10
        assert sent > 2 * 4 * 800e3 / 8
        assert 0 < end_ns - start_ns - least_ns < 3 * MS, name
        assert values(run, name)["startup_s_mean"] == pytest.approx((end_ns - start_ns) / SECOND)
        assert end_ns == table(run, "segments", name)["end_ns"][1], "with the last byte of the second segment"


def test_a_bitrate_above_the_rate_stalls_for_the_rest_of_the_time(runs: Runs) -> None:
    """2 Mbit/s over 1 Mbit/s: what is played is what is delivered, so that 1 − R/r of the time is stalled."""
    lines = ('bitrates = ["2mbit"]', 'segment = "500ms"', *PLAIN)
    run = runs(pair(film("film", *lines), rate="1mbit", delay="2ms", duration="60s"))
    rows, found = table(run, "segments", "film").drop_nulls("end_ns"), values(run, "film")
    taken_ns = int((rows["end_ns"] - rows["requested_ns"]).sum())
    rate_mbps = int(rows["bytes"].sum()) * 8e3 / taken_ns
    # Segments of 125,000 bytes in frames of 1448, and a round trip for each.
    assert rate_mbps == pytest.approx(1e6 / (4000 + 8 * (125_000 + 125_000 / 1448 * 66)), rel=0.01)
    assert found["stalled_pct"] == pytest.approx(100 * (1 - rate_mbps / 2), abs=1)
    states = table(run, "playback", "film")
    assert states["state"].to_list()[:4] == [STARTING, PLAYING, STALLED, PLAYING]
    assert states["start_ns"][1:].to_list() == states["end_ns"][:-1].to_list()
    # Each stall begins when the segment before has been played, and ends with the next one.
    assert set(states.filter(state=PLAYING)["end_ns"][:-1] - states.filter(state=PLAYING)["start_ns"][:-1]) == {
        SECOND // 2
    }
    assert states.filter(state=STALLED)["end_ns"].drop_nulls().is_in(rows["end_ns"].implode()).all()
    assert found["stalls"] == states.filter(state=STALLED).height
    assert found["segments"] == rows.height
    assert found["segments_incomplete"] == 1


CHANGING = """
[[changes]]
at = "20s"
link = "wire"
rate = "1500kbit"
[[changes]]
at = "45s"
link = "wire"
rate = "8mbit"
"""


@pytest.fixture(scope="module")
def three(runs: Runs) -> RunDir:
    """Three players, each with another version of HTTP, on a link whose rate changes."""
    text = "".join(
        film(player, f'player = "{player}"', f'version = "{version}"', "size_sigma = 0.3")
        for player, version in zip(PLAYERS, ("1.1", "2", "3"), strict=True)
    )
    return runs(pair(text, rate="8mbit", delay="20ms", queue="fq_codel", duration="70s", router=True, tail=CHANGING))


def own_fields(run: RunDir, name: str) -> dict[str, object]:
    (found,) = (one.own for one in run.lab.flows if one.name == name)
    return dict(found)


@pytest.mark.parametrize("player", PLAYERS)
def test_each_decision_is_that_of_the_paper(three: RunDir, player: str) -> None:
    rows = table(three, "segments", player)
    found = list(decisions(own_fields(three, player), rows))
    assert rows["level"].to_list() == [level for level, _ in found]
    for recorded, (_, expected) in zip(rows["expected_bps"], found, strict=True):
        assert recorded == (None if expected is None else pytest.approx(expected, rel=1e-12))
    assert rows["level"].n_unique() > 2, "or nothing is shown"


@pytest.mark.parametrize("player", PLAYERS)
def test_the_buffer_holds_what_was_delivered_less_what_was_played(three: RunDir, player: str) -> None:
    """At each request and at the end of each segment, as the player saw it; and never more than it may."""
    rows, states = table(three, "segments", player), table(three, "playback", player)
    delivered = rows.drop_nulls("buffer_end_ns")
    asked = rows.select(at="requested_ns", level="buffer_ns")[
        1:
    ]  # the first was decided before its connection was there
    for at, level in [*asked.rows(), *delivered.select("end_ns", "buffer_end_ns").rows()]:
        playing = states.filter(pl.col("state") == PLAYING, pl.col("start_ns") < at)
        played = sum(min(at, at if end is None else end) - start for start, end in playing["start_ns", "end_ns"].rows())
        assert level == 4 * SECOND * delivered.filter(pl.col("end_ns") <= at).height - played
    assert delivered["buffer_end_ns"].max() <= 30 * SECOND  # type: ignore[operator]
    if player != "buffer":  # which rather takes a higher bitrate
        assert rows["buffer_ns"].max() == 26 * SECOND, "full: a segment is requested when there is room"


def test_sizes_vary_around_those_of_the_bitrate_alike_at_each(three: RunDir) -> None:
    """Flows draw their own sizes; a segment has the same factor whatever its bitrate."""
    for player in PLAYERS:
        rows = table(three, "segments", player)
        factors = rows.select(pl.col("bytes") * 8 / (pl.col("bitrate_bps") * 4)).to_series()
        assert factors.log().std() == pytest.approx(0.3, rel=0.5)
        assert factors.n_unique() == rows.height
        segments = rows.drop_nulls("end_ns")
        seen = segments["bytes"] * 8e9 / (segments["end_ns"] - segments["requested_ns"])
        assert segments["throughput_bps"].to_list() == pytest.approx(seen.to_list(), rel=1e-12)


@pytest.fixture(scope="module")
def short(runs: Runs) -> RunDir:
    """Videos that end before the run does."""
    text = (
        film("five", "segments = 5", 'bitrates = ["500kbit"]', 'startup = "12s"')
        + film("two", "segments = 2", 'bitrates = ["500kbit"]', 'startup = "12s"')
        + film("rate", 'player = "rate"', 'segment = "1s"', "segments = 12")
    )
    return runs(pair(text, delay="10ms", duration="25s"))


def test_a_constant_size_is_that_of_the_bitrate(short: RunDir) -> None:
    rows = table(short, "segments", "rate")
    assert (rows["bytes"] == rows["bitrate_bps"] // 8).all()
    assert rows["bytes"].sum() == account(short, "rate")["received_bytes"]


def test_a_video_that_ends_ends_its_flow(short: RunDir) -> None:
    states, found = table(short, "playback", "five"), values(short, "five")
    assert states["state"].to_list() == [STARTING, PLAYING]
    assert states["end_ns"][1] - states["start_ns"][1] == 5 * 4 * SECOND
    assert account(short, "five")["end_ns"] == states["end_ns"][1]
    assert (found["segments"], found["segments_incomplete"], found["stalls"]) == (5, 0, 0)


def test_the_last_segment_starts_what_the_threshold_would_not(short: RunDir) -> None:
    states, rows = table(short, "playback", "two"), table(short, "segments", "two")
    assert states["start_ns"][1] == rows["end_ns"][1]


def test_the_viewer_leaves_at_the_flows_end(runs: Runs) -> None:
    """A segment takes 8 s, and the flow ends after 12: the second one arrives, and is not played."""
    lines = ('bitrates = ["2mbit"]', 'duration = "12s"')
    run = runs(pair(film("film", *lines), rate="1mbit", duration="30s"))
    rows, states = table(run, "segments", "film"), table(run, "playback", "film")
    assert rows.height == 2
    assert rows["end_ns"][1] > 12 * SECOND
    assert rows["buffer_end_ns"].to_list() == [4 * SECOND, None]
    assert states["state"].to_list() == [STARTING, PLAYING]
    assert states["end_ns"][1] is None
    found = values(run, "film")
    assert (found["segments"], found["segments_incomplete"]) == (1, 1)


def test_two_runs_have_the_same_bytes(runs: Runs) -> None:
    text = pair(
        "".join(
            film(f"v{n}", f'player = "{player}"', f'version = "{version}"', "size_sigma = 0.5", 'segment = "1s"')
            for n, (player, version) in enumerate(zip(PLAYERS, ("1.1", "2", "3"), strict=True))
        ),
        queue="pfifo limit 40",
        link='loss = "1%"',
        duration="6s",
        router=True,
    )
    digests = [read_digests(only_run(runs.result(text, *more)).path) for more in ((), ("--seeds", "1"))]
    assert {"segments.arrows", "playback.arrows", "packets.arrows"} <= digests[0].keys()
    assert digests[0] == digests[1]


def test_a_server_that_never_answers_plays_nothing(runs: Runs) -> None:
    run = runs(pair(film("two", 'version = "2"') + film("three", 'version = "3"'), link="loss = '100%'"))
    assert "never connected: the network lost its packets" in str(run.status())
    for name in ("two", "three"):
        assert table(run, "playback", name).select("state", "start_ns", "end_ns").rows() == [(STARTING, 0, None)]
        assert "startup_s_mean" not in values(run, name)
        assert "qoe_mbps" not in values(run, name)


def test_a_connection_that_times_out_is_a_result(runs: Runs) -> None:
    """The buffer is full when an outage begins that is longer than TCP's retransmissions of the next request."""
    sysctl = '{ sysctl = { "net.ipv4.tcp_retries2" = 3 } }'
    lines = ('bitrates = ["500kbit"]', 'segment = "1s"', 'buffer = "5s"')
    text = pair(
        film("one", 'version = "1.1"', *lines) + film("two", 'version = "2"', *lines),
        nodes=f"h1 = {sysctl}\nh2 = {sysctl}",
        delay="20ms",
        duration="40s",
        tail='[[changes]]\nat = "10s"\nlink = "wire"\noutage = "30s"\n',
    )
    run = runs(text)
    for name in ("one", "two"):
        assert account(run, name)["error"] is None
        rows, states = table(run, "segments", name), table(run, "playback", name)
        assert rows["end_ns"].to_list()[-1] is None
        assert states.select("state", "end_ns").rows()[-1] == (STALLED, None)
        begun = states["start_ns"][-1]
        assert values(run, name)["stalled_s"] == pytest.approx(40 - begun / SECOND)


def test_the_tables_are_as_the_page_of_records_says(three: RunDir) -> None:
    for name in ("segments", "playback"):
        written = pa.ipc.open_stream(pa.memory_map(str(three.path / TABLES[name].file))).schema
        assert written.equals(TABLES[name].schema, check_metadata=True)


def test_a_ladder_that_does_not_rise_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(pair(film("film", 'bitrates = ["3mbit", "1mbit"]')))
    answer = netwarp("show", tmp_path / "s.toml")
    assert answer.code == 2
    assert "film.bitrates: must rise, and 1mbit comes after 3mbit; sort them" in answer.err

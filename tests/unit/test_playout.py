"""Media streams: the rules of their fields, and playout of datagrams with known delays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from netwarp.analysis.run.metrics import analyse_run
from netwarp.scenario import ScenarioError, parse_scenario
from netwarp.stats.e_model import equipment_impairment, mean_opinion_score, rating
from scenario_texts import replaced
from synthetic import lab, write_description, write_table

MS = 10**6
SECOND = 10**9


def media(*lines: str) -> str:
    return replaced(('tool = "bulk"', "\n".join(['tool = "media"', *lines])))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (('codec = "g711"', 'rate = "1mbit"'), "both `codec` and `rate` decide the rate"),
        (('codec = "g711"', 'control = "gcc"'), "the codec g711 has a constant rate"),
        (('rate = "1mbit"', 'max_rate = "2mbit"'), 'applies to adaptive streams only; write control = "gcc"'),
        (('rate = "1mbit"', 'playout = "1ms"', 'deadline = "1ms"'), "both `deadline` and `playout`"),
        (('control = "gcc"', 'rate = "3mbit"'), "outside of its bounds of 100000 and 2500000 bit/s"),
        (
            ('control = "gcc"', 'min_rate = "2mbit"', 'max_rate = "1mbit"'),
            "is 2000000 bit/s, above the highest",
        ),
        (('codec = "g729"', 'interval = "1ms"'), "a frame would have fewer than 4 bytes"),
    ],
)
def test_contradictions_are_refused(lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(media(*lines))
    assert message in str(refused.value)


def test_a_codec_that_shall_adapt_is_one_contradiction() -> None:
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(media('codec = "g711"', 'control = "gcc"'))
    assert [problem.where for problem in refused.value.problems] == ["flows.bulk.control"]


def metrics(run: Path, delays_ms: Sequence[float | None], **own: Any) -> dict[str, float]:
    """The metrics of a stream with a packet every 100 ms, each with this delay; None: it never arrives."""
    made = lab(10, 1)
    fields = {"interval_ns": 20 * MS, "playout_ns": 40 * MS, "deadline_ns": None, "codec": "g711"} | own
    flow = made["flows"][0] | {"tool": "media", "name": "x", "group": "x"} | fields
    write_description(run, made | {"flows": [flow]})
    rows = [
        {
            "sequence": number,
            "sent_ns": number * 100 * MS,
            "received_ns": number * 100 * MS + round(delay * MS),
            "payload_bytes": 172,
        }
        for number, delay in enumerate(delays_ms)
        if delay is not None
    ]
    write_table(run, "datagrams", rows)
    account = {"end_ns": 10 * SECOND, "connect_ns": 0, "name": "x", "tool": "media", "sent_pkts": len(delays_ms)}
    write_table(run, "flows", [account])
    return dict(analyse_run(run).filter(scope="flow", name="x").select("metric", "value").iter_rows())


def test_the_buffer_follows_the_usual_delay_a_second_later(tmp_path: Path) -> None:
    """20 ms for two seconds, then 80 ms: the first second of that is late (above 20 + 40), the next is not.

    Seconds begin with the first arrival, 20 ms after the first packet was sent: 11 packets are sent from 2.0 to 3.0 s.
    """
    found = metrics(tmp_path, [20.0] * 20 + [80.0] * 20)
    assert found["late_pct"] == found["media_loss_pct"] == pytest.approx(100 * 11 / 40)
    assert found["mouth_to_ear_ms_mean"] == pytest.approx(20 + 40 + (31 * 20 + 9 * 80) / 40)


def test_a_deadline_does_not_follow(tmp_path: Path) -> None:
    found = metrics(tmp_path, [20.0] * 20 + [80.0] * 20, deadline_ns=60 * MS)
    assert found["late_pct"] == pytest.approx(50)
    assert found["mouth_to_ear_ms_mean"] == pytest.approx(20 + 60)


def test_lost_and_late_packets_make_bursts_together(tmp_path: Path) -> None:
    """4 of 40 packets are lost and 4 late, in two bursts of four: BurstR = 4 × (1 − 0.2), limited to 2."""
    delays: list[float | None] = [20.0] * 40
    delays[10:14] = delays[30:34] = [None, None, 95.0, 95.0]
    found = metrics(tmp_path, delays)
    assert (found["loss_pct"], found["late_pct"], found["media_loss_pct"]) == (10, 10, 20)
    r = rating(found["mouth_to_ear_ms_mean"], equipment_impairment(0, 25.1, 20, 2))
    assert found["r_factor"] == pytest.approx(r)
    assert found["mos"] == pytest.approx(mean_opinion_score(r))


def test_beyond_a_fifth_of_losses_there_is_no_score(tmp_path: Path) -> None:
    """G.107, table 2: Ppl is between 0 and 20 %."""
    delays: list[float | None] = [20.0] * 40
    delays[10:19] = [None] * 5 + [95.0] * 4
    found = metrics(tmp_path, delays)
    assert found["media_loss_pct"] == 22.5 and "mouth_to_ear_ms_mean" in found
    assert not {"mos", "r_factor"} & {*found}


def test_media_without_a_codec_has_no_score(tmp_path: Path) -> None:
    found = metrics(tmp_path, [20.0] * 10, codec="")
    assert "mouth_to_ear_ms_mean" in found
    assert not {"mos", "r_factor"} & {*found}


def test_a_stream_of_which_nothing_arrives_is_lost(tmp_path: Path) -> None:
    found = metrics(tmp_path, [None] * 10)
    assert (found["media_loss_pct"], found["late_pct"]) == (100, 0)


def test_what_the_end_cuts_off_of_a_frame_is_not_lost(tmp_path: Path) -> None:
    """Five packets leave together each second, and arrive 250 ms after each other; of the last frame none arrives."""
    made = lab(10, 1)
    fields = {"interval_ns": SECOND, "playout_ns": SECOND, "deadline_ns": None, "codec": ""}
    flow = made["flows"][0] | {"tool": "media", "name": "x", "group": "x", "start_ns": 0} | fields
    write_description(tmp_path, made | {"flows": [flow]})
    rows = [
        {"sequence": 5 * frame + n, "sent_ns": frame * SECOND, "received_ns": frame * SECOND + (n + 1) * 250 * MS}
        for frame in range(9)
        for n in range(5)
    ]
    write_table(tmp_path, "datagrams", [row | {"payload_bytes": 1000} for row in rows])
    account = {"end_ns": 10 * SECOND, "connect_ns": 0, "name": "x", "tool": "media", "sent_pkts": 50}
    write_table(tmp_path, "flows", [account])
    found = dict(analyse_run(tmp_path).filter(scope="flow", name="x").select("metric", "value").iter_rows())
    assert (found["loss_pct"], found["media_loss_pct"]) == (0, 0)


def test_the_rate_is_weighted_by_time(tmp_path: Path) -> None:
    reports = [{"time_ns": at * SECOND, "target_bps": rate} for at, rate in ((2, 1_000_000), (6, 2_000_000))]
    write_table(tmp_path, "rate_control", reports)
    assert metrics(tmp_path, [20.0])["media_rate_mbps_mean"] == pytest.approx(1.5), "4 s each, until 10 s"

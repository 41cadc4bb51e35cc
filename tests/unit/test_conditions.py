"""Changes that wait for a state of a flow: parsing, refusals, and their form in the lab."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from netwarp.kernels.recipe import TREE
from netwarp.lab import build_lab
from netwarp.lab.commands import commands
from netwarp.plan import make_plan
from netwarp.scenario import parse_scenario
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.model.condition import COLUMNS
from netwarp.store.kernel_tables import ACKS
from scenario_texts import DUMBBELL

PROBE = TREE / "files/arch/um/kernel/netwarp_probe.c"


def awaiting(when: str, *fields: str) -> str:
    more = fields or ('rate = "9mbit"',)
    return f'[[changes]]\nwhen = "{when}"\nlink = "bottleneck"\n' + "".join(f"{field}\n" for field in more)


def refusal(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        make_plan(parse_scenario(text))
    return str(caught.value)


def test_a_condition_is_in_the_lab_with_the_ports_of_its_flow() -> None:
    [change, back] = build_lab(
        make_plan(parse_scenario(DUMBBELL + awaiting("bulk.snd_cwnd_pkts>=100"))).runs[0]
    ).changes
    for one in (change, back):
        assert one.when is not None
        assert (one.when.number, one.when.source_port, one.when.destination_port) == (0, 20000, 5001)
        assert (one.when.variable, one.when.relation, one.when.value) == ("snd_cwnd_pkts", ">=", 100)
        assert one.rate_bps == 9_000_000
        assert one.at_ns == 0
    assert {change.index, back.index} == {13, 14}


def test_the_data_of_a_request_comes_from_its_server() -> None:
    text = DUMBBELL.replace('tool = "bulk"', 'tool = "request"\nresponse_size = "1MB"')
    [change, _] = build_lab(make_plan(parse_scenario(text + awaiting("bulk.ca_state == 3"))).runs[0]).changes
    assert change.when is not None
    assert (change.when.source_port, change.when.destination_port) == (5001, 20000)


def test_changes_of_a_link_that_wait_add_up_in_the_order_of_the_file() -> None:
    text = awaiting("bulk.snd_cwnd_pkts > 50", 'rate = { forward = "5mbit" }')
    text += awaiting("bulk.snd_cwnd_pkts < 20", 'delay = { forward = "30ms" }')
    first, second = build_lab(make_plan(parse_scenario(DUMBBELL + text)).runs[0]).changes
    assert first.wire is not None
    assert second.wire is not None
    assert (first.rate_bps, second.rate_bps) == (5_000_000, None)
    assert (first.wire.rate_bps, first.wire.delay_ns) == (5_000_000, 10_000_000)
    assert (second.wire.rate_bps, second.wire.delay_ns) == (5_000_000, 30_000_000)


@pytest.mark.parametrize(
    ("written", "variable", "value"),
    [
        ("bulk.srtt_us >= 20ms", "srtt_us", 20_000),
        ("bulk.bbr_bw_bps >= 9mbit", "bbr_bw_bps", 9_000_000),
        ("bulk.bbr_pacing_gain < 128", "bbr_pacing_gain", 128),
        ("bulk.bytes_acked >= 1MB", "bytes_acked", 1_000_000),
        ("bulk.bytes_acked < 9223372036854775807", "bytes_acked", 9223372036854775807),
    ],
)
def test_rates_and_durations_may_have_their_units(written: str, variable: str, value: int) -> None:
    change = parse_scenario(DUMBBELL + awaiting(written)).changes[0]
    assert change.when is not None
    assert (change.when.variable, change.when.value) == (variable, value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (awaiting("bulk.cwnd >= 100"), 'a sender has no variable "cwnd"'),
        (awaiting("bulky.snd_cwnd_pkts >= 100"), 'there is no flow "bulky" (did you mean "bulk"?)'),
        (awaiting("bulk.0.snd_cwnd_pkts >= 100"), 'there is no flow "bulk.0"; write "bulk"'),
        (awaiting("bulk is fast"), "must be a flow, a variable of its sender, a relation, a value"),
        (awaiting("bulk.snd_cwnd_pkts >= 10mbit"), '"10mbit" is not a whole number'),
        (awaiting("bulk.srtt_us >= 1ns"), '"1ns" is not a whole number of microseconds'),
        (awaiting(f"bulk.snd_cwnd_pkts >= {2**63}"), "is beyond the 64 bits"),
        (awaiting("bulk.snd_cwnd_pktss >= 1MB"), '(did you mean "snd_cwnd_pkts"?)'),
        ('[[changes]]\nwhen = 5\nlink = "bottleneck"\nrate = "9mbit"\n', "must be a flow, a variable of its sender"),
        (awaiting("bulk.snd_cwnd_pkts >= 9", 'rate = "9mbit"', 'over = "1s"'), "has no `over`"),
        (awaiting("bulk.snd_cwnd_pkts >= 9", 'outage = "1s"'), "has no `outage`"),
        (
            awaiting("bulk.snd_cwnd_pkts >= 9") + '[[changes]]\nat = "2s"\nlink = "bottleneck"\ndelay = "20ms"\n',
            'changes.1 of link "bottleneck" has a time',
        ),
        ('[[changes]]\nlink = "bottleneck"\nrate = "9mbit"\n', "does not say when"),
    ],
)
def test_what_cannot_be_is_refused(text: str, why: str) -> None:
    assert why in refusal(DUMBBELL + text)


def test_a_control_that_a_point_chooses_may_export_the_variable() -> None:
    text = DUMBBELL + awaiting("bulk.mode == 1") + '[sweep]\n"flows.bulk.cc" = ["cubic", "file:tcp_copa.c"]\n'
    assert parse_scenario(text).changes[0].when is not None


def test_a_group_names_one_of_its_flows() -> None:
    group = DUMBBELL + "count = 3\n"
    assert "its flows are bulk.0 to bulk.2" in refusal(group + awaiting("bulk.snd_cwnd_pkts >= 9"))
    [change, _] = build_lab(make_plan(parse_scenario(group + awaiting("bulk.2.snd_cwnd_pkts >= 9"))).runs[0]).changes
    assert change.when is not None
    assert change.when.source_port == 20002


def test_datagrams_have_no_sender_that_hears_acks() -> None:
    text = DUMBBELL.replace('tool = "bulk"', 'tool = "cbr"\nrate = "1mbit"')
    assert "is not one TCP connection of netwarp's own" in refusal(text + awaiting("bulk.snd_cwnd_pkts >= 9"))


def test_the_commands_say_when() -> None:
    run = make_plan(parse_scenario(DUMBBELL + awaiting("bulk.snd_cwnd_pkts >= 100"))).runs[0]
    lab = build_lab(run, devices=False)
    assert any("at the first ACK with bulk.snd_cwnd_pkts >= 100: tc -n r1" in line for line in commands(lab))


def test_the_kernel_knows_the_same_columns() -> None:
    known = re.findall(r'PROBED\("(\w+)"', Path(PROBE).read_text())
    assert sorted(known) == sorted(COLUMNS)
    assert set(COLUMNS) <= {column.name for column in ACKS.columns}

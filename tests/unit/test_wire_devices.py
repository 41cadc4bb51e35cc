"""Links that are devices: their plans of losses, refusals, and their form in `netwarp show`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from netwarp.engines.host.needs import of_own_kernel
from netwarp.engines.uml import UmlEngine
from netwarp.kernels import Kernel, KernelDescription
from netwarp.lab import build_lab
from netwarp.lab.commands import commands
from netwarp.lab.drawing import draw
from netwarp.lab_format.model import Lab, read_lab
from netwarp.lab_format.wires.netem import parse_link_loss
from netwarp.lab_format.wires.planned import MAX_NUMBERS, LabPlan, LabPlannedFlow, Plan
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, parse_scenario
from scenario_texts import replaced

SECOND = 10**9
DEVICE = 'wire = "device"\n'
NETEM = 'wire = "netem"\n'
ACCESS = ('rate = "1gbit"\n', f'rate = "1gbit"\n{NETEM}')


def device(*lines: str, tail: str = "") -> str:
    """The dumbbell, whose bottleneck alone is a device, with more lines of this link."""
    return bottleneck(DEVICE, *lines, tail=tail).replace(*ACCESS)


def lab_of(text: str, *, devices: bool = True) -> Lab:
    """The lab of the scenario's only run."""
    (run,) = make_plan(parse_scenario(text)).runs
    return build_lab(run, devices=devices)


def bottleneck(*lines: str, tail: str = "") -> str:
    """The dumbbell with more lines of its bottleneck."""
    return replaced(('delay = "10ms"\n', 'delay = "10ms"\n' + "".join(f"{line}\n" for line in lines)), tail=tail)


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("every 100", Plan(every=100)),
        ("every 1", Plan(every=1)),
        ("packets 17, 18, 40", Plan(numbers=(17, 18, 40))),
        ("packets 40 17", Plan(numbers=(17, 40))),
        ("from 3s to 3.2s", Plan(from_ns=3 * SECOND, to_ns=3 * SECOND + SECOND // 5)),
        ("every 10 acks", Plan(every=10, kind="acks")),
        ("packets 3, 4 data of bulk.1", Plan(numbers=(3, 4), kind="data", flow="bulk.1")),
        ("from 3s to 4s of bulk", Plan(from_ns=3 * SECOND, to_ns=4 * SECOND, flow="bulk")),
    ],
)
def test_plans_are_read_and_written(text: str, plan: Any) -> None:
    assert parse_link_loss(text) == plan
    assert parse_link_loss(plan.words()) == plan


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("every", "is not a plan"),
        ("every 0", "is not the number of a packet"),
        ("every x", "is not the number of a packet"),
        (f"every {2**32}", "is not the number of a packet"),
        ("packets", "is not a plan"),
        ("packets 1 -2", "is not the number of a packet"),
        ("packets 3, 3", "names a packet twice"),
        ("packets " + " ".join(map(str, range(1, MAX_NUMBERS + 2))), f"the maximum is {MAX_NUMBERS}"),
        ("from 3s", "is not a plan"),
        ("from 3s to 3s", "which is not after its start"),
        ("from 3 to 4s", "3"),
    ],
)
def test_other_plans_are_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_link_loss(text)


@pytest.mark.parametrize(
    ("plan", "loss"),
    [
        ("every 100", LabPlan(every=100)),
        ("packets 17, 18", LabPlan(numbers=(17, 18))),
        ("from 1s to 2s", LabPlan(from_ns=SECOND, to_ns=2 * SECOND)),
    ],
)
def test_the_queue_is_the_root_and_the_device_has_rate_and_plan(plan: str, loss: object) -> None:
    lab = lab_of(device(f'loss = {{ forward = "{plan}" }}'))
    access, bottleneck = lab.links
    assert (access.device, bottleneck.device) == (False, True)
    end, back = bottleneck.ends
    assert (end.shaper, end.wire.rate_bps, end.wire.delay_ns) == (None, 10**7, 10 * 10**6)
    assert (end.wire.loss_plan, back.wire.loss_plan) == (loss, None)
    assert (end.wire.loss, back.wire.loss) == (None, None)
    assert end.tc == ("qdisc add dev eth1 root handle 10: pfifo limit 100",)
    assert access.ends[0].shaper is not None


def test_what_is_shown_says_what_is_a_device_and_with_which_plan() -> None:
    lab = lab_of(device('loss = { reverse = "packets 17, 18" }'))
    shown = commands(lab)
    wires = [line for line in shown if ": a wire, cable 13, " in line]
    assert [line.partition("cable 13, ")[2] for line in wires] == [
        "rate 10000000bit, delay 10000000ns",
        "rate 10000000bit, delay 10000000ns, loss packets 17, 18",
    ]
    assert any("which ip cannot make" in line for line in shown)
    assert not any("which ip cannot make" in line for line in commands(lab_of(replaced(), devices=False)))
    assert not any(" w13" in line or " w14" in line for line in shown), "it has no part in the namespace of the wires"
    assert sum(" w11" in line for line in shown) > 0
    drawn = draw(lab).splitlines()
    assert "bottleneck" in drawn and "access  (netem)" in drawn
    assert "access" in draw(lab_of(replaced())).splitlines(), "only where both kinds are there"


@pytest.mark.parametrize("line", ["ring = 9", 'loss = { reverse = "every 100" }'])
def test_a_link_that_must_be_a_device_is_not_shown_as_another(line: str) -> None:
    """Netem's commands in its place would lose nothing, and say so nowhere."""
    lab = lab_of(bottleneck(line), devices=False)
    assert [link.device for link in lab.links] == [False, True]
    shown = "\n".join(commands(lab))
    assert "ring of 9" in shown or "loss every 100" in shown


def test_a_plan_of_a_group_has_the_flows_of_the_lab() -> None:
    lab = lab_of(device('duplicate = "every 5 acks of bulk"'))
    (end, back) = lab.links[1].ends
    (flow,) = [one for one in lab.flows if one.group == "bulk"]
    named = LabPlannedFlow(
        protocol=6, source=flow.source, destination=flow.destination, destination_port=flow.destination_port
    )
    assert end.wire.duplicate_plan == LabPlan(every=5, kind="acks", flow="bulk", flows=(named,))
    assert back.wire.duplicate_plan == end.wire.duplicate_plan


CHANGE = '[[changes]]\nat = "1s"\nlink = "bottleneck"\n'


@pytest.mark.parametrize(
    ("lines", "tail", "keys", "words"),
    [
        (['jitter = "1ms 25%"'], "", "links.bottleneck.jitter", "leave out the correlation of its jitter"),
        (['loss = { reverse = "1% 25%" }'], "", "links.bottleneck.loss", "use gemodel"),
        (['loss = "every 100"'], CHANGE + 'loss = "1%"\n', "changes.0.loss", "holds for a whole run"),
        (['loss = "every 100 of bulck"'], "", "links.bottleneck.loss", 'no flow "bulck" (did you mean "bulk"?)'),
        (['loss = "every 100 of bulk.7"'], "", "links.bottleneck.loss", 'there is no flow "bulk.7"'),
        (["ring = 0"], "", "links.bottleneck.ring", "1"),
    ],
)
def test_what_a_device_lacks_is_refused_with_a_way_out(lines: list[str], tail: str, keys: str, words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(device(*lines, tail=tail), "t.toml")
    assert any(words in one.message for one in refused.value.problems if one.where == keys), refused.value.problems


@pytest.mark.parametrize(
    ("lines", "tail"),
    [
        (['jitter = "1ms normal"', 'loss = "gemodel 1% 10%"', 'corrupt = "1%"', 'reorder = "packets 7"'], ""),
        (["offload = true", "ring = 256", 'duplicate = "1%"'], CHANGE + 'rate = "5mbit"\n'),
        (['loss = "every 100"'], CHANGE + 'outage = "1s"\n'),
    ],
)
def test_what_a_device_has_is_accepted(lines: list[str], tail: str) -> None:
    assert lab_of(device(*lines, tail=tail)).links[1].device


def test_changes_of_a_device_are_shown_as_its_state() -> None:
    shown = commands(lab_of(device(tail=CHANGE + 'rate = "5mbit"\nqueue = "fq_codel"\n')))
    assert "# at 1s: eth1 on r1, a wire: rate 5000000bit, delay 10000000ns" in shown
    assert "# at 1s: tc -n r1 qdisc replace dev eth1 root handle 11: fq_codel" in shown


@pytest.mark.parametrize("found", ["loss", "duplicate", "reorder"])
def test_plans_need_a_device_and_hold_for_a_whole_run(found: str) -> None:
    planned = f'{found} = "every 100"'
    assert lab_of(bottleneck(planned)).links[1].device
    with pytest.raises(ScenarioError, match='leave out wire = "netem"'):
        parse_scenario(bottleneck(planned, NETEM))
    changed = replaced(tail=f'{CHANGE}loss = "every 100"\n')
    with pytest.raises(ScenarioError, match="plans hold for a whole run"):
        parse_scenario(changed)


@pytest.mark.parametrize("found", ["loss", "duplicate", "reorder"])
def test_a_plan_for_a_time_after_the_run_is_refused(found: str) -> None:
    length = parse_scenario(bottleneck()).duration
    until = f"{length + SECOND}ns"
    assert parse_scenario(bottleneck(f'{found} = "from {length - 1}ns to {until}"'))
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(bottleneck(f'{found} = {{ reverse = "from {length}ns to {until}" }}'))
    (problem,) = refused.value.problems
    assert problem.where == f"links.bottleneck.{found}"
    assert problem.message == f"begins at {length // SECOND}s, when the run of {length // SECOND}s is over"


def test_a_ring_needs_a_device() -> None:
    with pytest.raises(ScenarioError, match="only a link that is a device has a ring"):
        parse_scenario(bottleneck("ring = 16", NETEM))
    assert lab_of(bottleneck("ring = 16")).links[1].device


@pytest.mark.parametrize(
    ("lines", "found", "why"),
    [
        ([DEVICE], "wire", "use the engine uml, or leave out `wire`"),
        (['reorder = "every 100"'], "reorder", "this needs a link that is a device, of netwarp's own kernel"),
        (["ring = 16"], "ring", "this needs a link that is a device, of netwarp's own kernel"),
    ],
)
def test_real_time_has_no_devices(lines: list[str], found: str, why: str) -> None:
    plan = make_plan(parse_scenario(bottleneck(*lines)))
    ((keys, said),) = (item for key, section in plan.sections for item in of_own_kernel(key, section))
    assert keys == ("links", "bottleneck", found) and why in said


CORRELATED = CHANGE + 'loss = "1% 25%"\n'


@pytest.mark.parametrize(
    ("lines", "tail", "devices"),
    [
        ([], "", [True, True]),
        ([NETEM], "", [True, False]),
        (['jitter = "1ms 25%"'], "", [True, False]),
        ([], CORRELATED, [True, False]),
        (['loss = "gemodel 1% 10%"'], "", [True, True]),
        (["offload = true"], "", [True, False]),
        (["offload = true", "ring = 9"], "", [True, True]),
        (['raw = { h2 = ["qdisc add dev {dev} root pfifo"] }'], "", [True, False]),
    ],
)
def test_a_link_is_a_device_unless_only_netem_does_what_it_says(
    lines: list[str], tail: str, devices: list[bool]
) -> None:
    text = bottleneck(*lines, tail=tail)
    assert [link.device for link in lab_of(text).links] == devices
    assert [link.device for link in lab_of(text, devices=False).links] == [False, "ring = 9" in lines]


@pytest.mark.parametrize(("line", "advice"), [(DEVICE, 'leave out wire = "device"'), ("ring = 9", "plans and rings")])
def test_correlation_of_a_change_is_refused_where_a_device_is_needed(line: str, advice: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(bottleneck(line, tail=CORRELATED))
    (found,) = refused.value.problems
    assert found.where == "changes.0.loss" and advice in found.message


def test_labs_of_older_results_have_no_devices() -> None:
    assert not any(link.device for link in read_lab({"duration_ns": 1, "flows": [], "links": [OLD]}).links)


OLD = {
    "name": "l",
    "ends": [{"node": "a", "index": 11, "wire": {}}, {"node": "b", "index": 12, "wire": {}}],
}


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (bottleneck(), ["access", "bottleneck"]),
        (bottleneck(NETEM), ["access"]),
        (bottleneck("offload = true"), ["access"]),
        (bottleneck('jitter = "1ms 20%"'), ["access"]),
        (bottleneck(NETEM).replace(*ACCESS), []),
        (bottleneck(tail='[sweep]\n"links.bottleneck.wire" = ["netem", "device"]\n').replace(*ACCESS), ["bottleneck"]),
    ],
)
def test_a_kernel_without_the_driver_refuses_the_links_that_would_be_devices(
    text: str, refused: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    described = KernelDescription("6.12", (), (), ("cubic", "reno"), ("pfifo", "bfifo"), ())
    monkeypatch.setattr("netwarp.engines.uml._described", lambda _: described)
    place = Path("missing")
    engine = UmlEngine(Kernel(place, "digest", "6.12", "key", "tree", "source", "gcc"), place, place)
    problems = [keys for keys, _ in engine.check(make_plan(parse_scenario(text)))]
    assert problems == [("links", name, "wire") for name in refused]

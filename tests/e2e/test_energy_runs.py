"""Energy of runs on the real engine: it changes no record, and agrees with values that are exact for the traffic."""

from __future__ import annotations

import polars as pl
import pytest
from e2e_runs import Runs, only_run
from e2e_scenarios import BULK, PING, dumbbell
from netwarp.energy.model import Port, Switch
from netwarp.energy.named import shipped_model
from netwarp.store.codes import Fate
from netwarp.store.rundir import RunDir

CBR = '[flows.cbr]\nfrom = "h1"\nto = "h2"\ntool = "cbr"\nrate = "10mbit"\npacket_size = 1400\n'
FRAME_BYTES = 1400 + 8 + 20 + 14
PERIOD_US = FRAME_BYTES * 8 / 10.0
STEADY = dumbbell(rate="1gbit", duration="6s", flows=CBR, tail='[run]\nstart_jitter = "0ms"\n').replace(
    "\nduration", '\nwarmup = "1s"\nduration'
)
MODELS = (
    "links.access.energy=1000base-t-eee",
    "links.bottleneck.energy=10gbase-t-eee-burst",
    "nodes.h1.energy=lte",
    "nodes.r1.energy=switch-48",
    "nodes.h2.energy=laptop",
)


def options(*settings: str) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def value(run: RunDir, scope: str, name: str, metric: str) -> float:
    found = run.metrics().filter(scope=scope, name=name, metric=metric)["value"]
    assert len(found) == 1, (scope, name, metric)
    return float(found[0])


@pytest.mark.parametrize("name", ["1000base-t-eee", "10gbase-t-eee"])
def test_a_constant_rate_has_its_exact_cycle(runs: Runs, name: str) -> None:
    """Each period one frame, for which the port wakes, and then falls asleep; within 0.5 %."""
    run = runs(STEADY, *options(f"links.bottleneck.energy={name}"))
    model = shipped_model(name)
    assert isinstance(model, Port)
    assert model.low_power_idle is not None
    idle = model.low_power_idle
    sending_us = (FRAME_BYTES + model.overhead_bytes) * 8 / model.rate_mbps
    awake = (idle.wake_us + sending_us + idle.sleep_us) / PERIOD_US
    watts = model.active_w * (awake + (1 - awake) * idle.mean_share)
    assert value(run, "link", "bottleneck:r1", "asleep_pct") == pytest.approx(100 * (1 - awake), rel=0.005)
    assert value(run, "link", "bottleneck:r1", "power_w") == pytest.approx(watts, rel=0.005)
    assert value(run, "link", "bottleneck:r1", "wakeups") == pytest.approx(5e6 / PERIOD_US, rel=0.005)
    assert value(run, "link", "bottleneck:r1", "wake_delay_ms") == pytest.approx(idle.wake_us / 1e3, rel=0.005)
    assert value(run, "flow", "cbr", "energy_j") == pytest.approx(value(run, "run", "", "energy_j"), rel=0.005)


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_all_of_a_network_with_flows_alone_is_theirs(runs: Runs, family: str) -> None:
    """Requests and replies of a ping, segments and ACKs: the flows' energy is all that machines need for packets."""
    scenario = dumbbell(duration="3s", flows=BULK + PING + CBR).replace("tool =", f'family = "{family}"\ntool =')
    run = runs(scenario, *options("nodes.h1.energy=laptop", "nodes.h2.energy=laptop"))
    shares = [value(run, "flow", name, "energy_j") for name in ("bulk", "ping", "cbr")]
    assert all(share > 0 for share in shares)
    assert sum(shares) == pytest.approx(value(run, "run", "", "energy_j"), rel=1e-3)


def test_models_of_energy_change_no_record(runs: Runs) -> None:
    scenario = dumbbell(duration="4s", flows=BULK + PING)
    plain, modelled = runs(scenario), runs(scenario, *options(*MODELS))
    names = sorted(path.name for path in plain.path.glob("*.arrows"))
    assert names == sorted(path.name for path in modelled.path.glob("*.arrows"))
    assert len(names) > 10
    assert [name for name in names if (plain.path / name).read_bytes() != (modelled.path / name).read_bytes()] == []
    assert "energy_j" not in plain.metrics()["metric"].to_list()
    assert plain.path.name != modelled.path.name, "its metrics differ, so it is another run"


@pytest.mark.parametrize(("models", "ports"), [(MODELS, 0), (MODELS[1:], 1), (MODELS[2:], 2)])
def test_a_switch_and_its_flows_add_up_and_no_port_counts_twice(
    runs: Runs, models: tuple[str, ...], ports: int
) -> None:
    """A link with a model has the power of its ports, and its switch only that of the others."""
    run = runs(dumbbell(duration="4s", flows=BULK + PING), *options(*models))
    model = shipped_model("switch-48")
    assert isinstance(model, Switch)
    sent = run.scan("packets").join(_ends(run), on="interface_index").filter(fate=Fate.SENT, node="r1")
    sent_bytes = sent.select(pl.col("packet_bytes").cast(pl.Int64).sum()).collect().item()
    expected = (model.idle_w + ports * model.port_w) * 4 + sent_bytes * model.byte_nj / 1e9
    assert value(run, "node", "r1", "energy_j") == pytest.approx(expected, rel=1e-6)
    of_parts = run.metrics().filter(pl.col("scope").is_in(["link", "node"]), metric="energy_j")
    parts = sum(of_parts["value"].to_list())
    assert value(run, "run", "", "energy_j") == pytest.approx(parts)
    flows = value(run, "flow", "bulk", "energy_j") + value(run, "flow", "ping", "energy_j")
    assert 0.995 * parts < flows <= parts, "the rest is of neighbour discovery"
    assert value(run, "flow", "bulk", "retransmission_j") < value(run, "flow", "bulk", "energy_j")


def _ends(run: RunDir) -> pl.LazyFrame:
    ends = [(end.interface_index, end.node) for end in run.description.ends]
    return pl.LazyFrame(ends, schema={"interface_index": pl.UInt32, "node": pl.String}, orient="row")


def test_what_an_interface_without_a_queue_consumes_is_unknown(runs: Runs) -> None:
    """Its packets are not recorded, so that its port would seem to sleep all the time."""
    raw = 'rate = "1gbit"\nraw = { h1 = ["qdisc replace dev {dev} root noqueue"] }'
    scenario = dumbbell(duration="4s", flows=BULK + PING).replace('rate = "1gbit"', raw)
    run = runs(scenario, *options(*MODELS))
    joules = run.metrics().filter(metric="energy_j")
    assert set(joules.filter(scope="link")["name"]) == {"bottleneck:r1", "bottleneck:h2"}
    assert set(joules.filter(scope="node")["name"]) == {"h2"}


def test_without_records_of_packets_there_is_no_energy(runs: Runs) -> None:
    run = only_run(runs.result(dumbbell(duration="4s", exact=False), *options(*MODELS)))
    assert [name for name in run.metrics()["metric"] if "energy" in name or name in ("power_w", "asleep_pct")] == []

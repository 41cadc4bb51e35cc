"""Networks of hundreds of nodes on the real kernel: every packet is accounted for."""

from __future__ import annotations

from e2e_networks import star
from e2e_runs import Runs
from e2e_traffic import account


def test_a_star_of_four_hundred(runs: Runs) -> None:
    """More nodes than a machine of the usual size has network namespaces for by itself, and more interfaces than its
    kernel notices the carrier of in a second: their own packets (MLD reports) must not be lost meanwhile."""
    run = runs(star(400, duration="0.5s"))
    assert account(run, "ping")["received_bytes"] > 0
    wires = run.scan("wires").collect()
    assert wires.height == 2 * 399
    idle = wires.filter(wires["interface_index"].is_between(15, 800))
    assert idle.height > 700
    assert (idle["sent_pkts"] == idle["delivered_pkts"]).all()
    assert idle["sent_pkts"].min() == 2, "there was something to lose"


def test_a_busy_set_up_loses_nothing(runs: Runs) -> None:
    """Programs that set up some nodes make so many calls that time passes before others have been set up at all."""
    lines = "".join(f'"qdisc {verb} dev {{dev}} root handle 1: pfifo", ' for verb in ("add", "del")) * 500
    raw = "".join(f"[links.l{link}.raw]\nh{link} = [{lines}]\n" for link in range(30))
    text = star(40, duration="0.5s").replace("[flows", f"{raw}[flows", 1)
    wires = runs(text).scan("wires").collect()
    assert (wires["sent_pkts"] == wires["delivered_pkts"]).all()

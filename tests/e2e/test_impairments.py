"""Effects of wires on packets on the real kernel: at the configured rates, and seeded by their identity."""

from __future__ import annotations

import numpy as np
import pytest
from e2e_runs import Runs
from e2e_traffic import FORWARD, account, datagrams_of, flow, pair, unaccounted
from netwarp.store.rundir import RunDir
from scipy import stats  # type: ignore[import-untyped]

MS = 10**6
SERIALISATION_NS = 1514 * 8 * 100  # at 10 Mbit/s


def stream(link: str, rate: str = "5mbit", duration: str = "10s", delay: str = "10ms", tail: str = "") -> str:
    """4,129 datagrams over 10 s (at 5 Mbit/s) through a wire with these properties."""
    return pair(flow("cbr", "cbr", f'rate = "{rate}"'), link=link, duration=duration, delay=delay, tail=tail)


def wire(run: RunDir, interface: int = FORWARD) -> dict[str, int]:
    return run.scan("wires").filter(interface_index=interface).collect().row(0, named=True)


def lost(run: RunDir) -> np.ndarray:
    """Whether each sent datagram was lost."""
    gone = np.ones(account(run, "cbr")["sent_pkts"], dtype=bool)
    gone[datagrams_of(run, "cbr")["sequence"].to_numpy()] = False
    on_wire = wire(run)["queued_pkts"]
    return gone[: len(gone) - on_wire] if on_wire else gone


def likely(count: int, trials: int, p: float) -> bool:
    """Whether a number of losses is within the central 99.9 % of the binomial distribution."""
    low, high = stats.binom.interval(0.999, trials, p)
    return bool(low <= count <= high)


def test_random_loss(runs: Runs) -> None:
    run = runs(stream('loss = { forward = "2%" }'))
    gone = lost(run)
    assert likely(int(gone.sum()), len(gone), 0.02)
    assert unaccounted(run, [FORWARD]) == 0
    # Independent: losses after a loss are as likely as any.
    assert likely(int((gone[1:] & gone[:-1]).sum()), int(gone[:-1].sum()), 0.02)


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ((0.05, 0.95, 1.0, 0.0), "gemodel 5%"),
        ((0.02, 0.2, 1.0, 0.0), "gemodel 2% 20%"),
        ((0.02, 0.2, 0.7, 0.01), "gemodel 2% 20% 70% 1%"),
    ],
)
def test_gilbert_elliott(runs: Runs, chain: tuple[float, float, float, float], words: str) -> None:
    """Share and bursts of losses follow from the chain: bad with p/(p+r), left with r."""
    p, r, one_minus_h, one_minus_k = chain
    run = runs(stream(f'loss = {{ forward = "{words}" }}', rate="9mbit"))
    gone = lost(run)
    bad = p / (p + r)
    # loss_gilb_ell() moves first and decides by the state it came from, so the stationary share is unaffected.
    share = bad * one_minus_h + (1 - bad) * one_minus_k
    # The variance of a share under a chain with this memory, larger than binomial by (1 + memory) / (1 - memory).
    memory = 1 - p - r
    trials = len(gone) * (1 - max(memory, 0)) / (1 + max(memory, 0))
    assert abs(gone.mean() - share) < 3.3 * np.sqrt(share * (1 - share) / trials)
    if one_minus_h == 1:
        starts = gone & ~np.append(False, gone[:-1])
        assert likely(int(starts.sum()), int(gone.sum()), r), "a burst lasts 1/r packets"
    assert unaccounted(run, [FORWARD]) == 0


def test_four_states(runs: Runs) -> None:
    """p14 alone gives isolated losses; with p13 and p31, bursts of 1/p31."""
    run = runs(stream('loss = { forward = "state 2% 25% 0% 100% 3%" }', rate="9mbit"))
    gone = lost(run)
    padded = np.concatenate([[False], gone, [False]])
    edges = np.flatnonzero(np.diff(padded.astype(int)))
    lengths = edges[1::2] - edges[::2]
    assert len(lengths) > 200 and lengths.max() > 4
    assert likely(int((lengths == 1).sum()), len(lengths), (0.03 + 0.02 * 0.25) / 0.05)
    assert unaccounted(run, [FORWARD]) == 0


def test_correlated_loss_comes_in_bursts(runs: Runs) -> None:
    run = runs(stream('loss = { forward = "20% 60%" }', rate="9mbit"))
    gone = lost(run)
    after_loss = gone[1:][gone[:-1]].mean()
    assert after_loss > 3 * gone.mean() > 0
    assert unaccounted(run, [FORWARD]) == 0


def test_duplicates(runs: Runs) -> None:
    run = runs(stream('duplicate = { forward = "5%" }'))
    counts = wire(run)
    made = counts["delivered_pkts"] + counts["queued_pkts"] - counts["sent_pkts"]
    assert likely(made, counts["sent_pkts"], 0.05)
    arrived = datagrams_of(run, "cbr")
    assert arrived.height - arrived["sequence"].n_unique() == made
    assert counts["lost_pkts"] == 0


@pytest.mark.parametrize("exact", ["true", "false"])
def test_corruption_is_found_by_checksums(runs: Runs, exact: str) -> None:
    run = runs(stream('corrupt = { forward = "5%" }', tail=f"[record]\nexact = {exact}\n"))
    gone = lost(run)
    # A flipped bit of the frame's header, the address or the payload: hardly any datagram survives it.
    assert likely(int(gone.sum()), len(gone), 0.05)
    assert wire(run)["lost_pkts"] == 0, "it is the receiver who throws them away"


def test_reordering_only_where_asked_for(runs: Runs) -> None:
    run = runs(stream('reorder = { forward = "10%" }'))
    arrived = datagrams_of(run, "cbr")
    delays = arrived["received_ns"] - arrived["sent_ns"]
    early = int((delays < 10 * MS).sum())
    # Packets that overtake skip the delay, and arrive when their last bit has left. Those of netem skip that, too.
    assert delays.min() == SERIALISATION_NS and likely(early, arrived.height, 0.1)
    in_order = datagrams_of(runs(stream('jitter = "8ms normal"')), "cbr").sort("received_ns", maintain_order=True)
    assert in_order["sequence"].is_sorted(), "jitter alone keeps the order"


# Mean and standard deviation in units of jitter, of iproute2's tables (8192 is one jitter).
SHAPES = {
    "uniform": (0.0, 1 / np.sqrt(3)),
    "normal": (-0.001, 1.0),
    "pareto": (-0.033, 0.820),
    "paretonormal": (-0.025, 0.834),
}


@pytest.mark.parametrize("name", SHAPES)
def test_jitter_has_its_distribution(runs: Runs, name: str) -> None:
    """Packets far enough apart not to wait for each other: each delay is a draw."""
    run = runs(stream(f'jitter = {{ forward = "2ms {name}" }}', rate="1mbit", duration="30s", delay="30ms"))
    arrived = datagrams_of(run, "cbr")
    draws = (arrived["received_ns"] - arrived["sent_ns"] - SERIALISATION_NS).to_numpy() / MS - 30
    mean, deviation = SHAPES[name]
    assert draws.mean() == pytest.approx(2 * mean, abs=0.12)
    assert draws.std() == pytest.approx(2 * deviation, rel=0.07)
    if name == "uniform":
        assert -2 <= draws.min() < -1.98 and 1.98 < draws.max() < 2
        assert stats.kstest(draws, "uniform", args=(-2, 4)).pvalue > 0.001
    if name == "normal":
        assert stats.kstest(draws, "norm", args=(0, 2)).pvalue > 0.001
    if "pareto" in name:
        assert stats.skew(draws) > 1 and draws.max() > 6
    assert unaccounted(run, [FORWARD]) == 0


def test_correlation_of_jitter_has_no_effect(runs: Runs) -> None:
    """The scenario check notes the reason: tabledist() takes the remainder of the correlated number."""
    run = runs(stream('jitter = { forward = "2ms 50%" }', rate="1mbit", duration="30s", delay="30ms"))
    arrived = datagrams_of(run, "cbr")
    draws = (arrived["received_ns"] - arrived["sent_ns"]).to_numpy()
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.07


def test_losses_depend_on_seed_link_and_direction_alone(runs: Runs) -> None:
    """Common randomness: another queue, more links, other flows elsewhere – and the same datagrams are lost."""
    lossy = 'loss = "10%"'
    plain = set(np.flatnonzero(lost(runs(stream(lossy, duration="3s")))).tolist())
    more = stream(lossy, duration="3s").replace("pfifo limit 1000", "fq_codel").replace("h2 = {}", "h2 = {}\nh3 = {}")
    more += '[links.other]\nends = ["h2", "h3"]\nrate = "20mbit"\ndelay = "3ms"\nloss = "10%"\njitter = "1ms"\n'
    more += flow("elsewhere", "bulk", ends=("h3", "h2"))
    run = runs(more)
    sent = account(run, "cbr")["sent_pkts"]
    arrived = set(datagrams_of(run, "cbr")["sequence"].to_list())
    in_flight = wire(run)["queued_pkts"]
    assert set(range(sent - in_flight)) - arrived == plain
    other = set(np.flatnonzero(lost(runs(stream(lossy, duration="3s"), "--set", "seeds=[2]"))).tolist())
    assert other != plain
    back = stream(lossy, duration="3s").replace('from = "h1"\nto = "h2"', 'from = "h2"\nto = "h1"')
    assert set(np.flatnonzero(lost(runs(back))).tolist()) != plain

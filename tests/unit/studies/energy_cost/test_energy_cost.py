"""The table of energy beside what is delivered, from a summary with known values."""

from __future__ import annotations

import polars as pl
from netwarp.studies.energy_cost.analysis import Cost, costs
from netwarp.studies.energy_cost.needs import Axes

AXES = Axes("flows.bulk.cc", "bulk", "links.bottleneck.queue")


def run(seed: int, control: str, values: dict[tuple[str, str, str], float], status: str = "ok") -> pl.DataFrame:
    rows = [
        {
            "run_id": f"{control}{seed}",
            "seed": seed,
            "status": status,
            AXES.control: control,
            AXES.other: "codel",
            "scope": scope,
            "name": name,
            "metric": metric,
            "value": value,
        }
        for (scope, name, metric), value in values.items()
    ]
    return pl.DataFrame(rows)


def values(joules: float, **more: float) -> dict[tuple[str, str, str], float]:
    return {
        ("run", "", "energy_j_per_mb"): joules,
        ("flow", "bulk", "goodput_mbps"): 9.0,
        ("flow", "bulk", "rtt_ms_p95"): 50.0,
        ("flow", "bulk.0", "rtt_ms_p95"): 60.0,
        **{("flow", "ping", name): value for name, value in more.items()},
    }


def test_a_point_has_medians_and_the_delay_that_others_see() -> None:
    parts = [run(seed, "bbr", values(float(seed), rtt_ms_p95=20.0 + seed)) for seed in (1, 2, 6)]
    (found,) = costs(pl.concat(parts), AXES)
    assert found == Cost("bbr", "codel", 2.0, 9.0, 22.0, False, None, None, 3)


def test_a_flow_alone_has_its_own_delay_and_runs_without_energy_are_left_out() -> None:
    without = values(1.0)
    del without["run", "", "energy_j_per_mb"]
    parts = [run(1, "bbr", values(1.5)), run(1, "reno", without), run(1, "cubic", values(1.0), "failed")]
    (found,) = costs(pl.concat(parts), AXES)
    assert (found.control, found.rtt_ms, found.own_rtt) == ("bbr", 50.0, True)


def test_a_run_in_which_no_other_flow_has_a_delay_does_not_count_its_own_among_theirs() -> None:
    parts = [run(1, "bbr", values(1.0, rtt_ms_p95=20.0)), run(2, "bbr", values(1.0))]
    (found,) = costs(pl.concat(parts), AXES)
    assert (found.rtt_ms, found.own_rtt, found.seeds) == (20.0, False, 2)

"""Train the policy of `policy.py` with CMA-ES (the package `cma`), and compare it with Reno and CUBIC on other seeds.

    python3 train.py                    # writes weights.json: a few minutes on two cores
    python3 train.py --compare          # runs of weights.json, Reno and CUBIC

N. Hansen: The CMA Evolution Strategy: A Tutorial, 2016.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import cma
import gymnasium
import netwarp as nw
import netwarp.learning
import numpy as np
import polars as pl
from netwarp.aurora import PACKET_BYTES
from policy import FEATURES, decide

HERE = Path(__file__).parent
SCENARIO = HERE / "path.toml"
WEIGHTS = HERE / "weights.json"
RATES = ("5mbit", "20mbit")
DRAW = {
    "links.bottleneck.rate": RATES,
    "links.bottleneck.delay": ("10ms", "30ms"),
    "links.bottleneck.loss.forward": ("0%", "1%"),
}
EPISODES = 3
"""Episodes for each candidate: all of one generation have the same."""


def score(candidate: tuple[Sequence[float], int]) -> float:
    """The mean reward of weights in the episodes of a generation, each as a share of what the link would allow."""
    weights, generation = candidate
    env = gymnasium.make(netwarp.learning.ENVIRONMENT, scenario=SCENARIO, draw=DRAW)
    scores = []
    for number in range(EPISODES):
        observation, info = env.reset(seed=1000 + EPISODES * generation + number)
        rewards, over = [], False
        while not over:
            action = np.array([decide(weights, observation.tolist())], np.float32)
            observation, reward, terminated, truncated, _ = env.step(action)
            rewards.append(float(reward))
            over = terminated or truncated
        packets_per_s = float(info["drawn"]["links.bottleneck.rate"].removesuffix("mbit")) * 1e6 / 8 / PACKET_BYTES
        scores.append(float(np.mean(rewards)) / (10 * packets_per_s))
    env.close()
    return float(np.mean(scores))


def train(minutes: float, seed: int) -> list[float]:
    """The weights that CMA-ES has found after some minutes."""
    search = cma.CMAEvolutionStrategy([0.0] * FEATURES, 1.0, {"seed": seed, "verbose": -9})
    begin = time.monotonic()
    with multiprocessing.get_context("spawn").Pool() as pool:
        while time.monotonic() - begin < 60 * minutes:
            candidates = [list(map(float, one)) for one in search.ask()]
            scores = pool.map(score, [(one, search.countiter) for one in candidates], chunksize=1)
            search.tell(candidates, [-one for one in scores])
            print(
                f"{time.monotonic() - begin:5.0f} s  generation {search.countiter:3}  best {max(scores):.3f}",
                flush=True,
            )
    return [round(float(weight), 4) for weight in search.result.xfavorite]


def compare() -> pl.DataFrame:
    """The objective (10 x throughput - 1000 x latency - 2000 x loss) on paths and seeds that training has not seen."""
    controls = ["reno", "cubic", f"program:./policy.py ./{WEIGHTS.name}"]
    sweep = {
        "flows.bulk.cc": controls,
        "links.bottleneck.loss.forward": ["0%", "0.5%", "1%"],
        "links.bottleneck.rate": ["8mbit", "16mbit"],
    }
    with tempfile.TemporaryDirectory() as place:
        study = nw.run(SCENARIO, sweep=sweep, seeds=5, output=Path(place) / "result", quiet=True)
        rows = study.summary.filter(pl.col("metric").is_in(["goodput_mbps", "rtt_ms_mean", "retransmit_pct"]))
        wide = rows.pivot("metric", index=["run_id", "flows.bulk.cc", "links.bottleneck.loss.forward"], values="value")
    objective = (
        10 * pl.col("goodput_mbps") * 1e6 / 8 / PACKET_BYTES
        - pl.col("rtt_ms_mean")
        - 2000 * pl.col("retransmit_pct") / 100
    )
    means = [pl.col(name).mean().round(2) for name in ("goodput_mbps", "rtt_ms_mean", "retransmit_pct")]
    groups = wide.with_columns(objective=objective).group_by("links.bottleneck.loss.forward", "flows.bulk.cc")
    return groups.agg(*means, pl.col("objective").mean().round(0)).sort(
        "links.bottleneck.loss.forward", "flows.bulk.cc"
    )


def main() -> None:
    """Train, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    if not options.compare:
        WEIGHTS.write_text(json.dumps(train(options.minutes, options.seed)) + "\n")
    with pl.Config(tbl_rows=-1, tbl_width_chars=200, fmt_str_lengths=60):
        print(compare())


if __name__ == "__main__":
    main()

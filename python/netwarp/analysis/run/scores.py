"""Calls whose quality the E-model does not tell, because too few of their packets were in time."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.stats.e_model import MOST_LOSS_PCT
from netwarp.store.rundir import RunDir


def score_notes(run: RunDir) -> Iterator[str]:
    """Say which calls of a run with metrics have no score, and why. Raises StoreError."""
    speech = {flow.name for flow in run.lab.flows if flow.own.get("codec")}
    if not speech:
        return
    losses = run.metrics().filter(scope="flow", metric="media_loss_pct")
    for name, lost in losses.select("name", "value").iter_rows():
        if name in speech and lost > MOST_LOSS_PCT:
            yield (
                f"flow {name} has no R and MOS: {lost:.1f} % of its packets were late or lost, and the E-model is "
                f"defined for up to {MOST_LOSS_PCT:g} % (docs/media.md)"
            )

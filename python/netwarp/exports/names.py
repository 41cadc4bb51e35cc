"""How a run's file is called."""

import re

from netwarp.store.result import ResultDir
from netwarp.store.summary import PlannedRun, axis_text


def stem(result: ResultDir, run: PlannedRun) -> str:
    """The scenario, the point and the seed, as far as a file's name can hold them, and the run's unique id."""
    words = [str(result.plan.get("name", "")), *map(axis_text, run.point.values()), f"seed{run.seed}"]
    return "--".join([word for word in map(plain, words) if word])[:150] + f"--{run.id}"


def plain(word: str) -> str:
    """A word as far as a file's name can hold it."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-.")

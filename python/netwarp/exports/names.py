"""Names of exported runs' files."""

import re

from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.flow.senders import Sender
from netwarp.store.result import ResultDir
from netwarp.store.summary import PlannedRun, axis_text


def stem(result: ResultDir, run: PlannedRun) -> str:
    """Return the scenario, the point and the seed, as far as a file's name can hold them, and the run's unique id."""
    words = [str(result.plan.get("name", "")), *map(axis_text, run.point.values()), f"seed{run.seed}"]
    return "--".join([word for word in map(plain, words) if word])[:150] + f"--{run.id}"


def tcp_sender(data: FlowData) -> Sender | None:
    """A flow's sender for formats that only hold TCP; None if it has none, or uses another transport."""
    return None if data.sender is None or data.sender.quic else data.sender


def without(result: ResultDir, what: str, why: str) -> str:
    """Say that a format is made from `what`, of which this result has no records; `why` is a relative clause."""
    if absent := result.absent_records():
        return f"{result.path} has no records of {what}, {why}; {'; '.join(absent)}"
    return f"{result.path} has no run with {what}, {why}"


def without_tcp(result: ResultDir, why: str) -> str:
    """The same error for TCP flows."""
    return without(result, "a TCP flow", why)


def plain(word: str) -> str:
    """Replace the characters of a word that a file's name cannot hold."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-.")

"""The definition of a failure."""

from __future__ import annotations

import re
import signal
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from netwarp.cli.common import UNDECIDED

from bench.torture.commands import Ended

CRASH, TRACEBACK, HANG, MEMORY = "crash", "traceback", "hang", "memory"
BYTES, OUTSIDE, LEFT, WRONG = "bytes", "outside", "left", "wrong"
KINDS: Mapping[str, str] = {
    CRASH: "crashes",
    TRACEBACK: "tracebacks",
    HANG: "hangs",
    MEMORY: "over 2 GB",
    BYTES: "differing bytes",
    OUTSIDE: "files outside",
    LEFT: "left behind",
    WRONG: "wrong answers",
}
"""The kinds of failures → their headings."""

EXIT_CODES = frozenset(range(6))
_TRACEBACK = re.compile(
    r"Traceback \(most recent call last\)|PanicException|panicked at|^Exception ignored|^Fatal Python error", re.M
)
_PANIC_CODE = 101


@dataclass(frozen=True)
class Failure:
    """A failure: its kind, and the evidence."""

    kind: str
    detail: str

    @property
    def brief(self) -> str:
        """Shorten to one line; a traceback to its last line, which has the exception."""
        detail = self.detail.strip()
        return f"{self.kind}: {detail.splitlines()[-1][:300] if self.kind == TRACEBACK and detail else detail[:300]}"


def judge_end(ended: Ended, codes: Collection[int] = EXIT_CODES) -> list[Failure]:
    """Failures in how a command ended; `codes` are the permitted exit codes."""
    failures = []
    if ended.stopped == "memory":
        failures.append(Failure(MEMORY, f"it took {ended.peak_bytes >> 20} MB"))
    elif ended.stopped:
        failures.append(Failure(HANG, ended.stopped))
    elif ended.status < 0:
        failures.append(Failure(CRASH, f"it died of {signal.Signals(-ended.status).name}: {ended.err[-600:]}"))
    elif ended.status >= _PANIC_CODE and ended.status not in codes:
        failures.append(Failure(CRASH, f"exit code {ended.status}: {ended.err[-600:]}"))
    if found := _TRACEBACK.search(ended.err + ended.out):
        text = ended.err + ended.out
        failures.append(Failure(TRACEBACK, text[found.start() :][-1500:]))
    elif not failures and ended.status not in codes:
        failures.append(Failure(WRONG, f"exit code {ended.status}: {ended.err[-600:]}"))
    said = ended.err + (ended.out if ended.status == UNDECIDED else "")  # a verdict is printed on standard output
    if not failures and ended.status > 1 and not said.strip():
        failures.append(Failure(WRONG, f"exit code {ended.status} without a word"))
    failures += [Failure(LEFT, f"a process: {text}") for text in ended.left]
    return failures


def judge_place(before: Mapping[str, str], after: Mapping[str, str]) -> list[Failure]:
    """Failures in how the sandbox has changed."""
    changed = [f"{path} is gone" for path in before.keys() - after.keys()]
    changed += [f"{path} is new" for path in after.keys() - before.keys()]
    changed += [
        f"{path} changed: {before[path]}, {after[path]}"
        for path in before
        if after.get(path, before[path]) != before[path]
    ]
    return [Failure(OUTSIDE, "; ".join(sorted(changed)[:8]))] if changed else []

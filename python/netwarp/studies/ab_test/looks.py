"""The looks that an experiment has had, in a file beside it: each has spent a part of the error that it may make."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from math import inf
from pathlib import Path

from netwarp.store.errors import SelectionError
from netwarp.store.files import read_text, write_text
from netwarp.studies.ab_test.clusters import Difference, expected_information
from netwarp.studies.ab_test.experiment import Experiment
from netwarp.studies.ab_test.sequential import bounds

LEAST_STEP = 0.01
"""The share of the planned information by which a look must exceed the one before: the data is hardly new otherwise."""
_DECIDING = ("salt", "unit", "metric", "effect", "alpha", "power", "looks", "arms")
"""The fields of an experiment that must not change once its data has been looked at."""
_PLANNED = ("information", "effect", "sd", "icc")


class Verdict(StrEnum):
    """The verdict of a look: stop or continue."""

    EFFECT = "effect"
    NONE = "no effect that matters"
    ENDED = "ended without a decision"
    GO_ON = "go on"


@dataclass(frozen=True)
class Look:
    """A look: the share of the planned information, the difference, its bound and repeated interval, the verdict.

    The intervals of all looks contain the true difference together with the probability 1 − α (C. Jennison, B. W.
    Turnbull: Interim analyses: the repeated confidence interval approach, JRSS B 51, 1989).
    """

    share: float
    estimate: float
    error: float
    z: float
    bound: float
    low: float
    high: float
    verdict: Verdict


@dataclass(frozen=True)
class Looks:
    """All looks so far, the digest of the fields that must not change, and the plan: its information, the smallest
    effect that matters in the metric's unit, and the standard deviation and intraclass correlation of connections that
    it expects.

    The plan is kept from the first look on, so that a change of the baseline's recordings does not move the bounds.
    """

    experiment: str
    information: float
    effect: float
    sd: float
    icc: float
    looks: tuple[Look, ...] = ()

    def share(self, counts: Sequence[Sequence[int]]) -> float:
        """The share of the planned information, if the arms' units have `counts` connections."""
        return expected_information(self.sd, self.icc, counts) / self.information

    @property
    def decided(self) -> int | None:
        """The number (from 1) of the first look that ended the experiment; None if none has."""
        return next((at for at, one in enumerate(self.looks, 1) if one.verdict is not Verdict.GO_ON), None)

    def with_look(self, share: float, found: Difference, alpha: float) -> Looks:
        """These looks and one at this difference, unless the experiment has ended, its information is hardly new, or is
        so little that no error may be spent yet."""
        before = self.looks[-1].share if self.looks else 0.0
        if self.decided is not None or share < before + LEAST_STEP:
            return self
        bound = bounds([*(one.share for one in self.looks), share], alpha)[-1]
        if bound == inf:
            return self
        low, high = found.interval(bound)
        verdict = _verdict(found, bound, (low, high), self.effect, ended=share >= 1)
        look = Look(share, found.estimate, found.error, found.z, bound, low, high, verdict)
        return replace(self, looks=(*self.looks, look))


def _verdict(found: Difference, bound: float, interval: tuple[float, float], effect: float, *, ended: bool) -> Verdict:
    if abs(found.z) >= bound:
        return Verdict.EFFECT
    if -effect < interval[0] and interval[1] < effect:
        return Verdict.NONE
    return Verdict.ENDED if ended else Verdict.GO_ON


def looks_file(experiment: Path) -> Path:
    """The file of the looks of an experiment, beside its own: exp.looks.json of exp.toml, exp.1.looks.json of exp.1."""
    return experiment.with_name(f"{experiment.name.removesuffix('.toml')}.looks.json")


def digest_of(experiment: Experiment) -> str:
    """The digest of the fields that must not change."""
    fields = experiment.model_dump(include=set(_DECIDING))
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()


def read_looks(path: Path, experiment: Experiment) -> Looks | None:
    """The looks of an experiment; None before the first. Raises StoreError, SelectionError."""
    if not path.exists():
        return None
    text = read_text(path)
    try:
        data = json.loads(text)
        looks = tuple(Look(**{**one, "verdict": Verdict(one["verdict"])}) for one in data["looks"])
        information, effect, sd, icc = (float(data[name]) for name in _PLANNED)
        found = Looks(str(data["experiment"]), information, effect, sd, icc, looks)
    except (ValueError, KeyError, TypeError) as error:
        raise SelectionError(f"{path} does not hold the looks of an experiment: {error}; restore it") from None
    if found.experiment != digest_of(experiment):
        raise SelectionError(
            f"the experiment has changed since its first look: one of {', '.join(_DECIDING)} is not what {path.name} "
            "was made with. Restore it, or begin a new experiment with another salt and new recordings"
        )
    return found


def write_looks(path: Path, looks: Looks) -> None:
    """Write the looks. Raises StoreError."""
    write_text(path, json.dumps(asdict(looks), indent=2) + "\n")

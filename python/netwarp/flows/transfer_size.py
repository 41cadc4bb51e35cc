"""The sizes of transfers: always the same, drawn from a distribution, or from an empirical one in a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ValidationInfo

from netwarp.common.words import did_you_mean
from netwarp.values.fields import Distribution, Model, kind
from netwarp.values.files import find_file, folder_in, read_listed
from netwarp.values.units import MAX_SIZE_BYTES, parse_size

SizeShape = Literal["constant", "exponential", "pareto", "lognormal", "empirical"]
MAX_POINTS = 10_000
WEB_SHAPE = 1.2
"""The shape of files on the Web, which `pareto` alone has (Crovella, Bestavros, IEEE/ACM ToN 5(6), 1997)."""
_EXAMPLES = '"30kB", "30kB exponential", "30kB pareto 1.5", "30kB lognormal 1.5", "web-search" or "sizes.csv"'
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)
_BYTES = re.compile(r"\d{1,18}", re.ASCII)


class TransferSize(Model):
    """A size in bytes with this mean. `shape` is a Pareto distribution's exponent, or the deviation of the logarithm of
    a log-normal one. An empirical distribution is linear between the points `cdf`, (bytes, share not larger)."""

    mean: int
    distribution: SizeShape = "constant"
    shape: float = 0.0
    cdf: tuple[tuple[int, float], ...] = ()

    @property
    def cdf_bytes(self) -> tuple[int, ...]:
        """The sizes of the points."""
        return tuple(size for size, _ in self.cdf)

    @property
    def cdf_shares(self) -> tuple[float, ...]:
        """The shares of the points."""
        return tuple(share for _, share in self.cdf)


def shipped_sizes() -> dict[str, Path]:
    """The empirical distributions that come with netwarp: name → file."""
    folder = Path(str(resources.files("netwarp") / "flows" / "sizes"))
    return {file.stem: file for file in sorted(folder.glob("*.csv"))}


def parse_cdf(rows: Sequence[tuple[int, Sequence[str]]], name: str) -> TransferSize:
    """An empirical distribution from the numbered rows of a table `bytes,share`. Raises ValueError."""
    if len(rows) > MAX_POINTS:
        raise ValueError(f"{name}: a distribution has at most {MAX_POINTS:,} points, not {len(rows):,}; leave some out")
    points: list[tuple[int, float]] = []
    for number, cells in rows:
        if len(cells) != 2 or not _BYTES.fullmatch(cells[0]) or not _NUMBER.fullmatch(cells[1]):
            raise ValueError(f'{name}:{number}: "{",".join(cells)[:60]}" is not a size in bytes and a share up to 1')
        point = (int(cells[0]), float(cells[1]))
        if point[0] > MAX_SIZE_BYTES:
            raise ValueError(f"{name}:{number}: {point[0]} bytes are more than {MAX_SIZE_BYTES}, the most")
        if points and not (points[-1][0] < point[0] and points[-1][1] < point[1]):
            raise ValueError(f"{name}:{number}: sizes and shares must increase from row to row")
        points.append(point)
    if not points or points[-1][1] != 1:
        raise ValueError(f"{name}: the last row must have the share 1, of all transfers")
    first, share = points[0]
    mean = first * share + sum((a + b) / 2 * (above - below) for (a, below), (b, above) in pairwise(points))
    if mean < 1:
        raise ValueError(f"{name}: the mean size is less than a byte")
    return TransferSize(mean=round(mean), distribution="empirical", cdf=tuple(points))


def _from_file(value: str, path: Path) -> TransferSize:
    return parse_cdf(read_listed(value, path, ("bytes", "share")), value)


def _drawn(words: Sequence[str]) -> TransferSize:
    """Parse `30kB`, `30kB exponential`, `30kB pareto 1.5` or `30kB lognormal 1.5`."""
    match words:
        case [mean]:
            return TransferSize(mean=_positive(mean))
        case [mean, "exponential"]:
            return TransferSize(mean=_positive(mean), distribution="exponential")
        case [mean, "pareto"]:
            return TransferSize(mean=_positive(mean), distribution="pareto", shape=WEB_SHAPE)
        case [mean, "pareto", shape] if _NUMBER.fullmatch(shape):
            if float(shape) <= 1:
                raise ValueError(f"a Pareto distribution of the shape {shape} has no mean; the shape must be above 1")
            return TransferSize(mean=_positive(mean), distribution="pareto", shape=float(shape))
        case [mean, "lognormal", sigma] if _NUMBER.fullmatch(sigma):
            return TransferSize(mean=_positive(mean), distribution="lognormal", shape=float(sigma))
    raise ValueError(f'"{" ".join(words)[:80]}" is not understood; write {_EXAMPLES}')


def _positive(text: str) -> int:
    size = parse_size(int(text) if text.isdecimal() else text)
    if size == 0:
        raise ValueError('must be more than 0 bytes, such as "10MB"')
    return size


def _size(value: object, info: ValidationInfo) -> Any:
    if isinstance(value, TransferSize):
        return value
    words = str(value).split() if isinstance(value, str | int) and not isinstance(value, bool) else []
    shipped = shipped_sizes()
    if words and words[0] in shipped and len(words) == 1:
        return _from_file(words[0], shipped[words[0]])
    if isinstance(value, str) and value.endswith(".csv"):
        return _from_file(value, find_file(value, folder_in(info.context, value)))
    if len(words) == 1 and not words[0][0].isdecimal():
        known = f"shipped distributions are {', '.join(shipped)}{did_you_mean(words[0], shipped)}"
        raise ValueError(f'"{words[0][:80]}" is not a size; {known}; or write {_EXAMPLES}')
    return _drawn(words)


def mean_of(value: int | Distribution | TransferSize) -> int:
    """The value itself, or the mean of its distribution."""
    return value if isinstance(value, int) else value.mean


def _fixed_or_drawn(value: object, info: ValidationInfo) -> int | TransferSize:
    size = TransferSize.model_validate(_size(value, info))
    return size.mean if size.distribution == "constant" else size


DrawnSize = Annotated[
    int | TransferSize,
    BeforeValidator(_fixed_or_drawn),
    kind("size, fixed, drawn or empirical", "10MB", "30kB pareto 1.5", "30kB lognormal 1.5", "web-search", number=1),
]
"""A fixed number of bytes, or a distribution."""
TransferSizeField = Annotated[
    TransferSize,
    BeforeValidator(_size),
    kind("size, fixed, drawn or empirical", "30kB", "30kB pareto 1.5", "30kB lognormal 1.5", "web-search", number=1),
]

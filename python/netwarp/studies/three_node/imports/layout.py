"""The layout of the scripts' files: DIR/SCENARIO/SCENARIO_run_N/ with one run's files.

DIR may also be a scenario's directory or a single run's. A run's directory is recognised by its files, a repetition by
the number at the end of its name.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from netwarp.store.errors import LayoutError, store_errors
from netwarp.values.names import made_label

ROLES = ("client", "bottleneck", "server")
TESTS = {"tcp": "tcp.json", "udp": "udp.json"}
CAPTURES = {"client": "client_iperf3.pcap", "bottleneck": "bottleneck.pcap", "server": "server.pcap"}
SOCKETS = {"client": "ss_client.txt", "server": "ss_server.txt"}
SERVER_LOG = "iperf3_server.log"
_IFSTAT = re.compile(r"ifstat_(client|bottleneck|server)_(.+)\.log")
_KNOWN = {*TESTS.values(), *CAPTURES.values(), *SOCKETS.values(), SERVER_LOG}
_NUMBER = re.compile(r"(?:^|[_-])(?:run|rep)[_-]?(\d{1,9})$", re.IGNORECASE)
_DEPTH = 3


@dataclass(frozen=True)
class RunFiles:
    """The files of one run: its scenario, its repetition, and its directory."""

    scenario: str
    repetition: int
    path: Path

    @property
    def name(self) -> str:
        """The run in words."""
        return f"{self.scenario}, run {self.repetition}"

    def ifstat(self) -> Mapping[str, tuple[str, str]]:
        """The logs of ifstat: role → (interface, file name)."""
        found: dict[str, tuple[str, str]] = {}
        for name in _names(self.path):
            if (match := _IFSTAT.fullmatch(name)) is not None:
                found.setdefault(match[1], (match[2], name))
        return found

    def files(self) -> list[Path]:
        """Every file that is read, in order of name."""
        return [self.path / name for name in _names(self.path) if _is_known(name)]

    def missing(self) -> list[str]:
        """The names of the scripts' files that are missing."""
        there = set(_names(self.path))
        roles = self.ifstat()
        return sorted(_KNOWN - there) + [f"ifstat_{role}_IF.log" for role in ROLES if role not in roles]


def find_runs(directory: Path) -> list[RunFiles]:
    """The runs below a directory, by scenario and repetition. Raises LayoutError, StoreError."""
    if not directory.is_dir():
        what = "is not a directory" if directory.exists() else "does not exist"
        raise LayoutError(f"{directory} {what}; name the one with the scripts' results (experiments/)")
    with store_errors(directory, "read"):
        places = _distinct(_places(directory, _DEPTH))
        if not places:
            raise LayoutError(
                f"{directory} holds no results of the scripts: expected SCENARIO/SCENARIO_run_N/ "
                f"with {TESTS['tcp']}, {TESTS['udp']}, {CAPTURES['bottleneck']}, {SOCKETS['client']} …"
            )
        found = sorted(_runs(directory, places), key=lambda run: (run.scenario, run.repetition))
    for one, other in pairwise(found):
        if (one.scenario, one.repetition) == (other.scenario, other.repetition):
            raise LayoutError(f"{one.path} and {other.path} are both {one.name}: rename one of them")
    return found


def _places(directory: Path, depth: int) -> Iterator[Path]:
    """The directories that hold a run's files; their subdirectories are not searched."""
    names = _names(directory)
    if any(_is_known(name) and (directory / name).is_file() for name in names):
        yield directory
    elif depth:
        for name in names:
            place = directory / name
            if place.is_dir() and not name.startswith("."):
                yield from _places(place, depth - 1)


def _distinct(places: Iterable[Path]) -> list[Path]:
    """Each directory once: a symbolic link (such as `latest`) counts only if its target is not among the others."""
    ordered = sorted(places, key=lambda place: (_is_linked(place), place))
    return sorted({place.resolve(): place for place in reversed(ordered)}.values())


def _is_linked(place: Path) -> bool:
    return place.resolve() != _absolute(place)


def _runs(directory: Path, places: list[Path]) -> Iterator[RunFiles]:
    """The runs with scenario and repetition; runs without a number follow the highest one of their scenario."""
    unnumbered: list[tuple[str, Path]] = []
    highest: dict[str, int] = {}
    for place in places:
        match = _NUMBER.search(_absolute(place).name)
        scenario = _scenario(directory, place, match)
        if match is None:
            unnumbered.append((scenario, place))
            continue
        highest[scenario] = max(highest.get(scenario, 0), int(match[1]))
        yield RunFiles(scenario, int(match[1]), place)
    for scenario, place in unnumbered:
        highest[scenario] = highest.get(scenario, 0) + 1
        yield RunFiles(scenario, highest[scenario], place)


def _scenario(directory: Path, place: Path, match: re.Match[str] | None) -> str:
    """The name of the directory above the run's if DIR holds scenarios; else the run's name without its number."""
    name, above = _absolute(place).name, _absolute(place).parent.name
    own = name[: match.start()] if match else name
    nested = directory not in (place, place.parent)
    # Decoded for a scenario: a name in the file system may be any bytes.
    text = os.fsencode(above if nested or not own else own).decode(errors="replace")
    return made_label(text) or "unnamed"


def _absolute(place: Path) -> Path:
    """The absolute path, so that `.` has a name too; links are not followed."""
    return Path(os.path.abspath(place))  # noqa: PTH100 - Path.resolve() would follow the link


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def _is_known(name: str) -> bool:
    return name in _KNOWN or _IFSTAT.fullmatch(name) is not None

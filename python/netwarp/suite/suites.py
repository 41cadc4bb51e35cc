"""The suites, and the choice of their cases and subjects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from netwarp.common.words import nearest, shortened
from netwarp.flows.kind import CC_PATTERN
from netwarp.modules.named import FILE, is_file, load_control, load_module, shipped_modules
from netwarp.modules.program import PROGRAM, is_program
from netwarp.store.errors import SelectionError
from netwarp.suite.case import LONE, Case, Group, Subject, Suite
from netwarp.suite.cases.aqm.load import LOAD
from netwarp.suite.cases.aqm.senders import SENDERS
from netwarp.suite.cases.aqm.traffic import TRAFFIC
from netwarp.suite.cases.cc.alone import ALONE
from netwarp.suite.cases.cc.bbr import BBR
from netwarp.suite.cases.cc.itself import ITSELF
from netwarp.suite.cases.cc.mixed import MIXED
from netwarp.suite.cases.cc.others import OTHERS
from netwarp.suite.cases.cc.paths import PATHS
from netwarp.suite.cases.media.capacity import CAPACITY
from netwarp.suite.cases.media.sharing import SHARING
from netwarp.suite.cases.media.tcp import BESIDE_TCP
from netwarp.suite.networks import CONTROL, QUEUE, bulk, case

_LONGEST = 100
"""The characters of a case's name."""


def _trial(path: str) -> Case:
    """A second of traffic with the subject there."""
    return case("trial", "The subject is usable.", "", (), (bulk("subject"),), sets=(path,), duration="1s", warmup="0s")


CONTROLS = Suite(
    "cc",
    "--cc",
    "Congestion controls",
    "RFC 9743; R. Ware et al.: Beyond Jain's Fairness Index, HotNets 2019",
    _trial(CONTROL),
    (Subject("cubic", "cubic"), Subject("bbr", "bbr")),
    (ALONE, ITSELF, OTHERS, MIXED, PATHS, BBR),
)

QUEUES = Suite(
    "aqm",
    "--queue",
    "Queues",
    "RFC 7928",
    _trial(QUEUE),
    (Subject("pfifo limit 2BDP", "pfifo limit 2BDP"), Subject("fq_codel", "fq_codel")),
    (SENDERS, LOAD, TRAFFIC),
)

CALLS = Suite(
    "media",
    "--queue",
    "Queues for calls",
    "RFC 8867; draft-ietf-rmcat-gcc-02",
    _trial(QUEUE),
    (Subject("bfifo limit 300ms", "bfifo limit 300ms"), Subject("fq_codel", "fq_codel")),
    (CAPACITY, SHARING, BESIDE_TCP),
)


def names_in(cases: str | None) -> list[str]:
    """Split an option at commas into names of cases and groups. Raises SelectionError if it names none."""
    names = [name.strip() for name in (cases or "").split(",") if name.strip()]
    if cases is not None and not names:
        raise SelectionError("--cases names no case; leave it out for all of them")
    return names


def choose(suite: Suite, subjects: Sequence[Subject], names: Sequence[str], *, quick: bool) -> list[tuple[Group, Case]]:
    """The cases with these names of cases and groups; without names, all that apply to the subjects, or the quick ones.

    Raises SelectionError for a name that neither a case nor a group has.
    """
    known = [*(group.name for group in suite.groups), *(case.name for group in suite.groups for case in group.cases)]
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; there are {', '.join(known)}"
            raise SelectionError(f'there is no case "{name}"{hint}')
    return [(group, case) for group, case in _all(suite) if _is_chosen(group, case, subjects, names, quick=quick)]


def _all(suite: Suite) -> Iterator[tuple[Group, Case]]:
    return ((group, case) for group in suite.groups for case in group.cases)


def _is_chosen(group: Group, case: Case, subjects: Sequence[Subject], names: Sequence[str], *, quick: bool) -> bool:
    if names:
        return group.name in names or case.name in names
    about = any(one.name.startswith(group.only_for) for one in subjects)
    return about and (case.quick if quick else True)


def controls(values: Sequence[str]) -> list[Subject]:
    """The congestion controls as subjects, with those of files named as registered. Raises SelectionError."""
    return _distinct(_control(value) for value in values)


def _control(value: str) -> Subject:
    """A control; the user's files have absolute paths, since the scenarios of cases are elsewhere."""
    if not (is_file(value) or is_program(value)):
        if not re.fullmatch(CC_PATTERN, value):
            raise SelectionError(
                f'--cc "{value}": a congestion control is one of the kernel, such as reno, a C file, such as '
                f"{FILE}./x.c, or a program, such as {PROGRAM}./x.py"
            )
        return Subject(value, value)
    try:
        name = str(load_control(value, Path(), is_given=True))
    except ValueError as error:
        raise SelectionError(f'--cc "{value}": {error}') from None
    kind, _, words = value.partition(":")
    return Subject(f"{kind}:{' '.join(map(_found, words.split()))}", name)


def _found(place: str) -> str:
    """The absolute path of the user's file; a shipped file or a parameter is unchanged."""
    return str(Path(place).absolute()) if Path(place).exists() else place


def with_modules(suite: Suite, subjects: Sequence[Subject], files: Sequence[str]) -> Suite:
    """The suite with modules that its cases load: these files, and those shipped that have a subject's queue."""
    named = {subject.value.split()[0] for subject in subjects if subject.value.split()}
    shipped = [name for name, path in shipped_modules().items() if named & {*load_module(name, {}, path.parent).qdiscs}]
    return replace(suite, modules=tuple(dict.fromkeys([*map(_found, files), *shipped])))


def queues(values: Sequence[str]) -> list[Subject]:
    """Lines of queues as subjects, which are also their names. Raises SelectionError."""
    lines = [" ".join(value.split()) for value in values]
    if not all(lines):
        raise SelectionError('--queue: a queue is written as in tc, such as "pie target 15ms"')
    return _distinct(Subject(line, shortened(line, _LONGEST)) for line in lines)


def _distinct(subjects: Iterator[Subject]) -> list[Subject]:
    """Raise SelectionError if a subject is given twice, or has the name of the runs without one."""
    found: list[Subject] = []
    for one in subjects:
        if one in found:
            raise SelectionError(f'"{one.value}" is given twice')
        taken = one.name == LONE or any(one.name == other.name for other in found)
        found.append(replace(one, name=one.value) if taken else one)
    return found

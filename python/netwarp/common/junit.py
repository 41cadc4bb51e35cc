"""JUnit XML, with the elements and attributes that GitHub's and GitLab's readers and Jenkins' plugin have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from xml.etree import ElementTree

_ILLEGAL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""


class Fault(StrEnum):
    """The element that says why a test case did not pass."""

    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Case:
    """A test case. Without a `fault` it passed; otherwise `message` is the reason in one line and `text` all of it.

    `kind` is the type of a failure. `group` is the class of the case, by default the name of its suite. `seconds` are
    virtual.
    """

    name: str
    fault: Fault | None = None
    message: str = ""
    text: str = ""
    kind: str = ""
    group: str = ""
    printed: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Suite:
    """A suite of test cases, with the text on standard output and standard error."""

    name: str
    cases: Sequence[Case]
    out: str = ""
    err: str = ""


def document(name: str, suites: Iterable[Suite]) -> str:
    """Return the XML of these suites."""
    suites = list(suites)
    root = ElementTree.Element("testsuites", _counts(name, [case for suite in suites for case in suite.cases]))
    for suite in suites:
        element = ElementTree.SubElement(root, "testsuite", _counts(suite.name, suite.cases))
        for case in suite.cases:
            _add(element, case, suite.name)
        for tag, printed in (("system-out", suite.out), ("system-err", suite.err)):
            if printed:
                ElementTree.SubElement(element, tag).text = _clean(printed)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add(suite: ElementTree.Element, case: Case, group: str) -> None:
    where = {"classname": _clean(case.group or group), "name": _clean(case.name), "time": _seconds(case.seconds)}
    element = ElementTree.SubElement(suite, "testcase", where)
    if case.fault is not None:
        kind = {"type": case.kind} if case.kind else {}
        ElementTree.SubElement(element, case.fault, {"message": _clean(case.message), **kind}).text = _clean(case.text)
    if case.printed:
        ElementTree.SubElement(element, "system-out").text = _clean(case.printed)


def _counts(name: str, cases: Sequence[Case]) -> dict[str, str]:
    faults = [case.fault for case in cases]
    return {
        "name": _clean(name),
        "tests": str(len(cases)),
        "failures": str(faults.count(Fault.FAILURE)),
        "errors": str(faults.count(Fault.ERROR)),
        "skipped": str(faults.count(Fault.SKIPPED)),
        "time": _seconds(sum(case.seconds for case in cases)),
    }


def _seconds(seconds: float) -> str:
    return f"{seconds:.9f}"


def _clean(text: str) -> str:
    """Replace characters that XML cannot hold, such as the escapes of terminals."""
    return _ILLEGAL.sub("\ufffd", text)

"""The request of the pytest outside to the one in a machine."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

INSIDE = "NETWARP_TEST"
"""The environment variable with which pytest runs inside a machine: the request, as JSON."""
RECORDS = ".netwarp"
"""The directory of the records, in the root directory of the tests."""
WARNING = "netwarp_warning"
"""The field with the text of a warning, in a line of the file of reports."""


@dataclass(frozen=True)
class Request:
    """A test to run: the outer pytest's arguments, the test as an absolute path with its name, the file for reports,
    and the virtual time after which the machine ends, in seconds."""

    arguments: list[str]
    test: str
    reports: str
    limit_s: float

    def text(self) -> str:
        """The value of the environment variable."""
        return json.dumps(asdict(self))


def is_inside() -> bool:
    """Whether this process runs in a machine."""
    return INSIDE in os.environ


def current() -> Request:
    """The request that this process is to carry out."""
    return Request(**json.loads(os.environ[INSIDE]))

"""A queueing discipline as data: its kind and its options, which are those of tc."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Qdisc:
    """A queueing discipline: `pfifo limit 100` has the kind `pfifo` and the options `limit`, `100`."""

    kind: str
    options: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Qdisc:
        """The queue as the author of a scenario wrote it, in tc's syntax."""
        kind, *options = text.split()
        return cls(kind, tuple(options))

    @classmethod
    def of(cls, data: Mapping[str, Any] | None) -> Qdisc | None:
        """A queue of a lab; None where there is none."""
        return cls(str(data["kind"]), tuple(map(str, data["options"]))) if data else None

    def __str__(self) -> str:
        """In tc's syntax."""
        return " ".join((self.kind, *self.options))

    def option(self, name: str) -> str | None:
        """The value of an option, which is the word after its name; None if it is not given."""
        values = (value for key, value in zip(self.options, self.options[1:], strict=False) if key == name)
        return next(values, None)

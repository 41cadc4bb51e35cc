"""Answers of the agent on a node (agent/src/node/mod.rs): a model for each kind of answer.

A node's machine is not trusted: an answer of another form is an error with a sentence, whatever was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

_NS = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_Index = Annotated[int, Field(ge=0, lt=2**32)]
_Text = Annotated[str, Field(max_length=100_000)]
Refused = Sequence[tuple[_Text, _Text]]
"""Names of features that a kernel lacks, and why."""


class Answer(BaseModel):
    """Base class of all answers: the types of known fields are checked, other fields are allowed."""

    model_config = ConfigDict(strict=True, frozen=True)


class Failed(Answer):
    """An order that could not be carried out, and why."""

    failed: _Text


class Greeting(Answer):
    """The agent has started."""

    agent: _Text


class Clock(Answer):
    """The times at which a question came and its answer left, by the node's monotonic clock, and its date, in ns."""

    heard_ns: _NS
    said_ns: _NS
    wall_ns: _NS


class Lacks(Answer):
    """Features that a kernel was asked for and lacks."""

    qdiscs: Refused
    congestion_controls: Refused


class Surveyed(Answer):
    """Facts about a machine (see `NodeFacts`), and problems that prevent its part of a lab."""

    kernel: _Text
    release: _Text
    landlock: _Index
    programs: dict[str, _Text | None]
    refused: Lacks | None
    problems: Sequence[_Text]


class Built(Answer):
    """A node's part of a lab is ready to start."""

    built: bool
    landlock: _Index


class Ended(Answer):
    """A node's part of a run has ended: the exit status (None: it was killed), how late it began, and the lab's
    interfaces by those of the machine."""

    ended: Annotated[int, Field(ge=0, lt=256)] | None
    late_ns: _NS | None
    indices: dict[Annotated[int, Field(strict=False, ge=0, lt=2**32)], _Index]


class File(Answer):
    """The header of a file: its path, relative to the run's directory, and the number of bytes that follow."""

    file: Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]
    bytes: Annotated[int, Field(ge=0, lt=2**63)]


class Restored(Answer):
    """The machine has been restored, except for these changes."""

    restored: Sequence[_Text]


A = TypeVar("A")


def parse(line: bytes, kind: type[A]) -> A | Failed:
    """Parse an answer of that kind, or one that says why it failed. Raises ValueError saying what is wrong with it."""
    adapter: TypeAdapter[A | Failed] = TypeAdapter(kind | Failed)  # type: ignore[arg-type]
    try:
        return adapter.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part)[:40] for part in first["loc"])
        raise ValueError(f"{where}: {first['msg']}" if where else first["msg"]) from None

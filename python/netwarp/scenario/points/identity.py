"""The parts of a scenario that determine the bytes of a run: all of it, except the fields listed here with a reason."""

from __future__ import annotations

from collections.abc import Mapping

UNCOUNTED: Mapping[str, str] = {
    "name": "names the result",
    "summary": "is for people",
    "seeds": "a run has one of them, which is hashed beside its scenario",
    "sweep": "its values are in the sections of each point",
    "topology": "the nodes and links that it generates count",
    "presets": "their values are in the sections of each point whose case uses them",
    "cases": "their values are in the sections of each point",
    "baseline": "is the case with which figures compare the others",
    "expect": "is checked against the records afterwards",
    "figures": "are drawn from the records afterwards",
    "views": "are made from the records afterwards",
    "tuners": "the one in use is hashed by its content, under the key `tuner`; the others do nothing",
    "record.keep": "is what remains of the records afterwards",
    "run.tuner": "is the name of the tuner in use, whose content is hashed",
    "kernel": "is the name of a kernel, whose digest is hashed beside the scenario",
    "run.read": "permits programs to read files; the permission alone does not count",
    "run.time_limit": "bounds real time: a run that reaches it fails, and other runs do not depend on it",
}
"""Field of the model, dotted → why it does not count. A field that is not named here counts, also a new one.

A trace counts by its content, not by the name of its file: see `Trace`.
"""


KERNEL = "kernel"
"""The key of a run's kernel in the identity that is hashed beside its scenario, and the prefix of other keys."""


def key_of_kernel(name: str) -> str:
    """The key of a named kernel in the identity of a whole plan."""
    return f"{KERNEL} {name}"


def with_kernel(identity: Mapping[str, str], name: str | None) -> dict[str, str]:
    """The identity of a run on that kernel: its plan's, without the other kernels."""
    own = {key: value for key, value in identity.items() if not key.startswith(f"{KERNEL} ")}
    return own if name is None else own | {KERNEL: identity.get(key_of_kernel(name), name)}


def uncounted_in(section: str) -> set[str]:
    """The fields of a section (such as `run`) that do not count."""
    return {path.removeprefix(f"{section}.") for path in UNCOUNTED if path.startswith(f"{section}.")}

"""Which parts of a scenario determine the bytes of a run: all of it, except what is listed here with the reason."""

from __future__ import annotations

from collections.abc import Mapping

UNCOUNTED: Mapping[str, str] = {
    "name": "says what the result is called",
    "summary": "is for people",
    "seeds": "a run has one of them, which is hashed beside its scenario",
    "sweep": "its values stand in the sections of each point",
    "presets": "their values stand in the sections of each point whose case uses them",
    "cases": "their values stand in the sections of each point",
    "baseline": "says what figures compare the others with",
    "expect": "is checked against the records afterwards",
    "figures": "are drawn of the records afterwards",
    "views": "are made of the records afterwards",
    "tuners": "the one in use is hashed by its content, under the key `tuner`; the others do nothing",
    "run.tuner": "is the name of the tuner in use, whose content is hashed",
    "kernel": "is the name of a kernel, whose digest is hashed beside the scenario",
    "run.read": "says what programs may read; what one reads by itself does not count",
    "run.time_limit": "bounds real time: a run that reaches it fails, and no other is touched by it",
}
"""Field of the model, dotted → why it does not count. A field that is not named here counts, however new it is.

A trace counts by what it says, not by what its file is called: see `Trace`.
"""


KERNEL = "kernel"
"""What the kernel of a run is called in what is hashed beside its scenario, and how the names of others begin there."""


def key_of_kernel(name: str) -> str:
    """What stands for a named kernel in the identity of a whole plan."""
    return f"{KERNEL} {name}"


def with_kernel(identity: Mapping[str, str], name: str | None) -> dict[str, str]:
    """The identity of a run on that kernel, of its plan's: without the kernels that it does not run on."""
    own = {key: value for key, value in identity.items() if not key.startswith(f"{KERNEL} ")}
    return own if name is None else own | {KERNEL: identity.get(key_of_kernel(name), name)}


def uncounted_in(section: str) -> set[str]:
    """The fields of a section (`run`) that do not count."""
    return {path.removeprefix(f"{section}.") for path in UNCOUNTED if path.startswith(f"{section}.")}

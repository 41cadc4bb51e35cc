"""A Dask worker's part of a study: it reports its identity, and executes runs."""

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from pickle import PickleBuffer

from netwarp.common.scratch import RUNS, scratch
from netwarp.engines import (
    Engine,
    EngineError,
    EngineSpec,
    MissingPartError,
    Outcome,
    differing,
    find_same_engine,
    identity_here,
    sources_digest,
)
from netwarp.execute.processors import claimed_processors
from netwarp.execute.single import Cancelled, RunSpec, changed, execute_spec
from netwarp.store.errors import StoreError, store_errors


class DamagedError(StoreError):
    """The files of a run that came back are not those that a worker made."""


_cancelled: defaultdict[str, threading.Event] = defaultdict(threading.Event)


@dataclass(frozen=True)
class WorkerIdentity:
    """The identity of a machine: `identity` has the digest of each part that decides a result's bytes.

    `parts` has the places on that machine of the parts that can be copied to it; `missing` names one that it lacks,
    whose place would be `parts[missing]`. `problem` says why it cannot execute runs, as a sentence.
    """

    identity: Mapping[str, str]
    netwarp: str
    parts: Mapping[str, str]
    problem: str | None = None
    missing: str | None = None


@dataclass(frozen=True)
class RemoteResult:
    """A run from a worker: its outcome (None: it was cancelled), and its files by their relative paths."""

    outcome: Outcome | None
    files: Mapping[str, PickleBuffer]


def identity_with(engine: Engine, asked: Mapping[str, str]) -> WorkerIdentity:
    """Return the identity of this process with `engine`, and with the programs that `asked` names."""
    identity = {**identity_here(engine, asked), "netwarp": sources_digest()}
    return WorkerIdentity(identity, version("netwarp"), engine.parts)


def worker_identity(engine: EngineSpec, asked: Mapping[str, str]) -> WorkerIdentity:
    """Return the identity of this worker with the engine of that name, or the problem if it has no such engine."""
    identity = {"netwarp": sources_digest()}
    try:
        return identity_with(_engine(engine), asked)
    except MissingPartError as error:
        return WorkerIdentity(identity, version("netwarp"), {error.part: error.path}, str(error), error.part)
    except EngineError as error:
        return WorkerIdentity(identity, version("netwarp"), {}, str(error))


def make_run(spec: RunSpec, engine: EngineSpec, study: str) -> RemoteResult:
    """Execute the run on a separate CPU; `study` is the name for `cancel`.

    Raises EngineError, StoreError.
    """
    found = _engine(engine)
    if others := differing(found, spec.identity):
        raise EngineError(changed(others))
    claim = partial(claimed_processors, spec.cpus)
    with scratch(RUNS) as path:
        try:
            outcome = execute_spec(spec, found, path, claim, _cancelled[study])
        except Cancelled:
            return RemoteResult(None, {})
        return RemoteResult(outcome, pack(path))


def cancel(study: str) -> None:
    """End this worker's runs of a study, and start no more of them."""
    _cancelled[study].set()


def pack(directory: Path) -> dict[str, PickleBuffer]:
    """Return the files of a directory by their relative paths, as buffers, which are sent without a copy."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): PickleBuffer(path.read_bytes()) for path in files}


def unpack(files: Mapping[str, PickleBuffer | bytes], directory: Path) -> None:
    """Write files into a directory. Raises DamagedError if a name leads out of it, StoreError."""
    for name, content in files.items():
        path = directory / name
        if not path.resolve().is_relative_to(directory.resolve()):
            raise DamagedError(f"a file called {name} would not be in {directory}")
        with store_errors(path, "write"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


@cache
def _engine(spec: EngineSpec) -> Engine:
    """Find the engine of that name, once for each. Raises EngineError, MissingPartError."""
    return find_same_engine(spec)

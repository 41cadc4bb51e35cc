"""A Dask worker's part of a study: it reports what it would execute runs with, and executes them."""

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from pickle import PickleBuffer

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
from netwarp.execute.processors import claimed_processor
from netwarp.execute.single import Cancelled, RunSpec, changed, execute_spec
from netwarp.scratch import RUNS, scratch
from netwarp.store.errors import StoreError, store_errors


class DamagedError(StoreError):
    """What came back is not what a worker made."""


_cancelled: defaultdict[str, threading.Event] = defaultdict(threading.Event)


@dataclass(frozen=True)
class WorkerIdentity:
    """What a machine executes runs with. `identity` holds the digest of each part that decides a result's bytes.

    `parts` says where on that machine the parts lie that can be copied to it; `missing` names one that it lacks, which
    would lie at `parts[missing]`. `problem` is what keeps it from making runs at all, as a sentence.
    """

    identity: Mapping[str, str]
    netwarp: str
    parts: Mapping[str, str]
    problem: str | None = None
    missing: str | None = None


@dataclass(frozen=True)
class RemoteResult:
    """A run made elsewhere: how it went, and its files by their relative paths. No outcome: it was cancelled."""

    outcome: Outcome | None
    files: Mapping[str, PickleBuffer]


def identity_with(engine: Engine, asked: Mapping[str, str]) -> WorkerIdentity:
    """What this process makes runs with, if it makes them with `engine`, of the programs that `asked` names."""
    identity = {**identity_here(engine, asked), "netwarp": sources_digest()}
    return WorkerIdentity(identity, version("netwarp"), engine.parts)


def worker_identity(engine: EngineSpec, asked: Mapping[str, str]) -> WorkerIdentity:
    """What this worker makes runs with if it uses the engine of that name; without one, what is wrong."""
    identity = {"netwarp": sources_digest()}
    try:
        return identity_with(_engine(engine), asked)
    except MissingPartError as error:
        return WorkerIdentity(identity, version("netwarp"), {error.part: error.path}, str(error), error.part)
    except EngineError as error:
        return WorkerIdentity(identity, version("netwarp"), {}, str(error))


def make_run(spec: RunSpec, engine: EngineSpec, study: str) -> RemoteResult:
    """Make the run, on a CPU of its own; `study` is the name that `cancel` goes by.

    Raises EngineError, StoreError.
    """
    found = _engine(engine)
    if others := differing(found, spec.identity):
        raise EngineError(changed(others))
    with (
        scratch(RUNS) as path,
        claimed_processor() as cpu,
    ):
        try:
            outcome = execute_spec(spec, found, path, cpu, _cancelled[study])
        except Cancelled:
            return RemoteResult(None, {})
        return RemoteResult(outcome, pack(path))


def cancel(study: str) -> None:
    """End the runs of a study that this worker is at, and make no more of them."""
    _cancelled[study].set()


def pack(directory: Path) -> dict[str, PickleBuffer]:
    """The files of a directory by their relative paths; as buffers they are sent as they lie in memory."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): PickleBuffer(path.read_bytes()) for path in files}


def unpack(files: Mapping[str, PickleBuffer | bytes], directory: Path) -> None:
    """Put files into a directory, and nowhere else. Raises DamagedError for such a name, StoreError."""
    for name, content in files.items():
        path = directory / name
        if not path.resolve().is_relative_to(directory.resolve()):
            raise DamagedError(f"a file called {name} would not lie in {directory}")
        with store_errors(path, "write"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


@cache
def _engine(spec: EngineSpec) -> Engine:
    """The engine of that name, found once. Raises EngineError, MissingPartError."""
    return find_same_engine(spec)

"""What a Dask worker does for a study: says what it would make runs with, and makes them in a directory of its own."""

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from pickle import PickleBuffer

from netwarp.engines import EngineError, Outcome, VirtualEngine, differing, identity_here, sources_digest
from netwarp.execute.processors import claimed_processor
from netwarp.execute.single import Cancelled, Order, changed, fulfil
from netwarp.kernels import Kernel, cache_directory, list_kernels
from netwarp.scratch import RUNS, scratch
from netwarp.store.errors import StoreError, speaking


class DamagedError(StoreError):
    """What came back is not what a worker made."""


class LackedKernel(EngineError):
    """The kernel that a study is made with is not on this machine."""


_cancelled: defaultdict[str, threading.Event] = defaultdict(threading.Event)


@dataclass(frozen=True)
class Means:
    """What a machine makes runs with. `identity` holds the digest of each part that decides a result's bytes."""

    identity: Mapping[str, str]
    netwarp: str
    agent: str
    kernels: str
    problem: str | None = None
    lacks_kernel: bool = False


@dataclass(frozen=True)
class Made:
    """A run made elsewhere: how it went, and its files by their relative paths. No outcome: it was cancelled."""

    outcome: Outcome | None
    files: Mapping[str, PickleBuffer]


def means_of(engine: VirtualEngine, asked: Mapping[str, str]) -> Means:
    """What this process makes runs with, if it makes them with `engine`, of the programs that `asked` names."""
    identity = {**identity_here(engine, asked), "netwarp": sources_digest()}
    return Means(identity, version("netwarp"), str(engine.agent), str(cache_directory()))


def means(kernel_digest: str, asked: Mapping[str, str]) -> Means:
    """What this worker makes runs with on the kernel of that digest; without one, what is wrong, as a sentence."""
    try:
        return means_of(_engine(kernel_digest), asked)
    except EngineError as error:
        identity = {"netwarp": sources_digest()}
        lacks = isinstance(error, LackedKernel)
        return Means(identity, version("netwarp"), "", str(cache_directory()), str(error), lacks)


def make_run(order: Order, kernel_digest: str, study: str) -> Made:
    """Make the ordered run, on a CPU of its own; `study` is the name that `cancel` goes by.

    Raises EngineError, StoreError.
    """
    engine = _engine(kernel_digest)
    if others := differing(engine, order.description["identity"]):
        raise EngineError(changed(others))
    with (
        scratch(RUNS) as place,
        claimed_processor() as cpu,
    ):
        try:
            outcome = fulfil(order, engine, place, cpu, _cancelled[study])
        except Cancelled:
            return Made(None, {})
        return Made(outcome, pack(place))


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
        with speaking(path, "write"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


@cache
def _engine(kernel_digest: str) -> VirtualEngine:
    """The engine with the kernel of that digest. Raises EngineError."""
    kernel = _kernel(kernel_digest)
    return replace(VirtualEngine.find(kernel.key), kernel=kernel)


def _kernel(digest: str) -> Kernel:
    found = list_kernels()
    for kernel in found:
        if kernel.digest == digest:
            return kernel
    there = ", ".join(f"{kernel.digest[:12]} ({kernel.version})" for kernel in found) or "none"
    raise LackedKernel(f"the kernel {digest[:12]} is not among its kernels ({there})")

"""The workers of a Dask scheduler that execute a study's runs: those whose results are identical to this machine's."""

import shlex
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

from distributed import Client

from netwarp.engines import Engine, name_of
from netwarp.execute.worker import WorkerIdentity, cancel, identity_with, worker_identity
from netwarp.values.constants import SEARCH_PATH


class _WorkerFacts(TypedDict):
    """The fields that are read from a Dask scheduler's description of a worker."""

    nthreads: int
    name: NotRequired[str | int]


@dataclass
class WorkerPool:
    """The workers that are used; every other worker is reported once."""

    client: Client
    engine: Engine
    identity: Mapping[str, str]
    """The identity that decides the bytes of the study's runs (`identity_of`)."""
    report: Callable[[str], None]
    fit: dict[str, int] = field(default_factory=dict)
    """Address → number of runs that it executes at once."""
    unfit: dict[str, str] = field(default_factory=dict)
    """Address → reason for which it is not used, with the fix."""

    def refresh(self) -> None:
        """Refresh the membership; check the identity of new workers."""
        present: Mapping[str, _WorkerFacts] = self.client.scheduler_info(n_workers=-1)["workers"]
        self.fit = {address: places for address, places in self.fit.items() if address in present}
        self.unfit = {address: why for address, why in self.unfit.items() if address in present}
        new = [address for address in present if address not in self.fit and address not in self.unfit]
        if not new:
            return
        # An exception is returned in place of an answer, such as the one of a worker that cannot import netwarp.
        answers = self.client.run(
            worker_identity, self.engine.spec, dict(self.identity), workers=new, on_error="return"
        )
        here = identity_with(self.engine, self.identity)
        for address, answer in answers.items():
            why = complaint(answer, here, _host(address))
            if why is None:
                self.fit[address] = present[address]["nthreads"]
            else:
                self.unfit[address] = why
                self.report(f"worker {present[address].get('name') or address} at {address} is not used: {why}")

    @property
    def places(self) -> int:
        """The number of runs that the workers execute at once."""
        return sum(self.fit.values())

    def cancel(self, study: str) -> None:
        """End the workers' runs of a study."""
        if self.fit:
            self.client.run(cancel, study, workers=list(self.fit), on_error="ignore")


def complaint(answer: WorkerIdentity | BaseException, here: WorkerIdentity, host: str) -> str | None:
    """Say why a worker cannot be used, with the command that fixes it; None if it can be used."""
    install = f"install there the netwarp that is here (version {here.netwarp}) and start the worker again"
    if isinstance(answer, BaseException):
        return f"it cannot report its identity ({type(answer).__name__}: {answer}); {install}"
    if answer.identity["netwarp"] != here.identity["netwarp"]:
        return f"its netwarp ({answer.netwarp}) differs from this one; {install}"
    if answer.missing is not None:
        return f"{answer.problem}; copy it there: {_copy_of(answer.missing, here, answer, host)}"
    return _difference(answer, here, host)


def _difference(answer: WorkerIdentity, here: WorkerIdentity, host: str) -> str | None:
    if answer.problem is not None:
        return f"{answer.problem} Run `netwarp doctor` there."
    keys = sorted({*here.identity, *answer.identity})
    other = [key for key in keys if here.identity.get(key) != answer.identity.get(key)]
    if part := next((key for key in other if key in here.parts and key in answer.parts), None):
        return f"its {part} differs from this one; copy this one there: {_copy_of(part, here, answer, host)}"
    names = [name_of(key) for key in other]
    installed = SEARCH_PATH.split(":")
    if scripts := [name for name in names if name.startswith("/") and name.rpartition("/")[0] not in installed]:
        return f"its {scripts[0]} is not the one here; copy it there: {_copy(scripts[0], host, scripts[0])}"
    if names:
        are = "is not the one" if len(names) == 1 else "are not those"
        return f"its {' and its '.join(names)} {are} here; install the same version there"
    return None


def _copy_of(part: str, here: WorkerIdentity, there: WorkerIdentity, host: str) -> str:
    return _copy(here.parts[part], host, there.parts[part])


def _copy(source: str, host: str, target: str) -> str:
    return f"`rsync -a --mkpath {shlex.quote(source)} {shlex.quote(f'{host}:{target}')}`"


def _host(address: str) -> str:
    """The host of a worker's address such as tcp://10.0.0.1:40331."""
    host = address.rpartition("//")[2].rpartition(":")[0].strip("[]")
    return socket.gethostname() if host in ("127.0.0.1", "::1") else host

"""The engine `ssh`: the nodes of a run are machines, each with a session, and all begin at one instant."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from netwarp.common.agent import AgentError, find_agent
from netwarp.common.scratch import CONNECTIONS, RUNS, scratch
from netwarp.engines.base import Capabilities, EngineError, EngineOptions, EngineSpec, Job, Outcome
from netwarp.engines.confinement import readable_there, withheld_there
from netwarp.engines.host.needs import impairments, of_own_kernel, own_routes, used_sections
from netwarp.engines.programs import digest_of, program_names
from netwarp.engines.reports import RunFacts
from netwarp.engines.ssh.answers import Built, Ended, Lacks, Surveyed
from netwarp.engines.ssh.clocks import NodeClock, read_clock, refuse_wrong_date
from netwarp.engines.ssh.inventory import Inventory, disagreements, read_inventory
from netwarp.engines.ssh.records import NodeRecords, merge
from netwarp.engines.ssh.session import Interrupted, Login, NodeError, Session, SilentError
from netwarp.engines.supervisor import read_outcome
from netwarp.lab import build_lab
from netwarp.plan import Plan
from netwarp.scenario.check.kernel_features import kernel_features
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.store.errors import StoreError
from netwarp.store.run_status import RunStatus
from netwarp.values.constants import SEARCH_PATH
from netwarp.values.json_values import Json

NAME = "ssh"
_LEAD_NS = 3 * 10**9
"""The time from the last reading of clocks to t0, in which servers get ready on the nodes."""
_BUILD_S = 120.0
_NETEM = "netem"

T = TypeVar("T")


@dataclass(frozen=True)
class NodeFacts:
    """Facts about a machine: its kernel, its version of Landlock (0: none), and SHA-256 of its programs."""

    kernel: str
    release: str
    landlock: int
    programs: Mapping[str, str | None]


@dataclass(frozen=True)
class SshEngine:
    """The machines of an inventory, and the agent that is copied there; see `Engine`."""

    agent: Path
    inventory_file: Path
    inventory: Inventory
    read: tuple[Path, ...] = ()
    """Paths that programs may read on the machines, in addition to the system's files."""
    _facts: dict[str, NodeFacts] = field(default_factory=dict, compare=False)

    capabilities = Capabilities(clock="real", deterministic=False, exact=False, captures=True, portable=False)

    @property
    def spec(self) -> EngineSpec:
        """This engine with its inventory, and the paths that runs may read."""
        return EngineSpec(NAME, EngineOptions(inventory=self.inventory_file, read=self.read))

    @property
    def parts(self) -> Mapping[str, str]:
        """Nothing: the kernels are the machines' and cannot be copied."""
        return {}

    @property
    def facts(self) -> Mapping[str, Json]:
        """The kernels' versions, and that the clock is real, so that no run can be repeated to the byte."""
        releases = sorted({facts.release for facts in self._facts.values()})
        return {
            "kernel": {"version": ", ".join(releases), "drop_reasons": []},
            "clock": "real",
            "reproducible": False,
        }

    @property
    def own_identity(self) -> Mapping[str, str]:
        """The agent."""
        return {"agent": digest_of(self.agent)}

    def identity(self, scenario: Scenario) -> Mapping[str, str]:
        """Return the identity with the kernel and the programs of each node's machine. Raises EngineError."""
        missing = [node for node in scenario.nodes if node in self.inventory.nodes and node not in self._facts]
        if missing:
            self._survey(missing, scenario)
        return {**self.own_identity, **self._of_nodes(scenario.nodes)}

    def identity_here(self, asked: Mapping[str, str]) -> Mapping[str, str]:
        """Return the facts of the machines when they were first asked; each run asks again whether it can be made."""
        return {**self.own_identity, **self._of_nodes(self._facts)}

    def _of_nodes(self, nodes: Iterable[str]) -> dict[str, str]:
        found = {}
        for node in nodes:
            if (facts := self._facts.get(node)) is not None:
                found[f"{node}'s kernel"] = facts.kernel
                found |= {f"{name} of {node}": digest for name, digest in facts.programs.items() if digest}
        return found

    def _survey(self, nodes: Sequence[str], scenario: Scenario) -> None:
        programs = sorted({"tc", *program_names(scenario)})

        def ask(session: Session) -> NodeFacts:
            answer = session.ask(
                Surveyed,
                "check",
                node=session.node,
                interfaces={},
                lab=None,
                kernel=None,
                programs=programs,
                search_path=SEARCH_PATH,
            )
            return NodeFacts(answer.kernel, answer.release, answer.landlock, answer.programs)

        with self._sessions(nodes, threading.Event()) as sessions:
            answers, failed = _each(sessions, ask)
        if failed:
            raise EngineError("; ".join(failed.values()))
        self._facts.update(answers)
        lacking = {
            node: [name for name in ("tc",) if facts.programs.get(name) is None] for node, facts in answers.items()
        }
        if lacks := [f"{node} has no tc: install iproute2 there" for node, names in lacking.items() if names]:
            raise EngineError("; ".join(lacks))

    def check_files(self, scenario: Scenario) -> Iterator[tuple[Keys, str]]:
        """Find entries that the inventory lacks for the scenario, and files that the user has not allowed."""
        yield from disagreements(self.inventory, scenario)
        yield from withheld_there(scenario, self.read)

    def check(self, plan: Plan) -> Iterator[tuple[Keys, str]]:
        """Find features that the machines' kernels lack. Raises EngineError if a machine cannot run its part."""
        sections = list(used_sections(plan))
        features = [found for key, section in sections for found in kernel_features(key, section)]
        impaired = [found for key, section in sections for found in impairments(key, section)]
        qdiscs = sorted(
            {f.name for _, f in features if f.kind == "queue discipline"} | ({_NETEM} if impaired else set())
        )
        controls = sorted({feature.name for _, feature in features if feature.kind == "congestion control"})
        lab = build_lab(plan.runs[0], exact=False, real_time=True)

        def ask(session: Session) -> Surveyed:
            refuse_wrong_date(session, read_clock(session))
            return session.ask(
                Surveyed,
                "check",
                node=session.node,
                interfaces=self.inventory.nodes[session.node].interfaces,
                lab=lab.as_json(),
                kernel={"qdiscs": qdiscs, "congestion_controls": controls, "sysctls": []},
                programs=[],
                search_path=SEARCH_PATH,
            )

        with self._sessions([node.name for node in lab.nodes], threading.Event()) as sessions:
            answers, failed = _each(sessions, ask)
        if failed:
            raise EngineError("; ".join(failed.values()))
        if problems := [f"{node}: {what}" for node, answer in answers.items() for what in answer.problems]:
            raise EngineError("; ".join(problems) + ". Nothing was changed.")
        for node, answer in answers.items():
            yield from _lacking(node, answer.refused, features, impaired)
        for key, section in sections:
            yield from of_own_kernel(key, section)
            yield from own_routes(key, section)

    @property
    def warnings(self) -> Sequence[str]:
        """Sentences for the user who runs it."""
        said = "a scenario's programs are root on its nodes' machines: run only scenarios that you trust"
        without = [node for node, facts in self._facts.items() if not facts.landlock]
        lack = f"they can read and write all files on {', '.join(without)}, which has no Landlock (SECURITY.md)"
        return (said, lack) if without else (said,)

    @contextlib.contextmanager
    def _sessions(self, nodes: Iterable[str], cancelled: threading.Event) -> Iterator[dict[str, Session]]:
        """Open a session with each node; end all of them afterwards. Raises EngineError, Interrupted."""
        wanted = list(nodes)
        with scratch(CONNECTIONS) as place:
            config = self.inventory.ssh_config

            def open_one(node: str) -> Session:
                return Session(self.agent, Login(node, self.inventory.nodes[node], place, config), cancelled)

            sessions, failed = _each({node: node for node in wanted}, open_one)
            try:
                if failed:
                    raise EngineError("; ".join(failed.values()))
                yield sessions
            finally:
                _each(sessions, Session.close)

    def run(self, job: Job, directory: Path, cpus: Sequence[int], cancelled: threading.Event) -> Outcome:
        """Run the lab to its end on all its machines; see `Engine.run`."""
        begin = time.monotonic()
        try:
            with self._sessions([node.name for node in job.lab.nodes], cancelled) as sessions:
                made = _Made(self.inventory, job, directory, sessions)
                made.run()
        except Interrupted:
            return Outcome(RunStatus.CANCELLED, "it was interrupted", {"real_s": time.monotonic() - begin})
        except (EngineError, NodeError, StoreError) as error:
            return Outcome(
                RunStatus.FAILED, str(error), {"real_s": time.monotonic() - begin, "cpu_s": 0.0, "events": 0}
            )
        facts: RunFacts = {
            "real_s": time.monotonic() - begin,
            "cpu_s": 0.0,
            "events": 0,
            "confinement": {node: {"landlock": version} for node, version in sorted(made.landlock.items())},
        }
        return Outcome(RunStatus.FAILED if made.reason else RunStatus.OK, made.reason, facts)


class _Made:
    """A run that is being executed."""

    def __init__(self, inventory: Inventory, job: Job, directory: Path, sessions: Mapping[str, Session]) -> None:
        self.inventory, self.job, self.directory, self.sessions = inventory, job, directory, sessions
        self.failed: dict[str, str] = {}
        """Nodes that failed: name → reason."""
        self.is_overdue = False
        self.landlock: dict[str, int] = {}
        """The version of Landlock that confines programs: node → version; 0: none."""

    @property
    def reason(self) -> str | None:
        """The reason for which the run has failed; None if it has not."""
        return "; ".join([*self.failed.values(), *([self.job.overdue] if self.is_overdue else [])]) or None

    def run(self) -> None:
        """Prepare all nodes, begin together, wait, collect. Raises Interrupted, and NodeError before it has begun."""
        self._all(self._prepare)
        before = self._all(read_clock)
        t0_here = time.monotonic_ns() + _LEAD_NS
        starts = {node: t0_here + reading.offset_ns for node, reading in before.items()}
        self._all(lambda session: session.send("start", t0_ns=starts[session.node]))
        ended = self._living(self._wait)
        after = self._living(read_clock)
        with scratch(RUNS) as place:
            fetched = self._living(lambda session: self._fetch(session, place / session.node, ended[session.node]))
            nodes = {
                node: NodeRecords(
                    place / node,
                    NodeClock(before[node], after.get(node), t0_here, starts[node]),
                    ended[node].indices,
                    ended[node].late_ns or 0,
                )
                for node in fetched
            }
            merge(nodes, self.job.lab, self.directory, self.inventory.clock_limit)

    def _prepare(self, session: Session) -> None:
        session.send(
            "prepare",
            node=session.node,
            interfaces=self.inventory.nodes[session.node].interfaces,
            run={"lab": self.job.lab.as_json()},
            read=readable_there(self.job.read),
            search_path=SEARCH_PATH,
        )
        answer = session.answer(Built | Ended, _BUILD_S)  # type: ignore[arg-type]
        if isinstance(answer, Ended):
            with scratch(RUNS) as place:
                session.fetch(place)
                raise NodeError(f"{session.node}: {_failure(place, answer)}")
        self.landlock[session.node] = answer.landlock

    def _wait(self, session: Session) -> Ended:
        """Wait for the end of a node's part of the run. If it failed, end the other nodes' parts as well."""
        try:
            ended = session.answer(Ended, self.job.time_limit_s)
        except SilentError:
            self.is_overdue = True
            self._stop_all()
            ended = session.answer(Ended)
        except NodeError:
            self._stop_all()
            raise
        if ended.ended != 0:
            self._stop_all()
        return ended

    def _stop_all(self) -> None:
        for session in self.sessions.values():
            with contextlib.suppress(NodeError):  # the thread that waits for the node reports it
                session.send("stop")

    def _fetch(self, session: Session, place: Path, ended: Ended) -> None:
        place.mkdir()
        unrestored = session.fetch(place)
        if reason := _failure(place, ended):
            self.failed[session.node] = f"{session.node}: {reason}"
        if unrestored:
            why = "; ".join(unrestored)
            self.failed[session.node] = f"{session.node}: what the run changed could not be restored: {why}"

    def _all(self, work: Callable[[Session], T]) -> dict[str, T]:
        """Do the work on every node. Raises NodeError if one fails."""
        done, failed = _each(self.sessions, work)
        if failed:
            raise NodeError("; ".join(failed.values()))
        return done

    def _living(self, work: Callable[[Session], T]) -> dict[str, T]:
        """Do the work on every node that has not failed yet, and note those that fail now."""
        living = {node: session for node, session in self.sessions.items() if node not in self.failed}
        done, failed = _each(living, work)
        self.failed.update(failed)
        return done


def _failure(place: Path, ended: Ended) -> str | None:
    """Say why a node's part of the run failed, from its files in `place`; None if it did not."""
    outcome, status = read_outcome(place) or {}, ended.ended
    if status == 0 and outcome.get("status") == RunStatus.OK:
        return None
    how = "it was killed" if status is None or status > 128 else f"exit status {status}"
    return str(outcome.get("reason") or f"its part of the run ended early ({how})")


K = TypeVar("K")


def _each(items: Mapping[str, K], work: Callable[[K], T]) -> tuple[dict[str, T], dict[str, str]]:
    """Do the work for all at once: return the results, and the reasons of failures. Raises Interrupted at the end."""
    done: dict[str, T] = {}
    failed: dict[str, str] = {}
    interrupted = False
    with ThreadPoolExecutor(max(len(items), 1)) as pool:
        for node, future in {node: pool.submit(work, item) for node, item in items.items()}.items():
            try:
                done[node] = future.result()
            except NodeError as error:
                failed[node] = str(error)
            except Interrupted:
                interrupted = True
    if interrupted:
        raise Interrupted
    return done, failed


def find_ssh_engine(options: EngineOptions) -> SshEngine:
    """Find the engine with the machines of an inventory. Raises EngineError saying what is missing."""
    if options.inventory is None:
        raise EngineError(
            "The engine ssh needs --inventory FILE, which says which machine is which node (docs/ssh.md)."
        )
    if options.kernel is not None:
        raise EngineError(
            "The engine ssh runs labs on the kernels that its machines have: --kernel is for the engine uml."
        )
    try:
        agent = find_agent()
    except AgentError as error:
        raise EngineError(str(error)) from error
    path = options.inventory.absolute()
    return SshEngine(agent, path, read_inventory(path), tuple(path.absolute() for path in options.read))


def _lacking(
    node: str,
    refused: Lacks | None,
    features: Sequence[tuple[Keys, Any]],
    impaired: Sequence[tuple[Keys, str]],
) -> Iterator[tuple[Keys, str]]:
    """Find features of a plan that a node's kernel lacks."""
    if refused is None:
        return
    qdiscs, controls = dict(refused.qdiscs), dict(refused.congestion_controls)
    for keys, feature in features:
        if feature.name in (qdiscs if feature.kind == "queue discipline" else controls):
            yield keys, f'the kernel of {node} has no {feature.kind} "{feature.name}"'
    if _NETEM in qdiscs:
        for keys, what in impaired:
            yield keys, f"the kernel of {node} has no netem (module sch_netem), so links have no {what} there"

"""Builds the lab of a run, with everything resolved, so that the engine decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from netwarp.flows import kind_of
from netwarp.lab.division import Division, possible_division
from netwarp.lab.exec import empty_lab, with_command
from netwarp.lab.flow_routes import build_flow_routes
from netwarp.lab.flows import build_flows
from netwarp.lab.links import build_links
from netwarp.lab.mptcp import build_mptcp
from netwarp.lab.nat import build_nat, nat_sysctl
from netwarp.lab.network import NetworkGraph
from netwarp.lab.plans import with_planned_flows
from netwarp.lab.routes import build_routes
from netwarp.lab.settings import MACHINE, OPEN_FILES, WIRE, node_sysctl
from netwarp.lab.sizes import Sizes
from netwarp.lab_format.links import LabLink
from netwarp.lab_format.model import Lab, LabCapture, LabMachine, LabModule, LabProgram, LabRecord, LabTuner, LabWires
from netwarp.lab_format.nodes import LabNode
from netwarp.modules.named import Module
from netwarp.plan import Run
from netwarp.scenario.model import Scenario
from netwarp.values.constants import LAB_FORMAT

BURST_NS = 1_000_000
"""The burst of shapers in real time: a timer that is late by no more than this does not reduce the rate."""
T0_NS = 10 * 10**9
SAMPLE_NS = 10_000_000
"""The default sampling interval of engines without exact records."""


def unchecked() -> None:
    """The no-op check, for work that nothing ends early."""


def build_lab(
    run: Run,
    *,
    exact: bool = True,
    real_time: bool = False,
    devices: bool = True,
    check: Callable[[], None] = unchecked,
) -> Lab:
    """The lab of a run, as it is in `run.json`; the same run gives the same lab.

    `exact`: whether the engine can make exact records. `real_time`: whether the run is in real time on shared machines,
    rather than in virtual time in its own machine. `devices`: whether links with `wire = "auto"` may be devices of
    netwarp's kernel, which they are not in real time. `check` may raise, to end the work early.
    """
    scenario = run.scenario
    if scenario.workload.makes_network:
        return with_command(empty_lab(scenario, run.seed), scenario)
    return with_command(
        _network_lab(
            scenario, run.seed, exact=exact, real_time=real_time, devices=devices and not real_time, check=check
        ),
        scenario,
    )


def _network_lab(
    scenario: Scenario, seed: int, *, exact: bool, real_time: bool, devices: bool, check: Callable[[], None]
) -> Lab:
    network = NetworkGraph(scenario)
    sizes = Sizes(scenario, network)
    links, changes = build_links(network, sizes, seed, burst_ns=BURST_NS if real_time else 0, devices=devices)
    flows = build_flows(network, sizes, seed)
    division = None if real_time else possible_division(network, sizes)
    return Lab(
        format=LAB_FORMAT,
        seed=seed,
        t0_ns=T0_NS,
        duration_ns=scenario.duration,
        machine=LabMachine(sysctl={} if real_time else MACHINE, open_files=OPEN_FILES),
        modules=tuple(_module(module) for module in scenario.loaded_modules),
        wire=LabWires(sysctl=WIRE),
        nodes=tuple(_nodes(network, sizes, seed, real_time, division)),
        links=with_planned_flows(links, flows),
        routes=tuple(build_routes(network, check)),
        flow_routes=tuple(build_flow_routes(network, sizes, flows)),
        flows=flows,
        changes=changes,
        tuners=tuple(_tuners(scenario)),
        record=LabRecord(
            exact=exact and scenario.record.exact,
            sample_ns=scenario.record.sample_ns if exact else scenario.record.sample or SAMPLE_NS,
            captures=tuple(_captures(scenario, links)),
            kept_bytes=scenario.run.keep,
        ),
        parts=division.parts if division else None,
    )


def memory_bytes(run: Run) -> int:
    """The memory of the virtual machine for this run (see `Sizes.memory_bytes`)."""
    scenario = run.scenario
    needed = 0 if scenario.workload.makes_network else Sizes(scenario, NetworkGraph(scenario)).memory_bytes()
    return scenario.run.memory or max(needed, scenario.workload.memory_bytes)


def _module(module: Module) -> LabModule:
    program = module.program
    return LabModule(
        name=module.name,
        place=module.place,
        files=dict(module.files),
        parameters=dict(module.parameters),
        program=LabProgram(place=program.place, arguments=program.arguments, files=program.files) if program else None,
    )


def _nodes(
    network: NetworkGraph, sizes: Sizes, seed: int, real_time: bool, division: Division | None
) -> Iterator[LabNode]:
    """The nodes with all their sysctls."""
    scenario = network.scenario
    for name, node in scenario.nodes.items():
        given = {**nat_sysctl(node.nat), **scenario.given_sysctl(name)}
        closes = any(name in (f.from_, f.to) and kind_of(f.tool).reconnects for f in scenario.flows.values())
        sysctl = node_sysctl(node.forward, sizes.socket_bytes(name), given, shared=real_time, closes=closes)
        nat = build_nat(network, name, seed)
        mptcp = build_mptcp(network, name, {flow: sizes.ways(flow) for flow in scenario.flows})
        yield LabNode(
            name=name,
            forward=node.forward,
            sysctl=sysctl,
            syscall_ns=node.syscall_time,
            nat=nat,
            mptcp=mptcp,
            part=division.part_of[name] if division else 0,
        )


def _tuners(scenario: Scenario) -> Iterator[LabTuner]:
    tuner = scenario.tuner
    if tuner is not None and tuner.program is not None:
        for node in scenario.nodes:
            if tuner.tunes(node):
                yield LabTuner(node=node, program=tuple(tuner.program))


def _captures(scenario: Scenario, links: Sequence[LabLink]) -> Iterator[LabCapture]:
    ends = {f"{link.name}:{end.node}": (link, end) for link in links for end in link.ends}
    for capture in scenario.record.captures:
        link, end = ends[capture.at]
        yield LabCapture(
            link=link.name,
            node=end.node,
            interface=end.interface,
            index=end.index,
            snap=capture.snap,
            filter=capture.filter,
        )

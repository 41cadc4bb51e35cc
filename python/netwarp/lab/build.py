"""Run → lab: everything resolved, so that what executes it decides nothing."""

from __future__ import annotations

from collections.abc import Callable

from netwarp.constants import LAB_FORMAT
from netwarp.lab.exec import MEMORY_BYTES, build_exec_lab, with_session
from netwarp.lab.flows import build_flows
from netwarp.lab.links import build_links
from netwarp.lab.model import T0_NS, Lab, LabCapture, LabLink, LabModule, LabNode, LabTuner
from netwarp.lab.network import NetworkGraph
from netwarp.lab.routes import build_routes
from netwarp.lab.settings import MACHINE, OPEN_FILES, WIRE, node_sysctl
from netwarp.lab.sizes import Sizes
from netwarp.module import Module
from netwarp.plan import Run
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.exec import ExecScenario

SAMPLE_NS = 10_000_000
"""How often an engine samples that has no exact records, unless the scenario says."""

BURST_NS = 1_000_000
"""Of shapers in real time: a timer that is late by no more than this costs none of the rate."""


def unchecked() -> None:
    """What is asked where nothing can end the work early."""


def build_lab(run: Run, *, exact: bool = True, real_time: bool = False, check: Callable[[], None] = unchecked) -> Lab:
    """The lab of a run, as it stands in `run.json`; the same run gives the same lab.

    `exact`: whether the engine can make exact records. `real_time`: whether the run is in real time, on machines that
    others use as well, and not in a machine of its own in virtual time. `check` may raise, to end the work early.
    """
    scenario = run.scenario
    if isinstance(scenario, ExecScenario):
        if not scenario.nodes:
            return build_exec_lab(scenario, run.seed)
        return with_session(_network_lab(scenario, run.seed, exact, real_time, check), scenario)
    return _network_lab(scenario, run.seed, exact, real_time, check)


def _network_lab(scenario: Scenario, seed: int, exact: bool, real_time: bool, check: Callable[[], None]) -> Lab:
    network = NetworkGraph(scenario)
    sizes = Sizes(scenario, network)
    links, changes = build_links(network, sizes, seed, BURST_NS if real_time else 0)
    return {
        "format": LAB_FORMAT,
        "seed": seed,
        "t0_ns": T0_NS,
        "duration_ns": scenario.duration,
        "machine": {"sysctl": {} if real_time else dict(MACHINE), "open_files": OPEN_FILES},
        "modules": [_module(module) for module in scenario.loaded_modules],
        "wire": {"sysctl": dict(WIRE)},
        "nodes": _nodes(scenario, sizes, real_time),
        "links": links,
        "routes": build_routes(network, check),
        "flows": build_flows(network, sizes, seed),
        "changes": changes,
        "tuners": _tuners(scenario),
        "record": {
            "exact": exact and scenario.record.exact,
            "sample_ns": scenario.record.sample_ns if exact else scenario.record.sample or SAMPLE_NS,
            "captures": _captures(scenario, links),
            "kept_bytes": scenario.run.keep,
        },
        "exec": None,
    }


def memory_bytes(run: Run) -> int:
    """The memory of the virtual machine for this run (see `Sizes.memory_bytes`)."""
    scenario = run.scenario
    if isinstance(scenario, ExecScenario):
        least = Sizes(scenario, NetworkGraph(scenario)).memory_bytes() if scenario.nodes else 0
        return scenario.run.memory or max(least, MEMORY_BYTES)
    return Sizes(scenario, NetworkGraph(scenario)).memory_bytes()


def _module(module: Module) -> LabModule:
    return {
        "name": module.name,
        "place": module.place,
        "files": dict(module.files),
        "parameters": dict(module.parameters),
    }


def _nodes(scenario: Scenario, sizes: Sizes, real_time: bool) -> list[LabNode]:
    """Nodes with all their sysctls."""
    nodes: list[LabNode] = []
    for name, node in scenario.nodes.items():
        sysctl = node_sysctl(node.forward, sizes.socket_bytes(name), scenario.given_sysctl(name), shared=real_time)
        nodes.append({"name": name, "forward": node.forward, "sysctl": sysctl, "syscall_ns": node.syscall_time})
    return nodes


def _tuners(scenario: Scenario) -> list[LabTuner]:
    tuner = scenario.tuner
    if tuner is None or tuner.program is None:
        return []
    return [{"node": node, "program": list(tuner.program)} for node in scenario.nodes if tuner.tunes(node)]


def _captures(scenario: Scenario, links: list[LabLink]) -> list[LabCapture]:
    ends = {f"{link['name']}:{end['node']}": (link, end) for link in links for end in link["ends"]}
    captures: list[LabCapture] = []
    for capture in scenario.record.captures:
        link, end = ends[capture.at]
        captures.append(
            {
                "link": link["name"],
                "node": end["node"],
                "interface": end["interface"],
                "index": end["index"],
                "snap": capture.snap,
                "filter": capture.filter,
            }
        )
    return captures

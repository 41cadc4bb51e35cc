"""Run → lab: everything resolved, so that what executes it decides nothing."""

from __future__ import annotations

from netwarp.constants import LAB_FORMAT
from netwarp.lab.exec import MEMORY_BYTES, build_exec_lab
from netwarp.lab.flows import build_flows
from netwarp.lab.links import build_links
from netwarp.lab.model import T0_NS, Lab, LabCapture, LabLink, LabNode
from netwarp.lab.network import NetworkGraph
from netwarp.lab.routes import build_routes
from netwarp.lab.settings import MACHINE, OPEN_FILES, WIRE, node_sysctl
from netwarp.lab.sizes import Sizes
from netwarp.plan import Run
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.exec import ExecScenario


def build_lab(run: Run) -> Lab:
    """The lab of a run, as it stands in `run.json`; the same run gives the same lab."""
    scenario = run.scenario
    if isinstance(scenario, ExecScenario):
        return build_exec_lab(scenario, run.seed)
    network = NetworkGraph(scenario)
    sizes = Sizes(scenario, network)
    links, changes = build_links(network, sizes, run.seed)
    return {
        "format": LAB_FORMAT,
        "seed": run.seed,
        "t0_ns": T0_NS,
        "duration_ns": scenario.duration,
        "machine": {"sysctl": dict(MACHINE), "open_files": OPEN_FILES},
        "wire": {"sysctl": dict(WIRE)},
        "nodes": _nodes(scenario, sizes),
        "links": links,
        "routes": build_routes(network),
        "flows": build_flows(network, sizes, run.seed),
        "changes": changes,
        "record": {
            "exact": scenario.record.exact,
            "sample_ns": scenario.record.sample_ns,
            "captures": _captures(scenario, links),
        },
        "exec": None,
    }


def memory_bytes(run: Run) -> int:
    """The memory of the virtual machine for this run (see `Sizes.memory_bytes`)."""
    scenario = run.scenario
    if isinstance(scenario, ExecScenario):
        return scenario.run.memory or MEMORY_BYTES
    return Sizes(scenario, NetworkGraph(scenario)).memory_bytes()


def _nodes(scenario: Scenario, sizes: Sizes) -> list[LabNode]:
    """Nodes with all their sysctls."""
    nodes: list[LabNode] = []
    for name, node in scenario.nodes.items():
        sysctl = node_sysctl(node.forward, sizes.socket_bytes(name), scenario.given_sysctl(name))
        nodes.append({"name": name, "forward": node.forward, "sysctl": sysctl})
    return nodes


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

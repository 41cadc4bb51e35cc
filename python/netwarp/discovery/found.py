"""The part of a run's lab that only its records show."""

from netwarp.discovery.commands import with_connections
from netwarp.discovery.lab import discover
from netwarp.discovery.session import session_flows
from netwarp.lab_format.model import Lab
from netwarp.store.rundir import RunDir
from netwarp.values.json_values import Json


def found_network(run: RunDir, lab: Lab, duration_ns: int) -> dict[str, Json]:
    """The part of the network that only the records show: all of it, or its commands' traffic. Raises StoreError."""
    if lab.exec and lab.nodes:
        flows = session_flows(run, lab, duration_ns)
        return {"flows": [flow.as_json() for flow in flows]}
    if lab.exec:
        network = discover(run, lab.exec.rate_bps)
        return network.as_json() if network else {}
    planned = with_connections(run, lab)
    return {} if planned is None else {"flows": [flow.as_json() for flow in planned]}

"""The engine `host`: namespaces of this machine, in real time."""

from netwarp.engines.host.engine import HostEngine, find_host_engine

__all__ = ["HostEngine", "find_host_engine"]

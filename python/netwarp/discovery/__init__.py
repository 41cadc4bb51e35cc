"""Discovery from the records of a run: the network that a command made, the connections of a lab's commands."""

from netwarp.discovery.commands import with_connections
from netwarp.discovery.lab import discover
from netwarp.discovery.session import session_flows

__all__ = ["discover", "session_flows", "with_connections"]

"""What only the records of a run show: the network that a command made, the connections of a lab's commands."""

from netwarp.discovery.commands import with_connections
from netwarp.discovery.lab import discover

__all__ = ["discover", "with_connections"]

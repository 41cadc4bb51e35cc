"""Discovery from the records of a run: the network that a command made, the connections of a lab's commands."""

from netwarp.discovery.found import found_network

__all__ = ["found_network"]

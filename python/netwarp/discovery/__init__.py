"""Discovery from the records of a run: the network that a command made, the connections of a lab's commands, and the
senders that its programs logged."""

from netwarp.discovery.found import found_network
from netwarp.discovery.qlogs import Logged, read_logs

__all__ = ["Logged", "found_network", "read_logs"]

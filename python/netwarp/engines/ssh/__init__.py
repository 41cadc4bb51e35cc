"""The engine `ssh`: each node of a lab is a machine of its own, over SSH, in real time."""

from netwarp.engines.ssh.engine import NAME as SSH
from netwarp.engines.ssh.engine import SshEngine, find_ssh_engine

__all__ = ["SSH", "SshEngine", "find_ssh_engine"]

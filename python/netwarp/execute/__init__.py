"""Execution: a plan → the runs of a result directory."""

from netwarp.execute.execution import Execution
from netwarp.execute.local import execute

__all__ = ["Execution", "execute"]

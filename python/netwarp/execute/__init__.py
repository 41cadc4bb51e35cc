"""A plan → the runs of a result directory."""

from netwarp.execute.local import Execution, execute

__all__ = ["Execution", "execute"]

"""The explanation of a difference between two runs: the first packet at which they diverge, its consequences, and one
figure (docs/explain.md)."""

from netwarp.explain.explanation import Explanation, explain
from netwarp.explain.pairs import ChosenRun, open_one, open_pair

__all__ = ["ChosenRun", "Explanation", "explain", "open_one", "open_pair"]

"""Why two runs differ: the first packet at which they part, what followed, drawn as one figure (docs/explain.md)."""

from netwarp.explain.explanation import Explanation, explain
from netwarp.explain.pairs import ChosenRun, open_one, open_pair

__all__ = ["ChosenRun", "Explanation", "explain", "open_one", "open_pair"]

"""Two results, or two parts of one, held against each other: better, worse, the same, or unclear."""

from netwarp.compare.judgement import Comparison, Row, Verdict, compare
from netwarp.compare.side import Side, open_side

__all__ = ["Comparison", "Row", "Side", "Verdict", "compare", "open_side"]

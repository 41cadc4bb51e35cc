"""The comparison of two results, or of two parts of one: better, worse, the same, or unclear."""

from netwarp.compare.comparison_input import ComparisonInput, open_input
from netwarp.compare.judgement import Comparison, Row, Verdict, compare

__all__ = ["Comparison", "ComparisonInput", "Row", "Verdict", "compare", "open_input"]

"""Pure functions from records to metrics, validity and series."""

from netwarp.analysis.run import analyse_run
from netwarp.analysis.validity import Verdict, check_run

__all__ = ["Verdict", "analyse_run", "check_run"]

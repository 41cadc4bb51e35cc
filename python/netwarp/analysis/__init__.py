"""Pure functions from records to metrics, validity and series."""

from netwarp.analysis.run.metrics import analyse_run
from netwarp.analysis.run.validity import Verdict, check_run

__all__ = ["Verdict", "analyse_run", "check_run"]

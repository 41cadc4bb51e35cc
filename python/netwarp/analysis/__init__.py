"""Pure functions from records to metrics, validity and series."""

from netwarp.analysis.run.metrics import analyse_run
from netwarp.analysis.run.validity import Validity, check_run

__all__ = ["Validity", "analyse_run", "check_run"]

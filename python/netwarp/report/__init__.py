"""A result as one page: `report.html`, which works offline, on a phone and on paper."""

from netwarp.report.page import Written, write_report

__all__ = ["Written", "write_report"]

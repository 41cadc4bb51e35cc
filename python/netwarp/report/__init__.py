"""The page of a result: `report.html`, which works offline, on a phone and on paper."""

from netwarp.report.page import Written, page_style, page_templates, render_report, tables_script, write_report

__all__ = ["Written", "page_style", "page_templates", "render_report", "tables_script", "write_report"]

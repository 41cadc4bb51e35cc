"""Every metric of the connection monitor, compared between cases."""

from pathlib import Path

from netwarp.studies.base import Study

STUDY = Study(
    scenarios=Path(__file__).parent / "scenarios",
    views={"connection-monitor": "netwarp.studies.connection_monitor.view:write"},
)

"""Inside the machine: runs one test with pytest, and writes its reports to a file for the pytest outside.

`python -m netwarp.testing.inside` reads the request from the environment. pytest gets the arguments that the outer one
has, so that it finds the same configuration and plugins, and then the one test in place of the selection.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from _pytest.config import get_config

from netwarp.testing.network import Network
from netwarp.testing.request import current, is_inside


def network() -> Network:
    """Return the network of this test. Raises UsageError without one."""
    request = current() if is_inside() else None
    if request is None or not request.addresses:
        raise pytest.UsageError(
            "this test has no network: name a scenario in its mark, as in @pytest.mark.netwarp('net.toml'), or with "
            "--netwarp-scenario"
        )
    return Network(request.addresses, request.node)


class _Reporter:
    """Writes each report to the file, a line each."""

    def __init__(self, config: pytest.Config, file: Path) -> None:
        self._config, self._file = config, file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report)

    def _write(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        with self._file.open("a") as file:
            file.write(json.dumps(data) + "\n")


_WITHOUT = {
    "usepdb": False,
    "keyword": "",
    "markexpr": "",
    "deselect": None,
    "maxfail": 0,
    "xmlpath": None,
    "dist": "no",
    "numprocesses": None,
    "tx": [],
    "basetemp": None,
}
"""Options that concern the outer pytest alone (those of pytest-xdist included), and their values without it."""


def main() -> int:
    """Run the test that is asked for; return pytest's exit code."""
    request = current()
    arguments = [*request.arguments, "-p", "no:cacheprovider"]
    manager = get_config(arguments).pluginmanager
    config = manager.hook.pytest_cmdline_parse(pluginmanager=manager, args=arguments)
    for name, value in _WITHOUT.items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)
    config.args = [request.test]
    config.pluginmanager.register(_Reporter(config, Path(request.reports)), "netwarp-reporter")
    return int(config.hook.pytest_cmdline_main(config=config))


if __name__ == "__main__":
    sys.exit(main())

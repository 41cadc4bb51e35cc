"""Inside the machine: runs one test with pytest, and writes its reports to a file for the pytest outside.

`python -m netwarp.testing.inside` reads the request from the environment. pytest gets the arguments that the outer one
has, so that it finds the same configuration and plugins, and then the one test in place of the selection.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import get_config

from netwarp.testing.network import Network
from netwarp.testing.request import WARNING, current, is_inside

LAB = Path("/run/netwarp-lab.json")
"""The lab, in the form in which the machine shows it to its command."""
_BEFORE_THE_END_S = 0.001


def network() -> Network:
    """Return the network of this test. Raises UsageError without one."""
    if not is_inside() or not LAB.is_file():
        raise pytest.UsageError(
            "this test has no network: name a scenario in its mark, as in @pytest.mark.netwarp('net.toml'), or with "
            "--netwarp-scenario"
        )
    return Network(json.loads(LAB.read_text())["lab"])


class _Reporter:
    """Writes each report and warning to the file, a line each; the rest of pytest's output is not needed."""

    def __init__(self, config: pytest.Config, file: Path, errors: int) -> None:
        self._config, self._file, self._errors = config, file, errors

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Discard pytest's progress: the output is that of the test alone."""
        manager = config.pluginmanager
        if reporter := manager.get_plugin("terminalreporter"):
            manager.unregister(reporter)
            nowhere = Path(os.devnull).open("w")  # noqa: SIM115  as long as the process
            manager.register(pytest.TerminalReporter(config, nowhere), "terminalreporter")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write_report(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write_report(report)

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, location: tuple[str, int, str] | None
    ) -> None:
        if when == "runtest":  # warnings of collection were reported outside
            found = warning_message.category
            self._write(
                {
                    WARNING: str(warning_message.message),
                    "category": [found.__module__, found.__qualname__],
                    "filename": warning_message.filename,
                    "lineno": warning_message.lineno,
                    "location": location,
                }
            )

    def pytest_internalerror(self, excrepr: object) -> None:
        os.write(self._errors, f"{excrepr}\n".encode(errors="backslashreplace"))

    def _write_report(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        self._write(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    def _write(self, data: dict[str, Any]) -> None:
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
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "cacheclear": False,
    "stepwise": False,
    "stepwise_skip": False,
    "stepwise_reset": False,
    "basetemp": "/run/pytest",
}
"""Options that concern only the outer pytest (those of pytest-xdist included), and their values here. Temporary
directories are the machine's own, so that their names do not depend on the content of the host's."""
_CACHE = ("-o", "cache_dir=/run/pytest-cache")


def main() -> int:
    """Run the test that is asked for; return pytest's exit code, or 0 if the test was run and has failed.

    The run of the machine is then good, and netwarp computes its metrics, for which the records are kept.
    """
    request = current()
    errors = os.dup(2)
    # Before the machine ends a test that takes too long, this says where it is.
    faulthandler.dump_traceback_later(max(request.limit_s - _BEFORE_THE_END_S, _BEFORE_THE_END_S), file=errors)
    arguments = [*request.arguments, *_CACHE]
    manager = get_config(arguments).pluginmanager
    config = manager.hook.pytest_cmdline_parse(pluginmanager=manager, args=arguments)
    for name, value in _WITHOUT.items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)
    config.args = [request.test]
    config.pluginmanager.register(_Reporter(config, Path(request.reports), errors), "netwarp-reporter")
    code = config.hook.pytest_cmdline_main(config=config)
    return int(pytest.ExitCode.OK if code == pytest.ExitCode.TESTS_FAILED else code)


if __name__ == "__main__":
    sys.exit(main())

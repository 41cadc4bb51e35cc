"""The list of commands, and the application that reads command lines."""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from netwarp.cli.common import say, unwrapped
from netwarp.studies import registry
from netwarp.studies.base import StudyError

if TYPE_CHECKING:
    from cyclopts import App

SUMMARY = "A laboratory for network congestion: the real Linux network stack in virtual time."
COMMANDS = {
    "advise": "advise:advise",
    "agree": "agreement:agree",
    "bisect": "bisect:bisect",
    "compare": "compare:compare",
    "dev": "dev:dev",
    "doctor": "doctor:doctor",
    "exec": "exec:exec_",
    "explain": "explain:explain",
    "export": "export:export",
    "gate": "gate:gate",
    "help": "help:help_",
    "import": "imports:import_",
    "kernel": "kernel:kernel_app",
    "list": "scenarios:list_",
    "new": "scenarios:new",
    "pcap": "observer:pcap_app",
    "plot": "results:plot",
    "report": "results:report",
    "rerun": "results:rerun",
    "run": "run:run",
    "schema": "scenarios:schema",
    "self-test": "self_test:self_test",
    "serve": "serve:serve",
    "shell": "shell:shell",
    "show": "scenarios:show",
    "suite": "suite:suite_app",
    "verify": "verify:verify",
    "watch": "observer:watch_app",
    "whatif": "explain:whatif",
    "--install-completion": "completion:install_completion",
}
"""netwarp's own commands, those of studies left out: command → its module in this folder, and its name there. A command
that is given is imported without the others."""


ASK_FOR_COMPLETION = "__complete"
"""The command line with which a shell asks for candidates consists of this word alone."""


def _version() -> str:
    from importlib.metadata import version

    return version("netwarp")


def commands() -> list[str]:
    """The names of all commands, those of studies last."""
    return list(dict.fromkeys([*COMMANDS, *registry.names("commands")]))


def application(names: Iterable[str] | None = None) -> "App":
    """Return the command line with these commands; with None, all but those of studies that cannot be loaded.

    Raises StudyError if a command that was given by name belongs to a study that cannot be loaded.
    """
    from cyclopts import App, Parameter

    app = App(
        name="netwarp",
        help=SUMMARY,
        version=_version,
        help_format="plaintext",
        default_parameter=Parameter(accepts_keys=False),  # no value has named parts: do not search for any
    )
    for name in commands() if names is None else names:
        try:
            command = _command(name)
        except StudyError as error:
            if names is not None:
                raise
            say(f"note: {error}", style="yellow")
            continue
        app.command(command if isinstance(command, App) else unwrapped(command), name=name)
    return app


def _command(name: str) -> Any:
    if name not in COMMANDS:
        return registry.load("commands", name)
    module, _, attribute = COMMANDS[name].partition(":")
    return getattr(import_module(f"netwarp.cli.{module}"), attribute)

"""The commands there are, and the application that reads command lines."""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from netwarp.cli.common import unwrapped

if TYPE_CHECKING:
    from cyclopts import App

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
    "help": "help:help_",
    "import": "imports:import_",
    "kernel": "kernel:kernel_app",
    "list": "scenarios:list_",
    "new": "scenarios:new",
    "pcap": "agent:pcap_app",
    "plot": "results:plot",
    "recommend": "recommend:recommend",
    "report": "results:report",
    "rerun": "results:rerun",
    "run": "run:run",
    "schema": "scenarios:schema",
    "serve": "serve:serve",
    "shell": "shell:shell",
    "show": "scenarios:show",
    "watch": "agent:watch_app",
    "whatif": "explain:whatif",
    "--install-completion": "completion:install_completion",
}
"""Each with its module of this folder, and its name there: one that is given is imported without the others."""


ASK_FOR_COMPLETION = "__complete"
"""The only word of a command line with which a shell asks for candidates."""


def _version() -> str:
    from importlib.metadata import version

    return version("netwarp")


def application(commands: Iterable[str] = COMMANDS) -> "App":
    """The command line with these commands."""
    from cyclopts import App, Parameter

    app = App(
        name="netwarp",
        help="A laboratory for network congestion: the real Linux network stack in virtual time.",
        version=_version,
        help_format="plaintext",
        default_parameter=Parameter(accepts_keys=False),  # no value has parts of its own, which would be looked for
    )
    for name in commands:
        module, _, attribute = COMMANDS[name].partition(":")
        command = getattr(import_module(f"netwarp.cli.{module}"), attribute)
        app.command(command if isinstance(command, App) else unwrapped(command), name=name)
    return app

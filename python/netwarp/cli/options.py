"""Options and arguments that several commands take, each stated once: its names, its help and its completion."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from netwarp.cli import values

SEVERAL = "may be given several times"

Scenario = Annotated[str, Parameter(completer=values.scenarios)]
Result = Annotated[Path, Parameter(completer=values.results)]
OptionalResult = Annotated[Path | None, Parameter(completer=values.results)]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"])]
Settings = Annotated[list[str] | None, Parameter(name="--set", negative=(), completer=values.settings)]
Sweep = Annotated[list[str] | None, Parameter(negative=(), completer=values.settings)]
Case = Annotated[
    list[str] | None,
    Parameter(negative=(), completer=values.cases, help=f"Only this case of the scenario; {SEVERAL}."),
]
Seeds = Annotated[int | None, Parameter(help="Run with the seeds 1 to N.")]
Jobs = Annotated[
    int | None, Parameter(name=["--jobs", "-j"], help="Number of runs at once; default: one for each CPU.")
]
Compilers = Annotated[
    int | None, Parameter(name=["--jobs", "-j"], help="Compilers at once; default: one for each CPU.")
]
Engine = Annotated[str | None, Parameter(completer=values.engines)]
Kernel = Annotated[
    str | None,
    Parameter(completer=values.kernels, help="A kernel of `netwarp kernel list`; default: the newest that fits."),
]
Read = Annotated[list[Path] | None, Parameter(negative=())]
Inventory = Annotated[
    Path | None, Parameter(help="For the engine ssh: the file that says which machine is which node (docs/ssh.md).")
]
Formats = Annotated[str, Parameter(name="--format", completer=values.several_of("png", "svg", "pdf"))]
InA = Annotated[list[str] | None, Parameter(name=["--in-a", "-a"], negative=(), completer=values.points)]
InB = Annotated[
    list[str] | None,
    Parameter(name=["--in-b", "-b"], negative=(), completer=values.points, help="The same for B."),
]
Flag = Annotated[bool, Parameter(negative=())]
Metrics = Annotated[list[str] | None, Parameter(negative=(), completer=values.metrics)]
Series = Annotated[str | None, Parameter(completer=values.series)]
Several = Annotated[list[str] | None, Parameter(negative=())]

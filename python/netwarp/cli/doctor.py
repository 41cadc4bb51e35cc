"""`netwarp doctor`: what this machine lacks."""

from typing import Annotated

from cyclopts import Parameter

from netwarp.cli.common import ENVIRONMENT, OK, errors, stderr, stdout


def doctor(*, clean: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Check whether this machine can build and run labs, and print the command that fixes each problem.

    Parameters
    ----------
    clean
        Remove what killed processes have left in the cache and in TMPDIR, and end runs whose netwarp is gone.
    """
    with errors():
        from netwarp import doctor as doctor_

        if clean:
            doctor_.clean(console=stderr())
        findings = doctor_.diagnose()
        out = stdout()
        for finding in findings:
            mark, style = ("✓", "green") if finding.ok else ("✗", "red")
            out.print(mark, style=style, end=" ")
            out.print(f"{finding.name}: {finding.detail}")
            if not finding.ok and finding.fix:
                out.print(f"    fix: {finding.fix}")
        return OK if all(finding.ok for finding in findings) else ENVIRONMENT
    raise AssertionError("unreachable")

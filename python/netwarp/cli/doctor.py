"""`netwarp doctor`: checks of this machine."""

from dataclasses import asdict

from netwarp.cli.common import ENVIRONMENT, OK, errors, print_json, stderr, stdout
from netwarp.cli.options import Flag


def doctor(*, clean: Flag = False, json: Flag = False) -> int:
    """Check whether this machine can build and run labs, and print the command that fixes each problem.

    Parameters
    ----------
    clean
        Remove files that killed processes have left in the cache and in TMPDIR, and end runs whose netwarp is gone.
    json
        Print the findings as JSON.
    """
    with errors():
        from netwarp.steps import doctor as doctor_

        if clean:
            doctor_.clean(console=stderr())
        findings = doctor_.diagnose()
        if json:
            print_json([asdict(finding) for finding in findings])
        out = stdout()
        for finding in findings if not json else ():
            mark, style = ("✓", "green") if finding.ok else ("✗", "red")
            out.print(mark, style=style, end=" ")
            out.print(f"{finding.name}: {finding.detail}")
            if not finding.ok and finding.fix:
                out.print(f"    fix: {finding.fix}")
        return OK if all(finding.ok for finding in findings) else ENVIRONMENT

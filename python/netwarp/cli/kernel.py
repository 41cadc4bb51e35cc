"""`netwarp kernel`: build, list and remove the kernels that labs run on."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from netwarp.cli.common import OK, errors, positive, stderr

kernel_app = App(name="kernel", help="Build, list and remove the kernels that labs run on.", help_format="plaintext")


@kernel_app.command
def build(
    *,
    source: Path | None = None,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"])] = None,
    share: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Build the kernel that labs run on, or find it in the cache.

    Parameters
    ----------
    source
        The kernel's source archive; default: the packaged one.
    jobs
        Compilers at once; default: one for each CPU.
    share
        Let other users of this machine read the cache.
    """
    with errors():
        from netwarp import kernels

        positive("--jobs", jobs)
        found = kernels.build(source, jobs=jobs, share=share, console=stderr())
        sys.stdout.write(f"{found.key[:12]}  {found.version}  {found.path}\n")
    return OK


@kernel_app.command(name="list")
def kernel_list() -> int:
    """List the kernels in the cache."""
    with errors():
        from netwarp import kernels

        for found in kernels.list_kernels():
            sys.stdout.write(f"{found.key[:12]}  {found.version}  {found.path}\n")
    return OK


@kernel_app.command
def remove(name: str, /) -> int:
    """Remove a kernel from the cache.

    Parameters
    ----------
    name
        Its key, or the beginning of it.
    """
    with errors():
        from netwarp import kernels

        sys.stdout.write(f"removed {kernels.remove(name).path.parent}\n")
    return OK

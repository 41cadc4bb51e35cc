"""`netwarp kernel`: build, list and remove the kernels that labs run on."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from netwarp.cli import values
from netwarp.cli.common import OK, errors, positive, print_json, stderr, unwrapped
from netwarp.cli.options import Compilers, Flag, Series, Several

kernel_app = App(name="kernel", help="Build, list and remove the kernels that labs run on.", help_format="plaintext")


@kernel_app.command
@unwrapped
def build(
    *,
    name: str | None = None,
    source: Annotated[Path | None, Parameter(name=["--source", "--tarball"])] = None,
    series: Series = None,
    patch: Several = None,
    config: Several = None,
    jobs: Compilers = None,
    share: Flag = False,
) -> int:
    """Build the kernel that labs run on, or a kernel of your own under a name; a cached kernel is not built again.

    Parameters
    ----------
    name
        The name by which --kernel and scenarios refer to it. Its objects are kept, so that it is built in seconds after
        a change; with --name alone it is built with the options of the last time.
    source
        The kernel's source: an archive, or a directory (of a git tree: the work tree); default: the packaged one.
    series
        Take the packaged source of this series, such as 6.12.
    patch
        A patch that is applied after netwarp's own, or the name of a shipped one; may be given several times.
    config
        NAME=VALUE, an option of the kernel's configuration; may be given several times.
    share
        Let other users of this machine read the cache.
    """
    with errors():
        from netwarp.kernels import KernelError
        from netwarp.kernels.build import build as build_kernel

        positive("--jobs", jobs)
        if source is not None and series is not None:
            raise KernelError("--source determines the series: leave --series out.")
        found = build_kernel(
            source,
            name=name,
            series=series,
            patches=tuple(patch or ()),
            config=tuple(config or ()),
            jobs=jobs,
            share=share,
            console=stderr(),
        )
        sys.stdout.write(f"{found.key[:12]}  {found.version}  {found.path}\n")
    return OK


@kernel_app.command(name="list")
@unwrapped
def kernel_list(*, json: Flag = False) -> int:
    """List the kernels in the cache, each with its names.

    Parameters
    ----------
    json
        Print the list as JSON.
    """
    with errors():
        from netwarp import kernels

        if json:
            built = [
                {"key": found.key, "version": found.version, "names": names, "path": str(found.path)}
                for found, names in kernels.named_kernels()
            ]
            print_json({"kernels": built, "not_built": kernels.unfinished_names()})
            return OK
        for found, names in kernels.named_kernels():
            sys.stdout.write(f"{found.key[:12]}  {found.version}  {', '.join(names) or '-'}  {found.path}\n")
        if underway := kernels.build_in_progress():
            sys.stdout.write(
                f"{'-':12}  -  {underway.name or '-'}  being built since {underway.since} by process "
                f"{underway.process}: {underway.command}\n"
            )
        for name in kernels.unfinished_names():
            sys.stdout.write(f"{'-':12}  -  {name}  not built: its build failed, and its tree is kept\n")
    return OK


@kernel_app.command
@unwrapped
def remove(name: Annotated[str, Parameter(completer=values.kernels)], /) -> int:
    """Remove a kernel from the cache, and for a named kernel also the objects that are kept to build it again.

    Given a name, it also removes kernels that were built under this name before, such as those of a bisection.

    Parameters
    ----------
    name
        The kernel's name, its key, or the beginning of its key.
    """
    with errors():
        from netwarp import kernels

        for gone in kernels.remove(name):
            sys.stdout.write(f"removed {gone}\n")
    return OK

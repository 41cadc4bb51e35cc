"""Which kernel: its source, options and changes, how it is built (`build.py`, which running one needs not), and those
that have been built."""

from netwarp.kernels.cache import (
    Kernel,
    cache_directory,
    find_kernel,
    list_kernels,
    named_kernels,
    remove,
    unfinished_names,
)
from netwarp.kernels.description import KernelDescription
from netwarp.kernels.errors import BuildFailed, CannotBuild, KernelError, KernelMissing, SourceMissing

__all__ = [
    "BuildFailed",
    "CannotBuild",
    "Kernel",
    "KernelDescription",
    "KernelError",
    "KernelMissing",
    "SourceMissing",
    "cache_directory",
    "find_kernel",
    "list_kernels",
    "named_kernels",
    "remove",
    "unfinished_names",
]

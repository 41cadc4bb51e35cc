"""Kernels: their source, options and changes, building them (`build.py`, which running a kernel does not need), and the
cache of those that have been built."""

from netwarp.kernels.cache import (
    BuildInProgress,
    Kernel,
    build_in_progress,
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
    "BuildInProgress",
    "CannotBuild",
    "Kernel",
    "KernelDescription",
    "KernelError",
    "KernelMissing",
    "SourceMissing",
    "build_in_progress",
    "cache_directory",
    "find_kernel",
    "list_kernels",
    "named_kernels",
    "remove",
    "unfinished_names",
]
